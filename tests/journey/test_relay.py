"""Send mail by SMTP as applications do, and restart the relay meanwhile."""

from __future__ import annotations

import email
import email.policy
import json
import re
import smtplib
import ssl
import subprocess
from collections.abc import Callable
from email.message import EmailMessage
from typing import Any

import psutil
import pytest

from tests.journey.programs import needs_swaks
from tests.journey.service import KEY, Service, eventually

TRANSACTION = b"From: hello@example.test\r\nTo: %b\r\nSubject: s\r\n\r\nHello\r\n"
LINK = "https://www.example.test/offer?a=1&b=2"


def connect(service: Service, user: str = "SMTP_Injection", key: str = KEY) -> smtplib.SMTP:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    client = smtplib.SMTP("127.0.0.1", service.smtp_port, timeout=120)
    client.starttls(context=context)
    client.login(user, key)
    return client


def message(to: str, options: dict[str, Any] | None = None, **headers: str) -> EmailMessage:
    """Return a message with a link in its html, and ``options`` in its API header."""
    mail = EmailMessage()
    mail["From"] = "Ann <ann@example.test>"
    mail["To"] = to
    mail["Subject"] = "Grüße"
    for name, value in headers.items():
        mail[name.replace("_", "-")] = value
    if options is not None:
        mail["X-SVC-API"] = json.dumps(options)
    mail.set_content(f"See {LINK}")
    mail.add_alternative(f'<p>{{{{name}}}} <a href="{LINK}">offer</a></p>', subtype="html")
    return mail


def read(raw: bytes) -> EmailMessage:
    return email.message_from_bytes(raw, policy=email.policy.default)  # type: ignore[return-value]


def html_of(raw: bytes) -> str:
    return read(raw).get_body(("html",)).get_content()  # type: ignore[union-attr]


def urls_of(raw: bytes) -> list[str]:
    return re.findall(r'(?:href|src)="([^"]+)"', html_of(raw))


@pytest.mark.spec("5-r7")
def test_cc_bcc_and_archive_copies_show_only_the_recipients_they_should(service: Service) -> None:
    kinds = ("first", "carbon", "blind", "archive")
    to, cc, bcc, archive = (f"{kind}+copies@inbox.test" for kind in kinds)
    options = {
        "campaign_id": "copies",
        "metadata": {"order": {"id": 7}},
        "tags": ["vip"],
        "cc": [{"email": cc, "name": "Zoë, the cook"}, to],
        "bcc": [bcc, cc],
        "archive": [archive, bcc],
        "options": {"open_tracking": True, "click_tracking": True},
    }
    with connect(service) as client:
        client.send_message(message(to, options))
    raw = {each: service.arrived(each)[0] for each in (to, cc, bcc, archive)}

    for each in raw.values():
        headers = read(each)
        assert headers["To"] == to
        assert [address.addr_spec for address in headers["Cc"].addresses] == [cc, to]
        assert headers["X-SVC-API"] is None
        assert headers["List-Unsubscribe"]
        assert "{{name}}" in html_of(each), "there is no template language over SMTP"
        assert LINK not in html_of(each)
    assert [read(raw[each])["Bcc"] for each in (to, cc, bcc, archive)] == [None, None, bcc, None]
    assert urls_of(raw[archive]) == urls_of(raw[to]), "the archive has the links of the recipient"
    assert len({tuple(urls_of(raw[each])) for each in (to, cc, bcc)}) == 3
    assert len({read(each)["List-Unsubscribe"] for each in raw.values()}) == 4

    eventually(lambda: all(len(service.event_types(each)) == 2 for each in raw))
    events = {each: service.events(recipients=each, events="injection")[0] for each in raw}
    assert {each: event.get("rcpt_type") for each, event in events.items()} == {
        to: None,
        cc: "cc",
        bcc: "bcc",
        archive: "archive",
    }
    assert len({event["transmission_id"] for event in events.values()}) == 1
    assert len({event["message_id"] for event in events.values()}) == 4
    for event in events.values():
        assert event["campaign_id"] == "copies"
        assert event["rcpt_meta"] == {"order": {"id": 7}}
        assert event["rcpt_tags"] == ["vip"]
        assert event["recv_method"] == "esmtp"


def test_mail_without_tracking_options_is_not_tracked(service: Service) -> None:
    with connect(service) as client:
        client.send_message(message("untracked@inbox.test"))
    (raw,) = service.arrived("untracked@inbox.test")
    assert urls_of(raw) == [LINK.replace("&", "&amp;")] or urls_of(raw) == [LINK]
    assert LINK in read(raw).get_body(("plain",)).get_content()  # type: ignore[union-attr]


def test_style_sheets_are_inlined_on_request(service: Service) -> None:
    mail = EmailMessage()
    mail["From"], mail["To"] = "ann@example.test", "inlined@inbox.test"
    mail["Subject"] = "s"
    mail["X-MSYS-API"] = json.dumps({"options": {"inline_css": True}})
    mail.set_content("<style>p {color: red}</style><p>Hello</p>", subtype="html")
    with connect(service) as client:
        client.send_message(mail)
    (raw,) = service.arrived("inlined@inbox.test")
    assert re.search(r'<p style="color: ?red', read(raw).get_content())


def test_an_invalid_api_header_is_refused_with_the_reason(service: Service) -> None:
    with connect(service) as client:
        with pytest.raises(smtplib.SMTPDataError) as refusal:
            client.send_message(message("refused@inbox.test", {"tags": "x"}))
        assert refusal.value.smtp_code == 550
        assert refusal.value.smtp_error == b"5.6.0 API header: tags must be an array"
        client.send_message(message("accepted@inbox.test", {"tags": ["x"]}))
    service.arrived("accepted@inbox.test")
    assert service.mailbox(to="refused@inbox.test") == []


@needs_swaks
@pytest.mark.spec("5-r7")
@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (["--auth", "PLAIN"], 0, "<~  250 2.0.0 OK "),
        (["--auth", "LOGIN", "--pipeline"], 0, "<~  250 2.0.0 OK "),
        (["--auth", "LOGIN", "--auth-password", "wrong"], 28, "535 5.7.8"),
        (["--auth", "LOGIN", "--h-From", "a@nowhere.test"], 26, "550 5.7.1 Unconfigured Sending"),
        (["--auth", "LOGIN", "--add-header", "X-SVC-API: {"], 26, "550 5.6.0 API header: JSON"),
    ],
)
def test_swaks_sees_the_documented_replies(
    service: Service, arguments: list[str], status: int, line: str
) -> None:
    process = subprocess.run(
        [
            *("swaks", "--server", "127.0.0.1", "--port", str(service.smtp_port), "--tls"),
            *("--auth-user", "SMTP_Injection", "--auth-password", KEY),
            *("--from", "hello@example.test", "--to", "by-swaks@inbox.test", *arguments),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert line in process.stdout, process.stdout
    assert process.returncode == status


@pytest.mark.spec("5-r7")
@pytest.mark.parametrize("header", ["X-SVC-SUBACCOUNT", "X-MSYS-SUBACCOUNT"])
def test_the_user_name_may_name_a_subaccount(service: Service, header: str) -> None:
    response = service.request("POST", "/api/v1/subaccounts", {"name": "s", "setup_api_key": False})
    number = response.json["results"]["subaccount_id"]
    to = f"{header.lower()}@inbox.test"
    with connect(service, f"SMTP_Injection:{header}={number}") as client:
        client.send_message(message(to))
    service.arrived(to)
    eventually(lambda: service.event_types(to) == ["injection", "delivery"])
    assert service.events(recipients=to)[0]["subaccount_id"] == str(number)


def test_a_suppression_of_a_mailing_list_holds_only_for_that_list(service: Service) -> None:
    to = "left-the-list@inbox.test"
    entry = {"recipient": to, "type": "non_transactional", "list_id": "news.example.test"}
    response = service.request("PUT", "/api/v1/suppression-list/", {"recipients": [entry]})
    assert response.status == 200, response.body
    with connect(service) as client:
        client.send_message(message(to, List_Id="News <news.example.test>"))
        client.send_message(message(to, List_Id="<other.example.test>"))
    (raw,) = service.arrived(to)
    assert read(raw)["List-Id"] == "<other.example.test>"
    eventually(lambda: len(service.event_types(to)) == 4)
    (bounce,) = service.events(recipients=to, events="bounce")
    assert bounce["bounce_class"] == "25"


def test_the_envelope_sender_is_replaced_by_a_return_path_of_the_service(service: Service) -> None:
    for mail_from in ("<someone@elsewhere.test>", "<>"):
        to = f"from-{len(mail_from)}@inbox.test"
        with connect(service) as client:
            client.mail(mail_from)
            client.rcpt(to)
            assert client.data(TRANSACTION % to.encode())[0] == 250
        eventually(lambda to=to: service.event_types(to) == ["injection", "delivery"])
        sender = service.events(recipients=to)[0]["msg_from"]
        assert re.fullmatch(r"b\.[0-9a-z.]+@example\.test", sender)


def relay_of(service: Service) -> psutil.Process:
    (process,) = service.running("relay")
    return process


def is_answering(service: Service) -> bool:
    try:
        with smtplib.SMTP("127.0.0.1", service.smtp_port, timeout=2):
            return True
    except OSError:
        return False


def test_a_restart_finishes_open_messages_and_a_crash_loses_no_accepted_one(
    own_service: Service,
) -> None:
    own_service.start()
    idle, sending = connect(own_service), connect(own_service)
    sending.mail("hello@example.test")
    sending.rcpt("drained@inbox.test")
    relay_of(own_service).terminate()
    assert idle.getreply()[0] == 421
    assert sending.data(TRANSACTION % b"drained@inbox.test")[0] == 250
    own_service.arrived("drained@inbox.test")
    eventually(lambda: is_answering(own_service))

    accepted, interrupted = _send_while(own_service, lambda: relay_of(own_service).kill())
    assert interrupted
    for each in accepted:
        own_service.arrived(each)


def _send_while(service: Service, disturb: Callable[[], None]) -> tuple[list[str], list[str]]:
    """Send messages and call ``disturb`` midway; return the accepted and interrupted recipients."""
    accepted: list[str] = []
    interrupted: list[str] = []
    client = connect(service)
    for number in range(16):
        to = f"crash-{number}@inbox.test"
        try:
            client.mail("hello@example.test")
            client.rcpt(to)
            if number == 8:
                disturb()
            code = client.data(TRANSACTION % to.encode())[0]
        except (smtplib.SMTPException, OSError):
            interrupted.append(to)
            eventually(lambda: is_answering(service))
            client = connect(service)
            continue
        assert code == 250
        accepted.append(to)
    client.quit()
    return accepted, interrupted
