from __future__ import annotations

import base64

import boto3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core import aws
from chalicelib.core import settings as configuration
from chalicelib.core.caches import clear_caches
from chalicelib.core.sealing import SealBroken, master_key, open_sealed, seal


@given(st.binary(max_size=200), st.text(max_size=30))
def test_a_sealed_secret_opens_under_its_context(secret: bytes, context: str) -> None:
    assert open_sealed(seal(secret, context), context) == secret


def test_sealing_twice_gives_different_texts_that_do_not_hold_the_secret() -> None:
    first, second = seal(b"private key", "x"), seal(b"private key", "x")
    assert first != second
    assert b"private" not in first


def test_a_sealed_secret_does_not_open_under_another_context() -> None:
    with pytest.raises(SealBroken):
        open_sealed(seal(b"secret", "dkim/a.test"), "dkim/b.test")


@given(st.integers(0, 8 * 34 - 1))
@settings(max_examples=50)
def test_a_sealed_secret_with_one_bit_changed_does_not_open(bit: int) -> None:
    sealed = bytearray(seal(b"secret", "x"))
    sealed[bit // 8] ^= 1 << bit % 8
    with pytest.raises(SealBroken):
        open_sealed(bytes(sealed), "x")


@pytest.mark.parametrize("length", range(34))
def test_a_sealed_secret_cut_short_does_not_open(length: int) -> None:
    sealed = seal(b"secret", "x")
    assert len(sealed) == 34
    with pytest.raises(SealBroken):
        open_sealed(sealed[:length], "x")


def test_a_secret_sealed_under_another_key_does_not_open(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = seal(b"secret", "x")
    monkeypatch.setenv("SECRET_KEY", base64.b64encode(b"k" * 32).decode())
    clear_caches()
    with pytest.raises(SealBroken):
        open_sealed(sealed, "x")
    monkeypatch.undo()
    clear_caches()


@pytest.mark.parametrize(
    "text", ["", "not base64!", base64.b64encode(b"k" * 16).decode(), "a" * 32]
)
def test_a_secret_key_that_is_not_32_bytes_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", text)
    clear_caches()
    with pytest.raises(ValueError, match=r"SECRET_KEY .*must be"):
        master_key()
    monkeypatch.undo()
    clear_caches()


@pytest.fixture
def kms_key(cloud: None, monkeypatch: pytest.MonkeyPatch) -> str:
    key = boto3.client("kms").create_key()["KeyMetadata"]["KeyId"]
    monkeypatch.setenv("KMS_KEY_ID", key)
    configuration.settings.cache_clear()
    return key


def test_with_a_kms_key_the_key_of_each_secret_is_wrapped_by_kms(kms_key: str) -> None:
    sealed = seal(b"secret", "x")
    wrapped = sealed[2 : 2 + int.from_bytes(sealed[:2], "big")]
    opened = aws.kms().decrypt(CiphertextBlob=wrapped, EncryptionContext={"postfinch": "x"})
    assert len(opened["Plaintext"]) == 32
    assert opened["KeyId"].endswith(kms_key)
    assert open_sealed(sealed, "x") == b"secret"


@pytest.mark.usefixtures("kms_key")
def test_with_a_kms_key_a_secret_may_be_larger_than_kms_takes() -> None:
    secret = bytes(range(256)) * 40
    assert open_sealed(seal(secret, "x"), "x") == secret


@pytest.mark.usefixtures("kms_key")
def test_with_a_kms_key_another_context_or_an_altered_text_does_not_open() -> None:
    sealed = seal(b"secret", "x")
    with pytest.raises(SealBroken):
        open_sealed(sealed, "y")
    with pytest.raises(SealBroken):
        open_sealed(sealed[:-1] + bytes([sealed[-1] ^ 1]), "x")
