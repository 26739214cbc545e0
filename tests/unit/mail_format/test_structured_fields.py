from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.mail_format.structured_fields import (
    holds_words,
    is_structured,
    items,
    with_ascii_urls,
)
from tests.unit.linear_time import assert_linear


@pytest.mark.parametrize(
    ("name", "structured", "words"),
    [
        ("Subject", False, True),
        ("X-Link", False, True),
        ("To", True, True),
        ("LIST-ID", True, True),
        ("List-Unsubscribe", True, False),
        ("References", True, False),
    ],
)
def test_a_field_has_a_syntax_of_its_own_or_is_text(
    name: str, structured: bool, words: bool
) -> None:
    assert (is_structured(name), holds_words(name)) == (structured, words)


@pytest.mark.parametrize(
    ("value", "pieces"),
    [
        ("<a,b>,<c>", ["<a,b>,", "<c>"]),
        ("<a><b>", ["<a>", "<b>"]),
        ("<a> <b>", ["<a> <b>"]),
        ('"x, y" <a@b>,c;d', ['"x, y" <a@b>,', "c;", "d"]),
        ('"x\\", y",z', ['"x\\", y",', "z"]),
        ("", []),
        (",,", [",", ","]),
    ],
)
def test_a_value_is_divided_only_where_a_blank_may_be_added(value: str, pieces: list[str]) -> None:
    assert list(items(value)) == pieces


@given(st.text('a,;<>"\\ ', max_size=30))
def test_nothing_is_lost_between_the_pieces(value: str) -> None:
    assert "".join(items(value)) == value
    assert "".join(items(value, ";")) == value


@pytest.mark.parametrize("piece", ["<", ">", '"', "\\", '"\\"', ",", "<>", "a"])
def test_hostile_values_take_linear_time(piece: str) -> None:
    assert_linear(lambda value: list(items(value)), piece * 100_000)


def test_a_url_beyond_ascii_gets_its_percent_form() -> None:
    value = "<https://bücher.test/ü%20?a=1,2>, Hilfe ü"
    assert with_ascii_urls("List-Help", value) == (
        "<https://b%C3%BCcher.test/%C3%BC%20?a=1,2>, Hilfe ü"
    )
    assert with_ascii_urls("X-Link", value) == value
    assert with_ascii_urls("List-Id", "Bücher <ü>") == "Bücher <ü>"
