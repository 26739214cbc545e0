"""Chains of ARC are validated as RFC 8617 wants; dkimpy signs them and is the judge."""

from __future__ import annotations

import re

import dkim
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core.dns import LookupFailed
from chalicelib.dkim.arc import MOST_SETS, ArcChain, chain_of
from chalicelib.dkim.signed_message import SignedMessage
from tests.unit.dkim.signed_mail import MESSAGE, RECORD, SEALERS, seal, sealed, sign


def state_of(message: bytes) -> ArcChain:
    return chain_of(SignedMessage(message), lambda _: [RECORD])


def dkimpy_passes(message: bytes) -> bool:
    try:
        state, _, _ = dkim.arc_verify(message, dnsfunc=lambda *_, **__: RECORD.encode())
    except Exception:  # it raises many kinds of errors on what it cannot read
        return False
    return bool(state == dkim.CV_Pass)


def test_a_message_without_a_chain_has_none() -> None:
    assert state_of(sign()) == ArcChain("none")


@pytest.mark.parametrize("sets", [1, 2, 4])
def test_a_chain_that_dkimpy_made_passes(sets: int) -> None:
    message = sealed(sets)
    assert dkimpy_passes(message)
    assert state_of(message) == ArcChain("pass", "", sets, SEALERS[(sets - 1) % 3], 0)


def test_the_oldest_pass_is_where_the_message_was_changed_last() -> None:
    once = sealed(1).replace(b"works", b"changed")
    message = seal(seal(once, "two.test"), "three.test")
    assert state_of(message) == ArcChain("pass", "", 3, "three.test", 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *((rb"works", b"fails"), (rb"Ann", b"Eve"), (rb"cv=pass", b"cv=none")),
        *((rb"cv=none", b"cv=pass"), (rb"i=2", b"i=3"), (rb"i=1", b"i=0")),
        *((rb"one\.test", b"other.test"), (rb"spf=pass", b"spf=fail"), (rb"cv=pass", b"cv=fail")),
        (rb"(?s)ARC-Seal: i=1.*?\r\n(?! )", b""),
        (rb"(?s)(ARC-Message-Signature: i=2.*?\r\n)(?! )", rb"\1\1"),
        (rb"ARC-Seal: i=2;", b"ARC-Seal: i=2; h=from;"),
        (rb"Message-ID", b"Other-ID"),
    ],
)
def test_dkimpy_agrees_on_chains_that_were_changed(old: bytes, new: bytes) -> None:
    message = re.sub(old, new, sealed(2))
    assert message != sealed(2)
    result = state_of(message)
    assert (result.result, dkimpy_passes(message)) == ("fail", False)
    assert result.reason


def test_a_chain_has_a_largest_number_of_sets() -> None:
    fields = [
        f"ARC-Seal: i={number}; a=rsa-sha256; b=AAAA; cv={state}; d=a.test; s=s\r\n"
        f"ARC-Message-Signature: i={number}\r\nARC-Authentication-Results: i={number}; a.test\r\n"
        for number, state in enumerate(["none", *["pass"] * MOST_SETS], 1)
    ]
    longest = "".join(fields[:MOST_SETS]).encode() + MESSAGE
    assert state_of(longest).reason.startswith("the signature of set 50 cannot be read")
    too_long = "".join(fields).encode() + MESSAGE
    assert state_of(too_long).reason == "there are more than 50 sets"


def test_a_dns_without_an_answer_is_a_temporary_error() -> None:
    def fail(name: str) -> list[str]:
        raise LookupFailed(name, "SERVFAIL")

    assert chain_of(SignedMessage(sealed(1)), fail).result == "temperror"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(b"ax=; :12"))
def test_a_chain_with_one_octet_more_passes_only_if_dkimpy_says_so(place: int, octet: int) -> None:
    message = SEALED
    at = place % len(message)
    changed = message[:at] + bytes([octet]) + message[at:]
    if state_of(changed).result == "pass":
        assert dkimpy_passes(changed)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=100), st.sampled_from([b"ARC-Seal:", b"ARC-Message-Signature: i=1;"]))
def test_any_octets_are_read(value: bytes, name: bytes) -> None:
    assert state_of(name + value + b"\r\n" + sealed(0)).result in ("fail", "none")


SEALED = sealed(2)
