from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from chalicelib.core import clock
from chalicelib.dkim.key_pair import read_public
from chalicelib.dkim.sealed_key import private_half
from chalicelib.sending_domains.dkim_request import (
    DkimBody,
    changed_key,
    default_selector,
    generated_key,
    imported_key,
)
from chalicelib.sending_domains.model import shown_key
from tests.unit.key_pairs import OTHER, PAIR
from tests.unit.sending_domains.requests import error_of

PKCS1 = (
    load_pem_private_key(PAIR.private_pem.encode(), None)
    .private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    .decode()
)
ENCRYPTED = (
    load_pem_private_key(PAIR.private_pem.encode(), None)
    .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    .decode()
)


def body(**fields: Any) -> DkimBody:
    return DkimBody(**{"private": PAIR.private_pem, "public": PAIR.public_b64} | fields)


@pytest.mark.spec("2.5-r1")
@pytest.mark.spec("2.5-t4")
@pytest.mark.parametrize("private", [PAIR.private_pem, PKCS1])
def test_a_private_key_is_accepted_in_both_forms_and_sealed(private: str) -> None:
    key = imported_key(body(private=private, selector="s1", headers="from:to"), "a.test")
    assert (key.selector, key.signing_domain, key.headers) == ("s1", "a.test", "from:to")
    assert key.public == PAIR.public_b64
    assert private_half(key) == private
    assert private.encode() not in key.sealed_private
    assert "sealed" not in repr(key)


def test_the_public_half_may_be_left_out() -> None:
    assert imported_key(DkimBody(private=PAIR.private_pem), "a.test").public == PAIR.public_b64


def test_fields_left_out_have_defaults() -> None:
    with clock.use(lambda: 1_769_850_000.0):  # 31 January 2026
        key = imported_key(body(), "a.test")
    assert key.selector == "scph0126"
    assert key.headers == "from:to:subject:date"
    assert key.record_name == "scph0126._domainkey.a.test"


@pytest.mark.spec("2.5-r1")
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"private": ""}, "the private key is empty"),
        ({"private": " \n"}, "the private key is empty"),
        ({"public": ""}, "the public key is empty"),
        ({"private": "nonsense"}, "the private key"),
        ({"public": "nonsense"}, "the public key"),
        ({"private": ENCRYPTED}, "the private key is password-protected"),
        ({"public": OTHER.public_b64}, "do not match"),
        ({"selector": ""}, "selector"),
        ({"selector": "two words"}, "selector"),
        ({"selector": "a..b"}, "selector"),
        ({"selector": ".".join(["x" * 60] * 4)}, "too long"),
        ({"selector": "x" * 64}, "too long"),
        ({"headers": "from:bad name"}, "header"),
        ({"headers": "from::to"}, "header"),
        ({"headers": "from" + ":to" * 400}, "headers has more than 1000"),
        ({"signing_domain": "nodot"}, "is no domain"),
        ({"signing_domain": "co.uk"}, "nobody's"),
    ],
)
def test_a_key_that_cannot_be_used_is_refused_with_the_reason(
    fields: dict[str, str], text: str
) -> None:
    error = error_of(lambda: imported_key(body(**fields), "a.test"))
    assert (error["status"], error["code"]) == (422, "1300")
    assert text in error["description"]
    assert PAIR.private_pem[40:80] not in error["description"]


def test_a_public_half_without_a_private_half_is_refused() -> None:
    error = error_of(lambda: imported_key(DkimBody(public=PAIR.public_b64), "a.test"))
    assert (error["status"], error["code"]) == (422, "1400")


@pytest.mark.spec("8-t9")
def test_a_generated_key_has_1024_bits_unless_the_request_says_otherwise() -> None:
    assert read_public(generated_key(DkimBody(), "a.test", None).public).key_size == 1024
    assert read_public(generated_key(DkimBody(), "a.test", 2048).public).key_size == 2048


@pytest.mark.parametrize("bits", [0, -1, 512, 1000, 8192, 2**31 - 1])
def test_other_key_lengths_are_refused(bits: int) -> None:
    error = error_of(lambda: generated_key(DkimBody(), "a.test", bits))
    assert (error["status"], error["code"]) == (422, "1300")
    assert "dkim_key_length" in error["description"]


def test_a_generated_key_has_the_selector_domain_and_headers_of_the_request() -> None:
    request_body = DkimBody(selector="mine", signing_domain="A.Test", headers="from:date")
    key = generated_key(request_body, "mail.a.test", None)
    assert (key.selector, key.signing_domain, key.headers) == ("mine", "a.test", "from:date")


@pytest.mark.parametrize("text", [None, ""])
def test_the_signing_domain_defaults_to_the_domain(text: str | None) -> None:
    assert imported_key(body(signing_domain=text), "mail.a.test").signing_domain == "mail.a.test"


def test_a_changed_key_keeps_the_fields_that_the_request_leaves_out() -> None:
    before = imported_key(
        body(selector="s1", signing_domain="a.test", headers="from:to"), "m.a.test"
    )
    moved = changed_key(before, DkimBody(selector="s2"), "m.a.test")
    assert (moved.selector, moved.signing_domain, moved.headers) == ("s2", "a.test", "from:to")
    assert (moved.public, private_half(moved)) == (before.public, private_half(before))
    renamed = changed_key(before, DkimBody(signing_domain=""), "m.a.test")
    assert (renamed.signing_domain, private_half(renamed)) == ("m.a.test", private_half(before))
    other = DkimBody(private=OTHER.private_pem, public=OTHER.public_b64)
    rekeyed = changed_key(before, other, "m.a.test")
    assert (rekeyed.public, rekeyed.selector) == (OTHER.public_b64, "s1")


def test_sending_back_the_key_that_the_api_showed_changes_nothing() -> None:
    before = imported_key(body(selector="s1"), "a.test")
    after = changed_key(before, DkimBody(**shown_key(before)), "a.test")
    assert (shown_key(after), private_half(after)) == (
        shown_key(before),
        private_half(before),
    )
    other = DkimBody(**{**shown_key(before), "public": OTHER.public_b64})
    assert error_of(lambda: changed_key(before, other, "a.test"))["code"] == "1400"


def test_a_domain_without_a_key_needs_a_private_key() -> None:
    error = error_of(lambda: changed_key(None, DkimBody(selector="s"), "a.test"))
    assert error["code"] == "1400"


def test_the_default_selector_contains_month_and_year() -> None:
    with clock.use(lambda: 0.0):
        assert default_selector() == "scph0170"
