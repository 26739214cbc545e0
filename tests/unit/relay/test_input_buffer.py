from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay import replies
from relay.errors import SmtpRefusal
from relay.input_buffer import InputBuffer

LIMIT = 20


def lines_of(chunks: list[bytes]) -> list[bytes | int]:
    """Return every line, or the code of its refusal."""
    buffer = InputBuffer()
    results: list[bytes | int] = []
    for chunk in chunks:
        buffer.feed(chunk)
        while True:
            try:
                line = buffer.line(LIMIT)
            except SmtpRefusal as refusal:
                results.append(refusal.reply.code)
                continue
            if line is None:
                break
            results.append(line)
    return results


def test_a_burst_is_cut_into_its_lines() -> None:
    assert lines_of([b"NOOP\r\nRSET\r\nQU", b"IT\r\n"]) == [b"NOOP", b"RSET", b"QUIT"]


def test_an_unfinished_line_is_not_a_line() -> None:
    assert lines_of([b"NOOP", b"\r"]) == []


@pytest.mark.parametrize("line", [b"NO\rOP", b"NOOP\r", b"NO\0OP", b"\rNOOP", b"NO\nOP", b"\nNOOP"])
def test_a_line_with_a_bare_cr_lf_or_nul_is_refused_whole(line: bytes) -> None:
    assert lines_of([line + b"\r\nRSET\r\n"]) == [500, b"RSET"]


def test_a_bare_lf_is_refused_before_its_crlf_arrives() -> None:
    assert lines_of([b"EHLO me\n"]) == [500]


def test_octets_after_a_bare_lf_are_part_of_the_refused_line() -> None:
    assert lines_of([b"EHLO me\n", b"QUIT\n", b"QUIT\r", b"\nNOOP\r\n"]) == [500, b"NOOP"]


def test_the_limit_counts_the_crlf() -> None:
    fits = b"x" * (LIMIT - 2)
    assert lines_of([fits + b"\r\n"]) == [fits]
    assert lines_of([fits + b"x\r\nNOOP\r\n"]) == [500, b"NOOP"]


def test_a_long_line_is_refused_before_it_ends() -> None:
    assert lines_of([b"x" * (LIMIT + 1)]) == [500]


def test_a_line_without_end_ends_the_connection() -> None:
    buffer = InputBuffer()
    buffer.feed(b"x" * 1000)
    with pytest.raises(SmtpRefusal) as long:
        buffer.line(LIMIT)
    assert long.value.reply == replies.COMMAND_TOO_LONG
    buffer.feed(b"x" * 100_000)
    with pytest.raises(SmtpRefusal) as endless:
        buffer.line(LIMIT)
    assert endless.value.reply == replies.ENDLESS_LINE


def test_octets_that_are_put_back_are_read_next() -> None:
    buffer = InputBuffer()
    buffer.feed(b"message\r\nNOOP\r\n")
    octets = buffer.take()
    buffer.feed(b"QUIT\r\n")
    buffer.put_back(octets[-6:])
    assert [buffer.line(LIMIT), buffer.line(LIMIT)] == [b"NOOP", b"QUIT"]


def test_clearing_forgets_a_refused_line_too() -> None:
    buffer = InputBuffer()
    buffer.feed(b"bad\n rest")
    with pytest.raises(SmtpRefusal):
        buffer.line(LIMIT)
    buffer.clear()
    buffer.feed(b"NOOP\r\n")
    assert buffer.line(LIMIT) == b"NOOP"


def test_a_word_is_recognised_in_any_case() -> None:
    buffer = InputBuffer()
    buffer.feed(b"aUtH plain")
    assert buffer.begins_with(b"AUTH ")
    assert not buffer.begins_with(b"MAIL ")


@settings(max_examples=200)
@given(st.lists(st.text("a\r\n\0", max_size=12).map(str.encode), max_size=8))
def test_lines_do_not_depend_on_how_octets_arrive(chunks: list[bytes]) -> None:
    joined = b"".join(chunks)
    assert lines_of(chunks) == lines_of([bytes([octet]) for octet in joined])


@settings(max_examples=200)
@given(st.text("ab\r\n\0", max_size=60).map(str.encode))
def test_every_crlf_ended_line_has_one_answer(octets: bytes) -> None:
    octets = octets.rstrip(b"\r\n\0") + b"\r\n"
    lines = octets.split(b"\r\n")[:-1]
    expected: list[bytes | int] = [
        500 if len(line) + 2 > LIMIT or set(line) & set(b"\r\n\0") else line for line in lines
    ]
    assert lines_of([octets]) == expected
