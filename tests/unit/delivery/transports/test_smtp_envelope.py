"""A message has the right SMTP commands and bytes for its host."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core.bounce_classes import HARD
from chalicelib.delivery.outcome import Failed
from chalicelib.delivery.transports import OutboundMessage
from chalicelib.delivery.transports.smtp_envelope import SmtpEnvelope, envelope_for, wire_data

DATA = b"Subject: hi\r\n\r\nhello\r\n"
ALL = {"SIZE": "1000", "8BITMIME": "", "SMTPUTF8": "", "PIPELINING": ""}


def message(
    sender: str = "a@example.com", recipient: str = "b@example.net", data: bytes = DATA
) -> OutboundMessage:
    return OutboundMessage(sender, recipient, data)


def commands(message_: OutboundMessage, extensions: dict[str, str]) -> tuple[str, str]:
    envelope = envelope_for(message_, extensions)
    assert isinstance(envelope, SmtpEnvelope)
    return envelope.mail.decode(), envelope.rcpt.decode()


def failure_of(message_: OutboundMessage, extensions: dict[str, str]) -> Failed:
    failure = envelope_for(message_, extensions)
    assert isinstance(failure, Failed)
    return failure


def test_a_plain_message_needs_no_extension() -> None:
    assert commands(message(), {}) == (
        "MAIL FROM:<a@example.com>\r\n",
        "RCPT TO:<b@example.net>\r\n",
    )


def test_the_empty_sender_is_sent_as_such() -> None:
    assert commands(message(sender=""), {})[0] == "MAIL FROM:<>\r\n"


def test_the_size_is_announced_to_hosts_that_ask_for_it() -> None:
    assert commands(message(), ALL)[0] == f"MAIL FROM:<a@example.com> SIZE={len(DATA)}\r\n"


@pytest.mark.parametrize("limit", ["21", "1"])
def test_a_message_larger_than_the_host_takes_fails_unsent(limit: str) -> None:
    failure = failure_of(message(), {"SIZE": limit})
    assert (failure.code, failure.bounce_class) == (552, 23)


@pytest.mark.parametrize("limit", ["0", "", "22", "much", "9" * 5_000, "\u0661"])
def test_a_host_without_a_usable_limit_gets_the_message(limit: str) -> None:
    assert envelope_for(message(), {"SIZE": limit}).__class__ is SmtpEnvelope


EIGHT_BIT = message(data="Subject: x\r\n\r\ncaf\u00e9\r\n".encode())
HEADER = message(data="From: us\u00e9r@example.com\r\n\r\nx\r\n".encode())


def test_eight_bit_content_is_announced() -> None:
    assert commands(EIGHT_BIT, {"8BITMIME": ""})[0].endswith("> BODY=8BITMIME\r\n")
    assert "SMTPUTF8" not in commands(EIGHT_BIT, ALL)[0]


def test_an_international_header_asks_for_smtputf8() -> None:
    assert commands(HEADER, ALL)[0].endswith(" BODY=8BITMIME SMTPUTF8\r\n")
    assert commands(HEADER, {"SMTPUTF8": ""})[0].endswith("> SMTPUTF8\r\n")


@pytest.mark.parametrize(
    ("message_", "extensions", "reply"),
    [
        (EIGHT_BIT, {}, "554 5.6.3 [internal] content that may not be encoded needs 8BITMIME"),
        (HEADER, {}, "554 5.6.9 [internal] an address in the header needs SMTPUTF8"),
        (HEADER, {"8BITMIME": ""}, "554 5.6.9 [internal] an address in the header needs SMTPUTF8"),
    ],
)
def test_letters_that_the_host_does_not_take_fail_and_suppress_nobody(
    message_: OutboundMessage, extensions: dict[str, str], reply: str
) -> None:
    failure = failure_of(message_, extensions)
    assert f"{failure.code} {failure.reply}" == f"{reply}, which the remote host does not offer"
    assert failure.bounce_class == 40
    assert failure.bounce_class not in HARD


def test_an_international_address_is_sent_with_smtputf8() -> None:
    mail, rcpt = commands(message(recipient="us\u00e9r@example.net"), ALL)
    assert mail.endswith(" SMTPUTF8\r\n")
    assert rcpt == "RCPT TO:<us\u00e9r@example.net>\r\n"


@pytest.mark.parametrize("who", ["sender", "recipient"])
def test_an_international_address_fails_where_it_cannot_be_sent(who: str) -> None:
    message_ = replace(message(), **{who: "us\u00e9r@example.net"})  # type: ignore[arg-type]
    failure = failure_of(message_, {"8BITMIME": ""})
    assert (failure.code, failure.bounce_class) == (553, 40)
    assert failure.reply.startswith("5.6.7 [internal]")


@pytest.mark.parametrize(
    ("domain", "on_the_wire"),
    [
        ("b\u00fccher.example", "xn--bcher-kva.example"),
        # With IDNA 2003 this would be fass.example, which may be somebody else's
        ("fa\u00df.example", "xn--fa-hia.example"),
        ("i\u2764.example", "xn--i-7iq.example"),
        ("Under_Score.example", "Under_Score.example"),
    ],
)
def test_an_international_domain_needs_no_extension(domain: str, on_the_wire: str) -> None:
    rcpt = commands(message(recipient=f"b@{domain}"), {})[1]
    assert rcpt == f"RCPT TO:<b@{on_the_wire}>\r\n"


@pytest.mark.parametrize(
    "recipient",
    [
        "",
        "b@example.net>\r\nRCPT TO:<c@example.net",
        "b@example.net\r\nDATA",
        "b@example.net\n",
        "b\x00@example.net",
        "b c@example.net",
        "<b>@example.net",
        "b@exa mple.net",
        '"b\r\n"@example.net',
        "b@" + "x" * 70 + "\u00e9.example",
    ],
)
def test_a_recipient_that_could_break_out_of_its_command_fails(recipient: str) -> None:
    failure = failure_of(message(recipient=recipient), ALL)
    assert (failure.code, failure.bounce_class) == (553, 10)


def test_a_sender_that_could_break_out_of_its_command_is_our_fault() -> None:
    failure = failure_of(message(sender="a@example.com> SIZE=1\r\nX:<"), ALL)
    assert (failure.code, failure.bounce_class) == (553, 25)


def test_a_quoted_local_part_may_hold_spaces_and_brackets() -> None:
    assert commands(message(recipient='"b <c>"@example.net'), {})[1] == (
        'RCPT TO:<"b <c>"@example.net>\r\n'
    )


@pytest.mark.parametrize(
    ("data", "wire"),
    [
        (b"a\r\nb\r\n", b"a\r\nb\r\n"),
        (b"a", b"a\r\n"),
        (b"", b"\r\n"),
        (b".", b"..\r\n"),
        (b"a\r\n.\r\nb\r\n", b"a\r\n..\r\nb\r\n"),
        (b"a\r\n..\r\n.b\r\n", b"a\r\n...\r\n..b\r\n"),
        (b"a\n.\nb\n", b"a\r\n..\r\nb\r\n"),
        (b"a\r.\rb\r\n", b"a\r\n..\r\nb\r\n"),
        (b"a\n.\r\nb", b"a\r\n..\r\nb\r\n"),
        (b"a\r\r\n.\r\n", b"a\r\n\r\n..\r\n"),
    ],
)
def test_content_is_stuffed_and_its_lines_end_in_crlf(data: bytes, wire: bytes) -> None:
    assert wire_data(data) == wire


@settings(max_examples=300)
@given(st.lists(st.sampled_from([b".", b"\r", b"\n", b"\r\n", b"a"]), max_size=12))
def test_no_content_can_end_the_message_early(pieces: list[bytes]) -> None:
    wire = wire_data(b"".join(pieces))
    assert wire.endswith(b"\r\n")
    assert wire.count(b"\r") == wire.count(b"\n") == wire.count(b"\r\n")
    assert b".\r\n" not in [line + b"\r\n" for line in wire.split(b"\r\n")]


def test_content_without_dots_is_not_copied() -> None:
    assert wire_data(DATA) is DATA
