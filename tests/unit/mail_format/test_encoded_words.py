from __future__ import annotations

import contextlib

import pytest

from chalicelib.mail_format.encoded_words import decode_words, readable
from tests.unit.linear_time import assert_linear


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain text", "plain text"),
        ("=?utf-8?q?a_b=3D?=", "a b="),
        ("=?UTF-8?B?w7w=?=", "\u00fc"),
        ("=?utf-8*en?B?w7w?=", "\u00fc"),
        ("=?iso-8859-1?Q?=FC?=", "\u00fc"),
        ("a =?utf-8?q?b?= c", "a b c"),
        ("=?utf-8?q?a?= =?utf-8?q?b?=", "ab"),
        ("=?utf-8?q?a?= x =?utf-8?q?b?=", "a x b"),
        ("=?utf-8?q?=C3?= =?utf-8?q?=BC?=", "\u00fc"),
        ("=?utf-8?q?a?= =?iso-8859-1?q?=FC?=", "a\u00fc"),
        ("=?utf-8?x?a?=", "=?utf-8?x?a?="),
        ("=?utf-8?q??=", ""),
    ],
)
def test_encoded_words_are_decoded(value: str, text: str) -> None:
    assert decode_words(value) == text


@pytest.mark.parametrize(
    "value",
    [
        "=?utf-8?q?=FF?=",
        "=?utf-8?b?a?=",
        "=?nothing?q?a?=",
        "=?zlib?b?eJwDAAAAAAE=?=",
        "=?rot13?q?a?=",
        "=?idna?q?a?=",
    ],
)
def test_malformed_encoded_words_are_an_error(value: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - codecs and base64 raise several kinds of it
        decode_words(value)
    assert readable(f"a {value}") == f"a {value}"


@pytest.mark.parametrize("value", ["=?u?q?" * 100_000, "=?" * 300_000, "=?u?q?a?= " * 60_000])
def test_hostile_values_are_read_in_linear_time(value: str) -> None:
    def decode(value: str) -> None:
        with contextlib.suppress(ValueError):
            decode_words(value)

    assert_linear(decode, value)
