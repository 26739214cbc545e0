"""Attack the mail ports of production on one machine from another network: nothing gets through."""

from __future__ import annotations

import smtplib
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.machine.machine import DOMAIN, KEY
from tests.machine.outside import Outside
from tests.machine.stranger import Stranger

MAIL_PORTS = ("INBOUND_PORT", "SUBMISSION_PORT", "SUBMISSIONS_PORT")
VICTIM = "victim@reader.example"

each_port = pytest.mark.parametrize("port", MAIL_PORTS)

#: Recipients by which relays were once made to pass mail on
_ROUTES = (
    f"<{VICTIM}>",
    f"<victim%reader.example@{DOMAIN}>",
    f"<@{DOMAIN}:{VICTIM}>",
    f"<@{DOMAIN},@other.example:{VICTIM}>",
    f'<"{VICTIM}"@{DOMAIN}>',
    f'<"{VICTIM}">',
    f"<victim@{DOMAIN}@reader.example>",
    f"<victim@reader.example@{DOMAIN}>",
    "<reader.example!victim>",
    f"<reader.example!victim@{DOMAIN}>",
    f"<{DOMAIN}!{VICTIM}>",
    f"<victim@[{DOMAIN}]>",
    "<victim@[203.0.113.1]>",
    "<victim@[127.0.0.1]>",
    "<victim@localhost>",
    f"<victim@reader.example(@{DOMAIN})>",
    f"<victim@reader.example\0@{DOMAIN}>",
    f"<victim@reader.example\n@{DOMAIN}>",
    f"<{VICTIM}> ORCPT=rfc822;x@{DOMAIN}",
    VICTIM,
    f"{VICTIM}, <x@{DOMAIN}>",
)
_SENDERS = ("<>", "<someone@elsewhere.example>", f"<hello@{DOMAIN}>", "<hello@acme.example>")


@contextmanager
def conversation(stranger: Stranger, port: str) -> Iterator[smtplib.SMTP]:
    """Have a conversation that has said EHLO."""
    client = stranger.smtp(port)
    try:
        client.ehlo("stranger.example")
        yield client
    finally:
        client.close()


@contextmanager
def login(stranger: Stranger) -> Iterator[smtplib.SMTP]:
    """Have a conversation that has logged in with the key of the first account."""
    with conversation(stranger, "SUBMISSIONS_PORT") as client:
        client.login("SMTP_Injection", KEY)
        yield client


@each_port
@pytest.mark.parametrize("sender", _SENDERS)
def test_no_port_passes_mail_of_strangers_on(stranger: Stranger, port: str, sender: str) -> None:
    for route in _ROUTES:
        with conversation(stranger, port) as client:
            assert client.docmd(f"MAIL FROM:{sender}")[0] == 250
            client.send(f"RCPT TO:{route}\r\n")
            code, _ = client.getreply()
            assert code in (500, 501, 550, 553, 555), route
            assert client.docmd("DATA")[0] in (500, 503)


def test_a_key_does_not_send_for_a_domain_that_is_not_its_own(
    stranger: Stranger, place: Outside
) -> None:
    for sender in ("elsewhere.example", DOMAIN, f"x.{DOMAIN}"):
        with login(stranger) as client:
            text = f"From: hello@{sender}\r\nTo: {VICTIM}\r\nSubject: Hi\r\n\r\nHi\r\n"
            with pytest.raises(smtplib.SMTPDataError) as refusal:
                client.sendmail(f"hello@{sender}", [VICTIM], text)
            assert refusal.value.smtp_code == 550
    assert place.messages(VICTIM) == []


def test_no_password_is_taken_in_the_clear(stranger: Stranger) -> None:
    for port, code in (("SUBMISSION_PORT", 538), ("INBOUND_PORT", 502)):
        with conversation(stranger, port) as client:
            assert not client.has_extn("auth")
            assert client.docmd("AUTH PLAIN AFNNVFBfSW5qZWN0aW9uAGtleQ==")[0] == code
            assert client.docmd("AUTH LOGIN")[0] == code


@pytest.mark.parametrize("port", ["SUBMISSION_PORT", "INBOUND_PORT"])
def test_what_follows_starttls_in_the_clear_is_dropped(stranger: Stranger, port: str) -> None:
    with conversation(stranger, port) as client:
        assert client.sock is not None
        client.sock.sendall(
            f"STARTTLS\r\nEHLO injected\r\nMAIL FROM:<>\r\nRCPT TO:<{VICTIM}>\r\n".encode()
        )
        assert client.getreply()[0] == 220
        client.sock = stranger.context().wrap_socket(client.sock, server_hostname=DOMAIN)
        client.file = None
        assert client.docmd("MAIL FROM:<>") == (503, b"5.5.1 Send EHLO or HELO first")
        assert client.docmd("NOOP")[0] == 250


@pytest.mark.parametrize(
    "end", [b"\n.\n", b"\n.\r\n", b"\r.\r", b"\r\n.\n", b"\r.\r\n", b"\r\n.\r"]
)
def test_only_one_end_of_a_message_ends_it(stranger: Stranger, place: Outside, end: bytes) -> None:
    head = b"From: hello@acme.example\r\nTo: ann@reader.example\r\nSubject: Hi\r\n\r\nHi"
    second = f"MAIL FROM:<hello@acme.example>\r\nRCPT TO:<{VICTIM}>\r\nDATA\r\n".encode()
    with login(stranger) as client:
        client.mail("hello@acme.example")
        client.rcpt("ann@reader.example")
        assert client.docmd("DATA")[0] == 354
        assert client.sock is not None
        client.sock.sendall(head + end + second + head + b"\r\n.\r\n")
        assert client.getreply()[0] == 554
        assert client.docmd("NOOP") == (250, b"2.0.0 OK")
    assert place.messages(VICTIM) == []


@each_port
def test_a_mail_port_tells_nothing_of_addresses_or_of_itself(stranger: Stranger, port: str) -> None:
    with conversation(stranger, port) as client:
        assert client.docmd("VRFY root")[0] == 252
        for command in ("EXPN staff", "TURN", "ETRN other.example", "DEBUG", "WIZ", "XCLIENT A=B"):
            assert client.docmd(command)[0] in (500, 502), command
        _, text = client.docmd("HELP")
        said = text + (client.ehlo_resp or b"")
    assert not [word for word in (b"aiosmtpd", b"Python", b"0.1.0") if word in said]


@each_port
def test_endless_and_foreign_lines_end_the_conversation(stranger: Stranger, port: str) -> None:
    with conversation(stranger, port) as client:
        assert client.docmd("NOOP " + "x" * 20_000)[0] == 500
        assert client.docmd("NOOP")[0] == 250
    for octets in (b"x" * 1_000_000, b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\n\r\nEHLO x\r\n"):
        with conversation(stranger, port) as client:
            assert client.sock is not None
            try:
                client.sock.sendall(octets)
                code = client.getreply()[0]
                while code == 500:
                    code = client.getreply()[0]
                assert code == 421
            except (OSError, smtplib.SMTPServerDisconnected):  # it closed before it read all
                pass


def test_many_errors_end_the_conversation(stranger: Stranger) -> None:
    with conversation(stranger, "INBOUND_PORT") as client:
        codes = [client.docmd("GUESS")[0] for _ in range(20)]
        assert codes == [500] * 20
        assert client.getreply()[0] == 421


def test_guessing_passwords_becomes_slow(stranger: Stranger) -> None:
    def seconds_of_refusal() -> float:
        began = time.monotonic()
        refusal = pytest.raises(smtplib.SMTPAuthenticationError)
        with conversation(stranger, "SUBMISSIONS_PORT") as client, refusal:
            client.login("SMTP_Injection", "guess", initial_response_ok=True)
        return time.monotonic() - began

    seconds_of_refusal()
    assert seconds_of_refusal() >= 2
    with login(stranger):  # who has the key does not wait
        pass
