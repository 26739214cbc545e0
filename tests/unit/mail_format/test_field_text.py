from __future__ import annotations

import pytest

from chalicelib.mail_format.field_text import octets_as_text, unfolded, with_decoded_words


def test_a_raw_field_is_unfolded() -> None:
    assert unfolded(b"Subject: \r\n a\r\n\tb \r\n") == "a\tb"


@pytest.mark.parametrize(
    ("octets", "text"),
    [("ü".encode(), "ü"), (b"\xfc \x93", "ü \u201c"), (b"\x81", "\x81")],
)
def test_octets_are_utf_8_or_else_windows_1252(octets: bytes, text: str) -> None:
    assert octets_as_text(octets) == text


def test_words_in_a_list_become_quoted_strings() -> None:
    words = "=?utf-8?Q?D=2C_=22A=22?= <a@b.test>"
    assert with_decoded_words(words, is_list=False) == 'D, "A" <a@b.test>'
    assert with_decoded_words(words, is_list=True) == '"D, \\"A\\"" <a@b.test>'
    assert with_decoded_words("=?x?B?a?=", is_list=True) == "=?x?B?a?="
