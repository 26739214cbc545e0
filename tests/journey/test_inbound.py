"""Send late bounces, complaints and unsubscriptions by mail, and read their events."""

from __future__ import annotations

import email
import re
import smtplib
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.dkim.dns_record import txt_record
from infrastructure.local.sink.reports import Accepted, feedback_report
from tests.journey.service import Service, eventually
from tests.unit.domain_reports.samples import KEY_RECORD, dmarc_xml, message_with, record, signed
from tests.unit.key_pairs import PAIR

SUPPRESSION = "/api/v1/suppression-list"
FLIPPED = str.maketrans("abcdefghijklmnopqrstuvwxyz234567", "bcdefghijklmnopqrstuvwxyz234567a")


def event_of(service: Service, recipient: str, kind: str) -> dict[str, Any]:
    """Wait for an event of this type; return it."""
    events = eventually(lambda: service.events(recipients=recipient, events=kind))
    return dict(events[0])


def sources(service: Service, recipient: str) -> dict[str, str]:
    """Wait for the recipient's entries on the suppression list; return type and source of each."""

    def entries() -> Any:
        response = service.request("GET", f"{SUPPRESSION}/{recipient}")
        return response.status == 200 and response.json["results"]

    return {entry["type"]: entry["source"] for entry in eventually(entries)}


def mail_in(service: Service, to: str, message: bytes, mail_from: str = "") -> None:
    """Send a message to the inbound port."""
    port = service.inbound_port
    with smtplib.SMTP("127.0.0.1", port, "mx.test", timeout=120) as host:
        host.sendmail(mail_from, [to], message)


def send_to(service: Service, recipient: str) -> Accepted:
    """Send a message; return it as the recipient's host accepted it."""
    service.send(recipient)
    (message,) = service.arrived(recipient)
    sender = re.search(rb"^Return-Path: <(.*)>", message, re.MULTILINE)
    assert sender
    return Accepted(sender[1].decode(), recipient, message, datetime.now(UTC))


@pytest.mark.spec("2.9-t3")
def test_a_late_bounce_is_recorded_and_suppresses_the_recipient(service: Service) -> None:
    recipient = "oob+late@inbound-1.test"
    service.send(recipient)
    event = event_of(service, recipient, "out_of_band")
    types = ["injection", "delivery", "out_of_band"]
    assert eventually(lambda: service.event_types(recipient) == types)
    delivery = event_of(service, recipient, "delivery")
    for name in ("message_id", "transmission_id", "rcpt_to", "subject", "msg_from", "ip_pool"):
        assert event[name] == delivery[name]
    assert (event["bounce_class"], event["error_code"]) == ("10", "550")
    assert event["reason"] == "550 5.1.1 Recipient address rejected: user unknown"
    assert {"num_retries", "queue_time", "raw_reason", "sending_ip"} < set(event)
    assert sources(service, recipient) == {
        "transactional": "Bounce Rule",
        "non_transactional": "Bounce Rule",
    }


@pytest.mark.spec("2.9-t3")
def test_a_complaint_is_recorded_and_suppresses_the_recipient(service: Service) -> None:
    recipient = "complain+x@inbound-2.test"
    service.send(recipient)
    event = event_of(service, recipient, "spam_complaint")
    assert (event["fbtype"], event["report_by"]) == ("abuse", "inbound-2.test")
    assert event["report_to"] == event_of(service, recipient, "delivery")["msg_from"]
    assert sources(service, recipient) == {"non_transactional": "Spam Complaint"}


def test_a_forged_report_is_refused_and_a_replayed_one_is_recorded_once(service: Service) -> None:
    recipient = "reported@inbound-3.test"
    accepted = send_to(service, recipient)
    complaint = feedback_report(accepted, datetime.now(UTC))
    local_part, _, domain = accepted.sender.partition("@")
    head, _, tag = local_part.rpartition(".")
    for forged in (
        f"{head}.{tag.translate(FLIPPED)}@{domain}",
        f"{local_part}@elsewhere.test",
        f"someone@{domain}",
    ):
        with pytest.raises(smtplib.SMTPRecipientsRefused) as refusal:
            mail_in(service, forged, complaint)
        assert refusal.value.recipients[forged][0] == 550
    for _ in range(2):
        mail_in(service, accepted.sender, complaint)
    first = event_of(service, recipient, "spam_complaint")
    assert sources(service, recipient) == {"non_transactional": "Spam Complaint"}
    assert service.request("DELETE", f"{SUPPRESSION}/{recipient}").status == 204
    mail_in(service, accepted.sender, complaint)
    mail_in(service, accepted.sender, b"Auto-Submitted: auto-replied\r\n\r\nAway\r\n")
    assert event_of(service, recipient, "out_of_band")["bounce_class"] == "60"
    (complained,) = service.events(recipients=recipient, events="spam_complaint")
    assert complained["event_id"] == first["event_id"]
    assert service.request("GET", f"{SUPPRESSION}/{recipient}").status == 404


def test_a_dmarc_report_is_summed_up_for_its_sending_domain(service: Service) -> None:
    """The reporter signs with a key that is in the local DNS."""
    service.publish(KEY_RECORD, ("TXT", txt_record(PAIR.public_b64)))
    report = dmarc_xml(record("192.0.2.77", 41), end=int(datetime.now(UTC).timestamp()) - 60)
    for _ in range(2):
        mail_in(service, "dmarc@postfinch.test", signed(message_with(report)))
    mail_in(service, "dmarc@postfinch.test", message_with(dmarc_xml(record("198.51.100.1"))))
    path = "/api/v1/sending-domains/example.test/dmarc-reports"
    (source,) = service.request("GET", path).json["results"]["sources"]
    assert (source["source_ip"], source["messages"], source["passed"]) == ("192.0.2.77", 41, 41)


def test_mail_to_the_address_of_the_unsubscribe_header_unsubscribes(service: Service) -> None:
    recipient = "leaving@inbound-4.test"
    accepted = send_to(service, recipient)
    unsubscribe_header = str(email.message_from_bytes(accepted.message)["List-Unsubscribe"])
    mailto = re.search(r"<mailto:([^?>]+)", re.sub(r"\s+", "", unsubscribe_header))
    assert mailto, unsubscribe_header
    mail_in(service, mailto[1], b"Subject: unsubscribe\r\n\r\n", mail_from=recipient)
    event = event_of(service, recipient, "list_unsubscribe")
    assert event["mailfrom"] == recipient
    assert sources(service, recipient) == {"non_transactional": "List Unsubscribe"}
