from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay.errors import SmtpRefusal
from relay.message_content import MessageContent
from relay.message_data import MessageData
from tests.unit.linear_time import assert_linear

MAX = 10_000
MAX_LINE = 100


def read(*chunks: bytes, max_octets: int = MAX, max_line: int = MAX_LINE) -> tuple[bytes, bytes]:
    """Return the message and the octets after it, or the text of the refusal and those octets."""
    message_data = MessageData(MessageContent(max_octets, max_line))
    rest = None
    for number, chunk in enumerate(chunks):
        rest = message_data.feed(chunk)
        if rest is not None:
            rest += b"".join(chunks[number + 1 :])
            break
    assert rest is not None, "the message did not end"
    try:
        return message_data.content.message()[:], rest
    except SmtpRefusal as refusal:
        return str(refusal).encode(), rest


def never_ends(octets: bytes) -> bool:
    return MessageData(MessageContent(MAX, MAX_LINE)).feed(octets) is None


def test_a_message_ends_at_a_lone_dot() -> None:
    assert read(b"Subject: x\r\n\r\nhello\r\n.\r\nQUIT\r\n") == (
        b"Subject: x\r\n\r\nhello\r\n",
        b"QUIT\r\n",
    )


def test_a_lone_dot_at_once_is_an_empty_message() -> None:
    assert read(b".\r\n") == (b"", b"")
    assert read(b".", b"\r", b"\nNOOP\r\n") == (b"", b"NOOP\r\n")


def test_a_message_may_begin_with_an_empty_line() -> None:
    assert read(b"\r\n.\r\n") == (b"\r\n", b"")


def test_a_stuffed_dot_is_removed() -> None:
    assert read(b"..one\r\n.two\r\nthree.\r\n...\r\n.\r\n")[0] == b".one\r\ntwo\r\nthree.\r\n..\r\n"


@pytest.mark.parametrize(
    "false_end",
    [
        b"\n.\n",
        b"\r.\r",
        b"\n.\r\n",
        b"\r\n.\n",
        b"\r\n\0.\r\n",
        b"\r\n.\r",
        b"\r.\r\n",
        b"\r\n.\0\r\n",
    ],
)
def test_only_crlf_dot_crlf_ends_a_message(false_end: bytes) -> None:
    smuggled = b"Subject: a\r\n\r\nx" + false_end + b"MAIL FROM:<evil@x.test>\r\n"
    assert never_ends(smuggled)
    text, rest = read(smuggled + b".\r\nNOOP\r\n")
    assert text.startswith(b"554 5.6.0")
    assert rest == b"NOOP\r\n"


@pytest.mark.parametrize("fault", [b"a\nb", b"a\rb", b"a\r\r\nb", b"a\n\rb", b"\n", b"\r"])
def test_a_bare_cr_or_lf_is_refused_and_not_repaired(fault: bytes) -> None:
    assert b"CRLF" in read(fault + b"\r\n.\r\n")[0]


def test_a_nul_is_refused() -> None:
    assert b"NUL" in read(b"a\0b\r\n.\r\n")[0]


def test_a_message_of_the_largest_size_is_accepted_and_one_octet_more_is_not() -> None:
    body = (b"x" * 48 + b"\r\n") * 10
    assert read(body + b".\r\n", max_octets=500)[0] == body
    assert read(b"y" + body + b".\r\n", max_octets=500)[0].startswith(b"552 5.3.4")


def test_dot_stuffing_does_not_count_to_the_size() -> None:
    assert read(b"..\r\n" * 10 + b".\r\n", max_octets=30)[0] == b".\r\n" * 10


def test_a_message_too_big_with_a_line_too_long_is_refused_for_its_size() -> None:
    assert read(b"x" * 600, b"x" * 600 + b"\r\n.\r\n", max_octets=1000)[0].startswith(b"552")


def test_a_message_that_is_too_big_takes_no_memory() -> None:
    message_data = MessageData(MessageContent(100, MAX_LINE))
    for _ in range(10):
        message_data.feed(b"x" * 60 + b"\r\n")
    assert message_data.content._spool.octets() == b""


def test_a_line_of_the_largest_length_is_accepted_and_one_octet_more_is_not() -> None:
    fits = b"x" * (MAX_LINE - 2) + b"\r\n"
    assert read(fits * 3 + b".\r\n")[0] == fits * 3
    assert b"longer than 100" in read(fits + b"y" + fits + b".\r\n")[0]


def test_a_long_line_is_found_across_chunks() -> None:
    assert b"longer than 100" in read(b"a\r\n", b"x" * 60, b"x" * 60, b"\r\n.\r\n")[0]
    assert not read(b"x" * 60, b"\r\n", b"x" * 60, b"\r\n.\r\n")[0].startswith(b"554")


octets = st.text("a.\r\n\0", max_size=40).map(str.encode)


def reference(stream: bytes) -> tuple[bytes, bytes]:
    """Read a message by the same contract, line by line."""
    content, _, rest = (b"\r\n" + stream).partition(b"\r\n.\r\n")
    message = content[2:] + b"\r\n" if content else b""
    bare = message.replace(b"\r\n", b"")
    if b"\r" in bare or b"\n" in bare:
        return b"bare", rest
    if b"\0" in message:
        return b"nul", rest
    lines = message.split(b"\r\n")
    return b"\r\n".join(line.removeprefix(b".") for line in lines), rest


@settings(max_examples=300)
@given(octets, octets, st.lists(st.integers(0, 90), max_size=6))
def test_the_outcome_does_not_depend_on_how_octets_arrive(
    before: bytes, after: bytes, cuts: list[int]
) -> None:
    stream = before + b"\r\n.\r\n" + after
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[a:b] for a, b in itertools.pairwise(edges)]
    message, rest = read(*chunks)
    expected, expected_rest = reference(stream)
    assert rest == expected_rest
    if expected in (b"bare", b"nul"):
        assert message.startswith(b"554")
    else:
        assert message == expected


def test_twenty_megabytes_of_short_lines_are_read_in_linear_time() -> None:
    chunk = b"..\r\na.\r\n" * 8192

    def read_chunks(chunks: list[bytes]) -> None:
        message_data = MessageData(MessageContent(64 * 2**20, MAX_LINE))
        for each in chunks:
            assert message_data.feed(each) is None
        assert message_data.feed(b".\r\n") == b""
        assert len(message_data.content.message()) == len(chunks) * 8192 * 7

    assert_linear(read_chunks, [chunk] * 320)
