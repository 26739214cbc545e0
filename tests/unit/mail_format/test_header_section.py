import pytest

from chalicelib.mail_format.header_section import MessageError, header_fields, split_head


def fields_of(head: bytes) -> list[tuple[str, bytes]]:
    return header_fields(head, 0, len(head))


@pytest.mark.parametrize(
    ("message", "head_end", "body_start"),
    [
        (b"A: b\r\n\r\nbody", 6, 8),
        (b"\r\nbody", 0, 2),
        (b"A: b\r\n", 6, 6),
        (b"A: b", 4, 4),
        (b"", 0, 0),
    ],
)
def test_the_first_blank_line_ends_the_header_section(
    message: bytes, head_end: int, body_start: int
) -> None:
    assert split_head(message, 0, len(message)) == (head_end, body_start)


def test_a_field_keeps_its_folding_and_its_bytes() -> None:
    assert fields_of(b"Subject: a\r\n  b\r\n\tc\xff\r\nX-1:\r\n") == [
        ("subject", b"Subject: a\r\n  b\r\n\tc\xff\r\n"),
        ("x-1", b"X-1:\r\n"),
    ]


def test_a_last_field_without_line_end_gets_one() -> None:
    assert fields_of(b"A: b") == [("a", b"A: b\r\n")]


@pytest.mark.parametrize(
    "head",
    [
        b"no colon here\r\n",
        b" starts with a continuation\r\n",
        b": no name\r\n",
        b"Blank : in the name\r\n",
        b"From a@example.test Mon Jan  1 00:00:00 2024\r\n",
        b"A: b\r\nN\xc3\xa4me: x\r\n",
        b"A: bare\nB: x\r\n",
        b"A: bare\rB: x\r\n",
        b"A: nul\0\r\n",
    ],
)
def test_a_line_that_is_no_field_is_refused(head: bytes) -> None:
    with pytest.raises(MessageError, match="malformed header line"):
        fields_of(head)
