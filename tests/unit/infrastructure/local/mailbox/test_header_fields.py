"""Read single header fields of a message."""

import pytest

from infrastructure.local.mailbox.header_fields import (
    field,
    first_address,
    header_block,
    only_address,
)
from infrastructure.local.messages.checks import checks_of
from infrastructure.local.messages.parts import StoredMessage


@pytest.mark.parametrize(
    ("message", "headers"),
    [
        (b"A: 1\r\nB: 2\r\n\r\nC: 3", b"A: 1\r\nB: 2"),
        (b"A: 1\nB: 2\n\nC: 3", b"A: 1\nB: 2"),
        (b"A: 1", b"A: 1"),
        (b"\r\nA: 1\r\n\r\n", b""),
        (b"", b""),
    ],
)
def test_the_header_ends_at_the_first_empty_line(message: bytes, headers: bytes) -> None:
    assert header_block(message) == headers


def test_a_field_is_found_in_any_case_and_unfolded() -> None:
    headers = b"X-Subject: no\r\nSUBJECT : a\r\n\tb\r\n  c\r\nSubject: second\r\nEmpty:"
    assert field(headers, "Subject") == "a\tb  c"
    assert field(headers, "Empty") == ""
    assert field(headers, "Missing") == ""


def test_invalid_bytes_of_a_field_are_replaced() -> None:
    assert field(b"Subject: a\xffb", "Subject") == "a\ufffdb"


def test_comments_in_comments_hide_an_address_and_break_nothing() -> None:
    field_value = "(" * 20_000 + "<a@b.test>"
    assert first_address(field_value) == ""
    assert only_address(field_value) == ""
    assert checks_of(StoredMessage(f"From: {field_value}\r\n\r\nHi".encode()), lambda _: [])


def test_one_address_is_not_the_first_of_several() -> None:
    assert only_address("Ann <ann@a.test>") == "ann@a.test"
    assert only_address("ann@a.test, bob@a.test") == ""
    assert first_address("ann@a.test, bob@a.test") == "ann@a.test"
