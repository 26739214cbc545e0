"""The words of IMAP are read as they are written, and whatever comes is read or refused."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from infrastructure.local.mail_readers.imap_fetch import (
    FetchItem,
    Message,
    octets_of,
    read_items,
    written,
)
from infrastructure.local.mail_readers.imap_mailboxes import _expression, _inbox_of, _name_of
from infrastructure.local.mail_readers.imap_structure import envelope, parse, structure
from infrastructure.local.mail_readers.imap_syntax import (
    BadCommand,
    Scanner,
    literal,
    mailbox_name,
    read_mailbox_name,
    string,
)
from infrastructure.local.mailbox.numbers import NumberedMessage
from tests.unit.infrastructure.local.mail_readers.messages import ENCODED, MIXED, PLAIN

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
#: Pieces that commands and structures are made of, in any order
PIECES = st.lists(
    st.sampled_from(
        [
            *(b"BODY[", b"]", b"(", b")", b"<", b">", b" ", b"1", b".", b"HEADER.FIELDS", b"MIME"),
            *(b'"', b"\\", b"{3}\r\n", b"{9}\r\n", b"abc", b"UID", b"FLAGS", b"*", b":", b","),
        ]
    ),
    max_size=15,
).map(b"".join)
LINES = st.lists(
    st.sampled_from(
        [
            *(b"From: a@b.test, (c(d", b'To: "x" <y@z>', b"Date: x", b"", b"--b", b"--b--", b": ;"),
            *(b"Content-Type: multipart/mixed; boundary=b", b"Content-Type: message/rfc822"),
            *(b'Content-Disposition: a; b="c\\"; d', b"text", b"\x00\xff", b"a\nb"),
        ]
    ),
    max_size=25,
).map(b"\r\n".join)


@given(st.binary(max_size=1500))
def test_a_string_is_read_as_it_was_written(octets: bytes) -> None:
    scanner = Scanner(string(octets) + b" next")
    assert scanner.astring() == octets.replace(b"\0", b" ")
    scanner.expect(b" next")
    scanner.end()


@given(NAMES)
@example("Entwürfe & Mehr")
@example("台北/日本語")
def test_a_name_of_a_mailbox_is_read_as_it_was_written(name: str) -> None:
    octets = mailbox_name(name)
    assert octets.isascii()
    assert read_mailbox_name(octets) == name
    assert _inbox_of(_name_of(name)) == name


def test_names_are_those_of_the_rfc() -> None:
    assert mailbox_name("~peter/mail/台北/日本語") == b"~peter/mail/&U,BTFw-/&ZeVnLIqe-"


@given(PIECES)
def test_whatever_is_fetched_is_read_or_refused(text: bytes) -> None:
    with contextlib.suppress(BadCommand):
        items = read_items(Scanner(text))
        for content in (PLAIN, MIXED):
            message = Message(NumberedMessage(1, "1.x", len(content), True), 0, content)
            assert b"".join(written(items, 1, message)).endswith(b")\r\n")


@given(LINES)
def test_whatever_came_is_described(content: bytes) -> None:
    message = parse(content)
    for has_extensions in (False, True):
        check_list(structure(message, has_extensions=has_extensions))
    check_list(envelope(message))


def check_list(text: bytes) -> None:
    """Read a parenthesised list to its end."""
    scanner, depth = Scanner(text), 0
    while not scanner.is_at_end:
        if scanner.skips(b"("):
            depth += 1
        elif scanner.skips(b")"):
            depth -= 1
            assert depth >= 0
        elif not scanner.skips(b" "):
            scanner.astring()
    assert depth == 0


@given(LINES)
def test_header_and_text_are_the_whole_message(content: bytes) -> None:
    message = parse(content)
    head, text, everything = (octets_of(message, section(each)) for each in ("HEADER", "TEXT", ""))
    assert head is not None
    assert text is not None
    assert head + text == everything == content


def section(text: str) -> object:
    (item,) = read_items(Scanner(f"BODY[{text}]".encode()))
    return item.section


def test_partial_fetches_of_a_part_are_the_part() -> None:
    message, octets = parse(ENCODED), b""
    for start in range(0, 60, 7):
        (item,) = read_items(Scanner(f"BODY.PEEK[1]<{start}.7>".encode()))
        assert item == FetchItem("BODY[]", b"BODY[1]<%d>" % start, item.section, False)
        assert item.section is not None
        octets += octets_of(message, item.section) or b""
    assert octets == "Schöne Straße\r\n".encode()


@pytest.mark.parametrize(
    "hostile",
    [
        b"From: " + b"(" * 50_000,
        b"From: " + b'"' * 50_000,
        b"From: " + b"a," * 50_000,
        b"Content-Disposition: a" + b"; x" * 30_000,
        b"Content-Disposition: a; x=" + b'"\\' * 30_000,
        b"Content-Type: message/rfc822\r\n\r\n" * 3_000,
        b": \r\n" * 30_000,
    ],
)
def test_hostile_messages_take_little_time(hostile: bytes) -> None:
    began = time.process_time()
    message = parse(hostile)
    structure(message, has_extensions=True)
    envelope(message)
    assert time.process_time() - began < 2


def test_a_pattern_of_many_wildcards_takes_little_time() -> None:
    began = time.process_time()
    for pattern in ("*a" * 500, "%" * 500 + "b", "*%" * 500 + "b", "*a*a*a*a*a*b"):
        _expression(pattern).fullmatch("Inboxes/" + "a" * 300)
    assert time.process_time() - began < 2


def test_a_literal_says_its_length() -> None:
    assert literal(b"a\r\nb") == b"{4}\r\na\r\nb"
    with pytest.raises(BadCommand):
        Scanner(b"{5}\r\nabc").astring()
