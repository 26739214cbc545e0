"""Turn the markup of notices into lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.mail_format.markup import text_of_markup
from tests.unit.linear_time import assert_linear


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>One\ntwo</p><p>three", "One two\n\nthree"),
        ("one<br>two<BR/>three", "one\ntwo\nthree"),
        ("<div>one</div><div>two</div>", "one\n\ntwo"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\n\nc"),
        ("<b>From:</b> a &lt;a@b&gt;&nbsp;c", "From: a <a@b> c"),
        ("a<script>b<p></script>c<style>d</style>", "a c"),
        ("a<!-- b --> c <!doctype html>d<!-- e", "a c d"),
        ("a<blockquote>b<blockquote>c</blockquote>d</blockquote>e", "a e"),
        ("a<blockquote>b", "a"),
        ("<p style='x'>a < b", "a < b"),
        ("a</blockquote>b", "a b"),
        ("", ""),
    ],
)
def test_markup_becomes_the_lines_that_a_reader_sees(markup: str, text: str) -> None:
    assert text_of_markup(markup) == text


@given(st.text(alphabet="<>/!-ap quoteblck\n&;", max_size=60))
def test_any_markup_becomes_text(markup: str) -> None:
    text = text_of_markup(markup)
    assert text == text.strip()
    assert "\n\n\n" not in text


@pytest.mark.parametrize("piece", ["<", "<a", "<p>", "<!--", "<blockquote>", "\n", "<a <", " \n"])
def test_hostile_markup_takes_linear_time(piece: str) -> None:
    assert_linear(text_of_markup, piece * 100_000)
