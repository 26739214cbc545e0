"""Messages of any number of lines are written for POP3 as RFC 1939 says."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from infrastructure.local.mail_readers import pop3_text
from infrastructure.local.mail_readers.pop3_text import top_of, transferred

PIECES = st.sampled_from([b"\r\n", b".", b"..", b"text", b"\r", b"\n", b"\r\n\r\n"])
TEXTS = st.lists(PIECES, max_size=30).map(b"".join)


@given(TEXTS)
def test_lines_with_a_dot_get_one_more_and_the_last_line_ends(text: bytes) -> None:
    end = b".\r\n" if text.endswith(b"\r\n") else b"\r\n.\r\n"
    assert transferred(text) == re.sub(rb"(?m)^\.", b"..", text) + end


@given(TEXTS, st.integers(0, 12), st.integers(2, 5))
def test_a_top_has_so_many_lines_of_the_body(text: bytes, most: int, window: int) -> None:
    before = pop3_text._WINDOW
    pop3_text._WINDOW = window
    try:
        top = top_of(b"Subject: Top\r\n\r\n" + text, most)
    finally:
        pop3_text._WINDOW = before
    lines = re.findall(rb"(?s).*?\r\n|.+\Z", text)
    assert top == b"Subject: Top\r\n\r\n" + b"".join(lines[:most])


def test_a_message_without_a_body_is_its_own_top() -> None:
    assert top_of(b"Subject: Alone\r\n", 3) == b"Subject: Alone\r\n"
