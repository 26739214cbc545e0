from __future__ import annotations

import base64
import hmac
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.caches import clear_caches
from chalicelib.core.sealing import master_key
from chalicelib.core.signing import (
    BadSignature,
    from_token,
    is_valid,
    tag,
    tag_of_text,
    tag_text,
    to_token,
)

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def _raw(token: str) -> bytes:
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@given(VALUES)
def test_a_token_gives_back_its_value_and_is_safe_in_a_url(value: Any) -> None:
    token = to_token(value, "cursor")
    assert from_token(token, "cursor") == value
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@given(VALUES)
def test_a_token_ends_with_a_letter_or_digit_which_no_mail_program_leaves_out(value: Any) -> None:
    assert to_token(value, "cursor")[-1].isalnum()


@given(VALUES, st.data())
def test_no_beginning_of_a_token_is_a_token(value: Any, data: st.DataObject) -> None:
    token = to_token(value, "cursor")
    cut = data.draw(st.integers(0, len(token) - 1))
    with pytest.raises(BadSignature):
        from_token(token[:cut], "cursor")


@given(VALUES, st.data())
def test_a_token_with_one_bit_changed_is_refused(value: Any, data: st.DataObject) -> None:
    raw = bytearray(_raw(to_token(value, "cursor")))
    bit = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(BadSignature):
        from_token(_text(bytes(raw)), "cursor")


@given(st.text(st.characters(), max_size=60) | st.binary(max_size=60).map(_text))
def test_a_text_that_nobody_signed_is_refused_with_no_other_error(text: str) -> None:
    with pytest.raises(BadSignature):
        from_token(text, "cursor")


def test_a_token_means_nothing_for_another_purpose() -> None:
    with pytest.raises(BadSignature):
        from_token(to_token({"a": 1}, "cursor"), "link")


def test_a_token_of_another_service_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    token = to_token([1], "cursor")
    monkeypatch.setenv("SECRET_KEY", base64.b64encode(b"k" * 32).decode())
    clear_caches()
    with pytest.raises(BadSignature):
        from_token(token, "cursor")
    monkeypatch.undo()
    clear_caches()


@given(st.binary(max_size=200))
def test_a_tag_is_the_start_of_an_hmac(data: bytes) -> None:
    key = hmac.digest(master_key(), b"postfinch/links", "sha256")
    assert tag(data, "links") == hmac.digest(key, data, "sha256")[:10]


def test_a_tag_belongs_to_its_data_and_purpose() -> None:
    mark = tag(b"data", "p")
    assert len(mark) == 10
    assert is_valid(b"data", mark, "p")
    assert not is_valid(b"data!", mark, "p")
    assert not is_valid(b"data", mark, "q")
    assert not is_valid(b"data", mark[:9], "p")
    assert not is_valid(b"data", b"", "p")


@given(st.binary(max_size=40))
def test_a_tag_as_text_is_its_base32_form(data: bytes) -> None:
    text = tag_text(data, "cursor")
    assert text == base64.b32encode(tag(data, "cursor")).decode().lower()
    assert tag_of_text(text) == tag(data, "cursor")
