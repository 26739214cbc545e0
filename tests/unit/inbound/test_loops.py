"""The Received field of a message that comes in, and the loops that it shows."""

from __future__ import annotations

import email
from dataclasses import replace

import pytest

from chalicelib.inbound.loops import Hop, came_before, header_of, hops, received_field, traces
from tests.unit.linear_time import assert_linear

HOP = Hop(
    id="0195c1b1e9a0aabbccddeeff",
    received_ms=1_769_850_000_123,
    helo="mx.sender.test",
    peer_ip="192.0.2.7",
    tls="TLSv1.3",
    is_utf8=False,
    recipients=("Help+7@in.test",),
)
MESSAGE = b"Subject: x\r\n\r\nReceived: in the text\r\n"


def test_the_field_names_host_protocol_id_recipient_and_time() -> None:
    message = email.message_from_bytes(received_field(HOP, ()) + MESSAGE)
    assert message["Received"].split("\r\n\t") == [
        "from mx.sender.test ([192.0.2.7])",
        "by localhost with ESMTPS (TLSv1.3) id 0195c1b1e9a0aabbccddeeff",
        "for <Help+7@in.test>;",
        "Sat, 31 Jan 2026 09:00:00 +0000",
    ]
    assert message["Subject"] == "x"


@pytest.mark.parametrize(
    ("hop", "text"),
    [
        (replace(HOP, tls=""), b"with ESMTP id"),
        (replace(HOP, tls="", is_utf8=True), b"with UTF8SMTP id"),
        (replace(HOP, is_utf8=True), b"with UTF8SMTPS (TLSv1.3) id"),
        (replace(HOP, peer_ip="2001:db8::1"), b"([IPv6:2001:db8::1])"),
        (replace(HOP, peer_ip=""), b"([])"),
        (replace(HOP, helo="a\r\nX: y (b) ;"), b"from aX:yb ("),
        (replace(HOP, helo="();"), b"from unknown ("),
        (replace(HOP, recipients=("\u00fc@in.test",)), "for <\u00fc@in.test>;".encode()),
    ],
)
def test_the_field_says_how_the_message_came(hop: Hop, text: bytes) -> None:
    field = received_field(hop, ())
    assert text in field
    assert all(line.startswith(b"\t") for line in field.split(b"\r\n")[1:-1])


def test_no_recipient_learns_of_another() -> None:
    hop = replace(HOP, recipients=("one@in.test", "two@in.test"))
    field = received_field(hop, hop.recipients)
    assert b"one@" not in field
    assert b"two@" not in field


def test_a_message_that_was_received_for_an_address_is_found_whatever_stands_before() -> None:
    field = received_field(HOP, HOP.recipients)
    header = header_of(b"Received: from elsewhere\r\n" + field + MESSAGE, 0)
    assert came_before("help+7@IN.test", traces(header))
    assert not came_before("other@in.test", traces(header))
    assert hops(header) == 2


def test_a_trace_cannot_be_made_by_others() -> None:
    forged = b"Received: by us (trace aaaaaaaaaaaaaaaa)\r\n"
    assert not came_before("help+7@in.test", traces(header_of(forged + MESSAGE, 0)))


def test_only_the_header_section_counts() -> None:
    field = received_field(HOP, HOP.recipients)
    assert not traces(header_of(MESSAGE + field, 0))
    assert not traces(header_of(b"\r\n" + field, 0))
    assert traces(header_of(b"x" * 30 + field + MESSAGE, 30))


def test_fields_are_counted_in_any_spelling() -> None:
    header = b"received: a\r\nRECEIVED : b\r\nX-Received: c\r\n\tReceived: folded\r\nReceived:d"
    assert hops(header) == 3


def test_a_hostile_header_takes_linear_time() -> None:
    assert_linear(
        lambda text: (hops(text), traces(text)), b"\r\nReceived \t \t(trace (trace aaaa" * 4_000
    )
