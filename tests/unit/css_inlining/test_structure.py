from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.css_inlining.structure import (
    divided,
    is_complete,
    outer_marks,
    without_comments,
)
from tests.unit.linear_time import assert_linear


def marks(css: str) -> str:
    return "".join(mark for mark, _ in outer_marks(css))


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("a,b{c:d;e:f}g{}", ",{}{}"),
        ("@media x{a{}b{}}@import 'y;';", "{};"),
        ("a{b:'}'}", "{}"),
        ('a{b:"\\"}"}', "{}"),
        ("a{b:url(x;}y)}", "{}"),
        ("a{b:url('x)}')}", "{}"),
        ("a{b:(};)}", "{}"),
        ("a{/*}*/}", "{}"),
        ("a\\{,b{}", ",{}"),
        ("[x='{'],b{}", ",{}"),
        ("a{b:'c\n}d{}", "{}{}"),
        ("}a{}", "{}"),
        ("a{b", "{"),
    ],
)
def test_marks_are_those_that_nothing_encloses(css: str, expected: str) -> None:
    assert marks(css) == expected


def test_text_with_blocks_is_not_divided() -> None:
    assert divided("a:(b;c);d", ";") == ["a:(b;c)", "d"]
    assert divided("a{b;c}", ";") is None


@pytest.mark.parametrize(
    "text", ["", "a", "'b'", "url(x)", "(a [b])", "/* x */", "\\(", '"\\""', "url( 'x' )", "u-r(l)"]
)
def test_complete_text_encloses_nothing_that_follows(text: str) -> None:
    assert is_complete(text)


@pytest.mark.parametrize(
    "text", ["'", '"a', "(", "[a(])", ")", "url(x", "/*", "/*/", "\\", "'a\nb", "a}", "{"]
)
def test_text_that_would_change_what_follows_is_not_complete(text: str) -> None:
    assert not is_complete(text)


def test_comments_in_strings_are_text() -> None:
    assert without_comments("a/*b*/c '/*d*/' /*e").split() == ["a", "c", "'/*d*/'"]


@given(st.text(alphabet="{}()[];,'\"\\/*uUrRlL \n<>-!a"))
def test_any_text_can_be_read(text: str) -> None:
    for mark, place in outer_marks(text):
        assert text[place] == mark
    without_comments(text)
    if is_complete(text):
        assert marks(f"{text}{{}}").endswith("{}")


@pytest.mark.parametrize(
    "unit",
    ["/*", "'", '"\\', "(", "url(", "{", "a{", ";", "\\", "/", "[(", "a{b:c;}", "<!--", "\n'"],
)
def test_hostile_css_takes_linear_time(unit: str) -> None:
    for read in (marks, is_complete, without_comments, lambda css: divided(css, ";")):
        assert_linear(read, unit * (100_000 // len(unit)))
