"""Read single header fields of a message."""

import pytest

from infrastructure.local.sink.header_fields import field, header_block


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
