from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.mail_format.entities import decode, unescape


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("https://a.example/?b=1&amp;c=2", "https://a.example/?b=1&c=2"),
        ("https://a.example/?b=1&c=2", "https://a.example/?b=1&c=2"),
        ("?a=1&copy=2&amp;d", "?a=1&copy=2&d"),
        ("?a=1&copyx&reg1", "?a=1&copyx&reg1"),
        ("?a&copy;=2", "?a©=2"),
        ("?a&copy", "?a©"),
        ("?a&copy.", "?a©."),
        ("&notin;&notit;&not", "∉&notit;¬"),
        ("&#38;&#x26;&#X26&#38", "&&&&"),
        ("&#0;&#x110000;&#128;", "\ufffd\ufffd€"),
        ("&#64976;&#xFDD0&#1;", "\ufdd0\ufdd0\x01"),
        ("&&amp;&", "&&&"),
        ("&unknown;&;&#;&#x;", "&unknown;&;&#;&#x;"),
        ("&amp;amp;", "&amp;"),
        ("&AMP;&AMP=", "&&AMP="),
        ("&fjlig;", "fj"),
        ("&#000000000000038;&#x000000000000026;", "&&"),
        (f"&#{'9' * 5000};&#{'0' * 5000}38;&#{'0' * 5000}1;&#x{'f' * 5000};", "\ufffd&\x01\ufffd"),
    ],
)
def test_references_are_decoded_as_browsers_decode_attributes(source: str, text: str) -> None:
    assert decode(source) == text


def test_a_text_with_very_long_numbers_is_decoded() -> None:
    assert unescape(f"a &lt;&copy &#{'9' * 5000};&#{'0' * 5000}65;&#0;") == "a <© \ufffdA\ufffd"


@given(st.text())
def test_decoding_undoes_encoding(text: str) -> None:
    assert decode(html.escape(text)) == text


@given(st.text(alphabet="&;#x1a=ampcoytnli "))
def test_any_text_can_be_decoded(text: str) -> None:
    assert isinstance(decode(text), str)
