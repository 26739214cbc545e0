"""Send a message by HTTP or SMTP, receive it signed, and read its events."""

from __future__ import annotations

import email
import email.policy
import smtplib
import ssl
from email.message import EmailMessage

import dkim
import pytest

from tests.journey.service import KEY, Service, eventually


def _is_signed(service: Service, raw: bytes) -> bool:
    """Return whether dkimpy verifies the signature with the key from the local DNS."""

    def lookup(name: bytes, timeout: float = 5) -> bytes:
        record = service.resolver().resolve(name.decode(), "TXT")[0]
        return b"".join(record.strings)

    return dkim.verify(raw[raw.index(b"DKIM-Signature") :], dnsfunc=lookup)


@pytest.mark.spec("4.1-t1")
def test_a_message_sent_over_http_arrives_signed(service: Service) -> None:
    service.send(
        "http-first@inbox.test",
        subject="Grüße 🚀",
        html="<p>Hi {{name}}, größer</p>",
        text="Hi there",
    )
    (raw,) = service.arrived("http-first@inbox.test")
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert message["Subject"] == "Grüße 🚀"
    assert message["From"] == "hello@example.test"
    assert message["To"] == "http-first@inbox.test"
    assert message["Date"]
    assert message["Message-ID"]
    assert message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    assert "Hi , größer" in message.get_body(("html",)).get_content()
    assert _is_signed(service, raw)


def test_the_injection_and_delivery_of_a_message_are_found_by_recipient(service: Service) -> None:
    transmission_id = service.send("http-events@inbox.test", subject="Events")
    eventually(lambda: service.event_types("http-events@inbox.test") == ["injection", "delivery"])
    delivery, injection = service.events(recipients="http-events@inbox.test")
    assert delivery["transmission_id"] == injection["transmission_id"] == transmission_id
    assert delivery["message_id"] == injection["message_id"]
    assert delivery["subject"] == "Events"
    assert delivery["num_retries"] == "0"
    assert int(delivery["queue_time"]) >= 0
    assert injection["recv_method"] == "rest"


def test_a_message_sent_over_smtp_arrives_signed(service: Service) -> None:
    message = EmailMessage()
    message["From"] = "Ann <ann@example.test>"
    message["To"] = "smtp-first@inbox.test"
    message["Subject"] = "By SMTP"
    message.set_content("Line one\n.leading dot\nünïcödé\n")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with smtplib.SMTP("127.0.0.1", service.smtp_port, timeout=120) as client:
        client.starttls(context=context)
        client.login("SMTP_Injection", KEY)
        client.send_message(message)
    (raw,) = service.arrived("smtp-first@inbox.test")
    arrived = email.message_from_bytes(raw, policy=email.policy.default)
    assert arrived["Subject"] == "By SMTP"
    assert arrived.get_content().splitlines() == message.get_content().splitlines()
    assert _is_signed(service, raw)
    eventually(lambda: service.event_types("smtp-first@inbox.test") == ["injection", "delivery"])
    assert service.events(recipients="smtp-first@inbox.test")[0]["recv_method"] == "esmtp"


@pytest.mark.parametrize(
    ("local_part", "bounce_class", "code"),
    [("bounce-hard", "10", "550"), ("bounce-soft", "22", "552"), ("bounce-block", "51", "550")],
)
def test_a_refused_message_bounces_with_its_class(
    service: Service, local_part: str, bounce_class: str, code: str
) -> None:
    recipient = f"{local_part}+journey@inbox.test"
    service.send(recipient)
    eventually(lambda: service.event_types(recipient) == ["injection", "bounce"])
    bounce = service.events(recipients=recipient, events="bounce")[0]
    assert bounce["bounce_class"] == bounce_class
    assert bounce["error_code"] == code
    assert bounce["reason"].startswith(code)


def test_a_deferred_message_is_retried_until_it_is_delivered(service: Service) -> None:
    service.send("defer+journey@inbox.test")
    expected = ["injection", "delay", "delay", "delivery"]
    eventually(lambda: service.event_types("defer+journey@inbox.test") == expected)
    assert len(service.arrived("defer+journey@inbox.test")) == 1
    retries = [e["num_retries"] for e in service.events(recipients="defer+journey@inbox.test")[:3]]
    assert retries == ["2", "1", "0"]


def test_a_slow_recipient_does_not_hold_up_another(service: Service) -> None:
    service.send("slow+journey@inbox.test", "swift+journey@inbox.test")
    assert service.arrived("swift+journey@inbox.test")
    assert service.arrived("slow+journey@inbox.test")
    expected = ["injection", "delivery"]
    times = []
    for name in ("swift", "slow"):
        recipient = f"{name}+journey@inbox.test"
        eventually(lambda recipient=recipient: service.event_types(recipient) == expected)
        times.append(service.events(recipients=recipient, events="delivery")[0]["timestamp"])
    assert times[0] < times[1]


@pytest.mark.spec("7-t22")
def test_valid_recipients_get_mail_although_others_are_invalid(service: Service) -> None:
    response = service.request(
        "POST",
        "/api/v1/transmissions",
        {
            "recipients": [{"address": "partly@inbox.test"}, {"address": "nonsense"}, {}],
            "content": {"from": "hello@example.test", "subject": "s", "text": "t"},
        },
    )
    assert response.status == 200
    assert response.json["results"]["total_accepted_recipients"] == 1
    assert response.json["results"]["total_rejected_recipients"] == 2
    assert response.json["errors"][0]["code"] == "2000"
    assert [e["code"] for e in response.json["results"]["rcpt_to_errors"]] == ["1300", "1400"]
    service.arrived("partly@inbox.test")


@pytest.mark.spec("4.1-r6")
def test_a_from_domain_that_is_not_set_up_is_refused(service: Service) -> None:
    response = service.request(
        "POST",
        "/api/v1/transmissions",
        {
            "recipients": [{"address": "a@inbox.test"}],
            "content": {"from": "me@elsewhere.test", "subject": "s", "text": "t"},
        },
    )
    assert response.status == 400
    assert response.json["errors"][0]["code"] == "7001"
