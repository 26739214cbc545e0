"""Fields are read from the header of a pre-built message, and missing ones are added."""

from __future__ import annotations

import pytest

from chalicelib.generation.prebuilt import PrebuiltHeader
from chalicelib.mail_format import rfc822
from tests.unit.generation.examples import INJECTED

HEADER = b"From: a@mail.example.test\r\nSubject: s\r\n"
ID = "02a9e2b5c1d3e4f500000007"
DATED = b"Date: Mon, 1 Jan 2024 00:00:00 +0000\r\n"
NAMED = b"MESSAGE-ID: <own@x>\r\n"


def fields(header: bytes) -> list[rfc822.Field]:
    return rfc822.split(header + b"\r\n\r\n")[0]


@pytest.mark.parametrize(
    ("header", "subject"),
    [
        (b"Subject: x", "x"),
        (b"Subject:\r\n  a\r\n\t b ", "a b"),
        (b"Subject: =?utf-8?B?w6k=?= x", "é x"),
        ("Subject: é".encode(), "é"),
        (b"Subject: \xff", "\ufffd"),
        (b"Subject: =?utf-8?B?a?= x", "=?utf-8?B?a?= x"),
        (b"Subject: =?unicode_escape?Q?\\ud800?= x", "=?unicode_escape?Q?\\ud800?= x"),
        (b"Subject: " + b"=?utf-8?Q?x?= " * 600, "x" * 600),
        (b"Subject: =?windows-1252?Q?=93x=94?= =?koi8-r?B?yNY=?=", "\u201cx\u201d\u0445\u0436"),
        (b"Subject: =?utf-8?B?/w==?=", "=?utf-8?B?/w==?="),
        (b"X-A: 1", ""),
        (b"Subject: first\r\nSubject: second", "first"),
    ],
)
def test_the_subject_is_decoded(header: bytes, subject: str) -> None:
    assert PrebuiltHeader(fields(header)).subject == subject


def completed(header: bytes, *more: tuple[str, str]) -> bytes:
    """Return the header section with the added fields."""
    completed_fields = PrebuiltHeader(fields(header.removesuffix(b"\r\n"))).completed(
        ID, INJECTED, more
    )
    return b"".join(raw for _, raw in completed_fields)


@pytest.mark.spec("2.2-r6")
def test_only_date_and_message_id_are_added_where_they_are_missing() -> None:
    date = b"Date: Sat, 31 Jan 2026 09:00:05 +0000\r\n"
    name = f"Message-ID: <{ID}@mail.example.test>\r\n".encode()
    for header_bytes, added in (
        (b"", date + name),
        (DATED, name),
        (NAMED, date),
        (DATED + NAMED, b""),
    ):
        assert completed(header_bytes + HEADER) == header_bytes + HEADER + added


def test_all_other_bytes_stay_as_they_are() -> None:
    strange = b"X-Strange:\t \xff  folded\r\n \t more\r\n"
    raw = strange + DATED + NAMED + b"From: a@b.test\r\n"
    assert completed(raw) == raw


def test_further_headers_replace_the_messages_own() -> None:
    header_bytes = (
        DATED + NAMED + b"List-Unsubscribe: <x>\r\n" + HEADER + b"LIST-unsubscribe: <y>\r\n"
    )
    expected = DATED + NAMED + b"List-Unsubscribe: <z>\r\n" + HEADER + b"X-New: 1\r\n"
    assert completed(header_bytes, ("List-Unsubscribe", "<z>"), ("X-New", "1")) == expected
