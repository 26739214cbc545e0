"""Pieces of a text are encoded like the joined text."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chalicelib.mail_format import text_pieces
from chalicelib.mail_format.text_pieces import encode_pieces
from chalicelib.mail_format.transfer_encoding import encode_text

SCRAPS = [
    *("é", "x", ".", " ", "\t", "\n", "\r\n", "\r", "=", "", "\0", "ü" * 40, "語" * 30, "\ud800"),
    *("a" * 74, "b" * 75, "c" * 76, "d" * 150, "e=" * 40, " " * 80, "a b. " * 30, "\n.\n", "\n\n"),
    *("x" * 73 + "=", "line\nline = é\n" * 9, "f" * 74 + " ", "g" * 75 + "\n", "h" * 1000),
]
pieces_of_text = st.lists(st.one_of(st.sampled_from(SCRAPS), st.text(max_size=90)), max_size=12)


@settings(max_examples=500)
@given(pieces_of_text)
@example(["é", "a ", "\n"])
@example(["é\n", ".", "\n"])
@example(["é", "a" * 73, " ", "b"])
@example(["é", "a" * 74, "b"])
@example([".", "\0" + "a" * 75, "é"])
@example(["é", "t" * 170, "b", "t" * 1000, "c", "t" * 1001, "d", "t" * 75])
def test_pieces_are_encoded_like_their_joined_text(pieces: list[str]) -> None:
    expected = encode_text("".join(pieces))
    for _ in range(2):  # with and without cached forms
        assert encode_pieces(pieces)[:2] == expected


def test_repeated_pieces_are_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    literal = "é = a literal text of the template, with\nseveral lines\n and more = "
    encode_pieces([literal, "value0", literal])
    encode_pieces([literal, "value1", literal])
    monkeypatch.setattr(text_pieces, "quoted_printable", None)
    assert encode_pieces([literal, "value2", literal]).encoding == "quoted-printable"


def test_the_cache_has_a_limit() -> None:
    for number in range(10_000):
        encode_pieces(["é\n", f"={number}\n" * 100, "x"])
    assert len(text_pieces._cache.pieces) < 10_000
    assert text_pieces._cache._size <= text_pieces._CACHE_CHARACTERS
