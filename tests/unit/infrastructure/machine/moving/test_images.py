from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.sealing import SealBroken, Sealer
from infrastructure.machine.moving.images import (
    digest_of,
    from_text,
    image_of,
    sealed,
    text_of,
)
from infrastructure.machine.moving.kinds import Kind

ROOT = Path(__file__).parents[5]
ONE, OTHER = Sealer(b"1" * 32), Sealer(b"2" * 32)
VALUES: Any = st.recursive(
    st.one_of(
        st.text().map(lambda text: {"S": text}),
        st.integers(-99, 99).map(lambda number: {"N": str(number)}),
        st.binary().map(lambda content: {"B": content}),
        st.booleans().map(lambda flag: {"BOOL": flag}),
        st.just({"NULL": True}),
        st.sets(st.text(), min_size=1).map(lambda each: {"SS": sorted(each)}),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: {"L": each}),
        st.dictionaries(st.sampled_from(["S", "N", "B", "x"]), inner, max_size=2).map(
            lambda each: {"M": each}
        ),
    ),
    max_leaves=5,
)
ITEMS = st.dictionaries(st.sampled_from(["S", "N", "name"]), VALUES)


@given(ITEMS)
def test_an_image_comes_back_from_its_text(image: Any) -> None:
    assert from_text(text_of(image)) == image


@pytest.mark.parametrize(("one", "other"), [("1", "1.0"), ("100", "1E+2"), ("0", "0.00")])
def test_a_number_is_the_same_in_each_form(one: str, other: str) -> None:
    key = b"key"
    assert digest_of({"a": {"N": one}}, key) == digest_of({"a": {"N": other}}, key)
    assert digest_of({"a": {"N": one}}, key) != digest_of({"a": {"N": "7"}}, key)
    assert digest_of({"a": {"N": one}}, key) != digest_of({"a": {"N": one}}, b"other")


def webhook(sealer: Sealer) -> Any:
    secret = sealer.seal(b"password", "webhook/w1")
    return {"pk": {"S": "webhooks#1"}, "sk": {"S": "w1"}, "sealed": {"B": secret}}


def test_secrets_under_different_keys_have_the_same_image() -> None:
    images = [image_of("config", Kind.PLAIN, webhook(each), each) for each in (ONE, OTHER)]
    assert images[0] == images[1]
    assert images[0]["sealed"] == {"B": b"password"}
    item = sealed("config", images[0], OTHER)
    assert OTHER.open(item["sealed"]["B"], "webhook/w1") == b"password"


def test_the_secrets_of_an_authenticator_get_the_targets_key() -> None:
    user = {"pk": {"S": "user#u1"}, "sk": {"S": "user"}, "id": {"S": "u1"}}
    secrets = {"totp": {"B": ONE.seal(b"secret", "user#u1")}, "totp_pending": {"B": b""}}
    image = image_of("config", Kind.PLAIN, user | secrets, ONE)
    assert (image["totp"], image["totp_pending"]) == ({"B": b"secret"}, {"B": b""})
    item = sealed("config", image, OTHER)
    assert OTHER.open(item["totp"]["B"], "user#u1") == b"secret"
    assert item["totp_pending"] == {"B": b""}
    with pytest.raises(SealBroken):
        image_of("config", Kind.PLAIN, user | secrets, OTHER)


def test_a_secret_of_another_key_is_noticed() -> None:
    with pytest.raises(SealBroken):
        image_of("config", Kind.PLAIN, webhook(ONE), OTHER)


def test_every_module_that_seals_is_known_here() -> None:
    """A new kind of sealed attribute must be opened and sealed by ``images`` as well."""
    modules = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "chalicelib").rglob("*.py")
        if re.search(r"\bsealing\.seal\(", path.read_text(encoding="utf-8"))
    }
    assert modules == {
        "chalicelib/dkim/sealed_key.py",
        "chalicelib/users/totp.py",
        "chalicelib/webhooks/credentials.py",
        "chalicelib/webhooks/store/tokens.py",
    }
