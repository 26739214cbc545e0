"""Signatures are verified as RFC 6376 wants; dkimpy is the judge."""

from __future__ import annotations

import re
from base64 import b64encode
from itertools import product

import dkim
import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core import clock
from chalicelib.core.dns import LookupFailed
from chalicelib.dkim.signed_message import LONGEST_HEAD, MOST_FIELDS, SignedMessage
from chalicelib.dkim.verification import MOST_SIGNATURES, Signature, key_names, signatures_of
from tests.unit.dkim.signed_mail import (
    DOMAIN,
    ED25519_RECORD,
    KEY_NAME,
    MESSAGE,
    RECORD,
    SELECTOR,
    sign,
    sign_by_hand,
    texts_of,
)
from tests.unit.linear_time import assert_linear

RELAXED_BODY = b"Hello Bob,\r\n it works.\r\n"
FORMS = list(product((b"simple", b"relaxed"), repeat=2))


def verify(message: bytes, record: str = RECORD) -> Signature:
    (signature,) = signatures_of(message, lambda _: [record])
    return signature


def dkimpy_verifies(message: bytes, record: str = RECORD) -> bool:
    try:
        return bool(dkim.verify(message, dnsfunc=lambda *_, **__: record.encode()))
    except Exception:  # it raises many kinds of errors on what it cannot read
        return False


@pytest.mark.parametrize("form", FORMS)
def test_what_dkimpy_signs_is_valid(form: tuple[bytes, bytes]) -> None:
    signature = verify(sign(canonicalize=form))
    assert (signature.result, signature.problem) == ("pass", "")
    assert (signature.domain, signature.selector) == (DOMAIN, SELECTOR)
    assert "from" in signature.fields


# Changes that matter in some forms, in all, or in none
CHANGES = [
    (b"Hello  Bob", b"Hello Bob"),
    (b"Hello  Bob, \r\n", b"Hello  Bob,\r\n"),
    (b"Hello", b"Hallo"),
    (b"\r\n\r\n\r\n", b"\r\n"),
    (b"a \t folded\r\n  subject", b"a folded subject"),
    (b"Subject: a", b"SUBJECT:a"),
    (b"Subject: a", b"Subject: b"),
    (b"To: bob", b"X: y\r\nTo: bob"),
    (b"To: bob", b"From: eve@other.test\r\nTo: bob"),
    (b"Date:", b"Date: Sun, 1 Jan 2023 10:00:00 +0000\r\nDate:"),
    (b"b=", b"b= "),
    (b"; h=from", b"; H=from"),
    (b"d=sender", b"d=other"),
    (b"\r\n\r\nHello", b"\r\n\r\n\r\nHello"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_dkimpy_agrees_on_messages_that_were_changed(
    form: tuple[bytes, bytes], old: bytes, new: bytes
) -> None:
    message = sign(canonicalize=form)
    assert old in message
    changed = message.replace(old, new)
    assert (verify(changed).result == "pass") is dkimpy_verifies(changed)


TEXTS = [b"a", b" ", b"\t", b"\r\n", b"\r\n", b"b:", b" \r\n", b"\xc3\xbc", b";", b"="]
PIECES = st.lists(st.sampled_from(TEXTS), max_size=25).map(b"".join)
NAMES = st.sampled_from([b"X-A", b"to", b"Cc", b"Subject", b"Reply-To"])


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """Write a message with CRLF line ends, with any folding and blanks."""
    fields = [b"From: ann@sender.test\r\n"]
    for name in draw(st.lists(NAMES, max_size=4)):
        value = draw(PIECES).replace(b"\r\n", b"\r\n x").replace(b"\xc3\xbc", b"u")
        fields.append(name + b": v" + value + b"\r\n")
    return b"".join([*fields, b"\r\n", draw(PIECES), b"\r\n"])


@settings(max_examples=120, deadline=None)
@given(messages(), st.sampled_from(FORMS), st.integers(0, 10_000), st.sampled_from(b"a \r\n:;"))
def test_dkimpy_agrees_on_any_message_with_one_octet_more(
    message: bytes, form: tuple[bytes, bytes], place: int, octet: int
) -> None:
    mail = sign(message, canonicalize=form)
    assert verify(mail).result == "pass"
    at = place % len(mail)
    changed = mail[:at] + bytes([octet]) + mail[at:]
    if changed.count(b"\r\n") != changed.count(b"\n") or changed.count(b"\r") != changed.count(
        b"\n"
    ):
        return  # the relay refuses bare line ends, and dkimpy repairs them
    lines = [field.raw.partition(b":") for field in SignedMessage(changed).fields]
    if not all(name.strip() and colon for name, colon, _ in lines):
        return  # dkimpy refuses a message with a line that is no field
    first = next(signatures_of(changed, lambda _: [RECORD]), None)
    if first and first.result == "pass":
        assert dkimpy_verifies(changed)


def test_ed25519_is_verified() -> None:
    """dkimpy needs another package for it; `test_mailauth` has a judge."""
    message = sign_by_hand({}, RELAXED_BODY)
    assert verify(message, ED25519_RECORD).result == "pass"
    assert verify(message.replace(b"works", b"fails"), ED25519_RECORD).result == "fail"
    assert verify(message.replace(b"Ann", b"Eve"), ED25519_RECORD).result == "fail"
    assert verify(message, RECORD).problem == "the key is of another type than the signature"


def test_the_end_of_a_body_that_is_not_signed_makes_a_signature_not_count() -> None:
    message = sign_by_hand({"l": str(len(RELAXED_BODY))}, RELAXED_BODY)
    assert verify(message, ED25519_RECORD).result == "pass"
    longer = verify(message + b"And send me money.\r\n", ED25519_RECORD)
    assert (longer.result, "not signed" in longer.problem) == ("policy", True)
    cut = message.replace(b"it  works.\r\n", b"")
    assert verify(cut, ED25519_RECORD).result == "fail"


def test_a_signature_that_has_expired_does_not_count() -> None:
    now = int(clock.now())
    for expiry, result in ((now + 100, "pass"), (now - 100, "policy")):
        message = sign_by_hand({"t": str(now - 1000), "x": str(expiry)}, RELAXED_BODY)
        assert verify(message, ED25519_RECORD).result == result


def test_a_field_that_is_signed_once_too_often_cannot_be_added() -> None:
    head = b"from:Ann <ann@sender.test>\r\nsubject:a folded subject\r\n"
    message = sign_by_hand({"h": "from:subject:from:reply-to"}, RELAXED_BODY, head)
    assert verify(message, ED25519_RECORD).result == "pass"
    for field in (b"From: eve@other.test\r\n", b"Reply-To: eve@other.test\r\n"):
        assert verify(field + message, ED25519_RECORD).result == "fail"


def test_a_key_below_its_own_domain_may_be_excluded() -> None:
    message = sign_by_hand({"i": f"@mail.{DOMAIN}"}, RELAXED_BODY)
    assert verify(message, ED25519_RECORD).result == "pass"
    assert verify(message, f"{ED25519_RECORD}; t=y:s").result == "permerror"


@pytest.mark.parametrize(
    ("tags", "result"),
    [
        *(({"v": "2"}, "neutral"), ({"v": ""}, "neutral"), ({"h": "to"}, "neutral")),
        *(({"d": ""}, "neutral"), ({"i": "@other.test"}, "neutral"), ({"l": "-1"}, "neutral")),
        *(({"c": "relaxed/odd"}, "neutral"), ({"x": "soon"}, "neutral"), ({"q": "x"}, "neutral")),
        *(({"a": "rsa-md5"}, "neutral"), ({"a": "rsa-sha1"}, "policy"), ({"bh": "*"}, "neutral")),
        *(
            ({"t": "5", "x": "4"}, "neutral"),
            ({"d": "a b"}, "neutral"),
            ({"d": "d; d=e"}, "neutral"),
        ),
    ],
)
def test_a_signature_with_wrong_tags_is_not_valid(tags: dict[str, str], result: str) -> None:
    signature = verify(sign_by_hand(tags, RELAXED_BODY), ED25519_RECORD)
    assert signature.result == result
    assert signature.problem


@pytest.mark.parametrize(
    ("record", "result"),
    [
        (RECORD.replace("v=DKIM1; ", ""), "pass"),
        (RECORD.replace("; ", " ;\t"), "pass"),
        (RECORD + "; n=hello; t=y; s=email", "pass"),
        (RECORD.replace("v=DKIM1", "v=DKIM2"), "permerror"),
        (RECORD.replace("h=sha256", "h=sha1"), "permerror"),
        (RECORD.replace("k=rsa", "k=dsa"), "permerror"),
        (RECORD + "; s=tlsrpt", "permerror"),
        (RECORD + "; p=x", "permerror"),
        *(("v=DKIM1; p=", "permerror"), ("v=DKIM1; p=AAAA", "permerror"), ("v=spf1", "permerror")),
        (RECORD + "; n=" + "x" * 1500, "permerror"),
    ],
)
def test_the_record_of_the_key_decides(record: str, result: str) -> None:
    assert verify(sign(), record).result == result


def test_of_several_records_the_first_with_a_key_counts() -> None:
    (signature,) = signatures_of(sign(), lambda _: ["v=spf1 -all", RECORD])
    assert signature.result == "pass"


def test_a_short_key_does_not_count() -> None:
    public = generate_private_key(65537, 1024).public_key()
    short = generate_private_key(65537, 1024).public_key()
    der = short.public_bytes(Encoding.DER, PublicFormat.PKCS1)
    assert verify(sign(), f"v=DKIM1; p={b64encode(der).decode()}").result == "fail"
    assert public.key_size == 1024
    # 512 bits, which the library no longer makes
    key = "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu"
    key += "KUpRKfFLfRYC9AIKjbJTWit+CqvjWYzvQwECAwEAAQ=="
    signature = verify(sign(), f"v=DKIM1; p={key}")
    assert (signature.result, signature.problem) == ("policy", "the key has less than 1024 bits")


def test_a_dns_without_an_answer_is_a_temporary_error() -> None:
    def fail(name: str) -> list[str]:
        raise LookupFailed(name, "SERVFAIL")

    (signature,) = signatures_of(sign(), fail)
    assert signature.result == "temperror"


def test_the_key_has_a_name_in_ascii() -> None:
    names: list[str] = []
    message = sign_by_hand({"d": "bücher.test"}, RELAXED_BODY)
    list(signatures_of(message, lambda name: names.append(name) or [ED25519_RECORD]))
    assert names == ["s1._domainkey.xn--bcher-kva.test"]


def test_only_the_first_signatures_are_verified() -> None:
    field, _, rest = sign().partition(b"From:")
    message = field * 3000 + b"From:" + rest
    assert SignedMessage(message).is_too_large
    message = field * (MOST_SIGNATURES + 1) + b"From:" + rest
    signatures = list(signatures_of(message, texts_of()))
    assert [each.result for each in signatures] == ["pass"] * MOST_SIGNATURES
    names = key_names(SignedMessage(message).fields_with(b"dkim-signature"))
    assert set(names) == {KEY_NAME}


def test_a_header_section_has_a_largest_size() -> None:
    assert not SignedMessage(b"a: b\r\n" * MOST_FIELDS + b"\r\n").is_too_large
    assert SignedMessage(b"a: b\r\n" * (MOST_FIELDS + 1) + b"\r\n").is_too_large
    assert SignedMessage(b"a: " + b"x" * LONGEST_HEAD + b"\r\n\r\n").is_too_large
    assert SignedMessage(b"a: " + b"x" * LONGEST_HEAD).is_too_large
    assert not SignedMessage(b"").fields


@pytest.mark.parametrize("unit", [b";", b" ", b"b=", b"\r\n ", b"b =\t", b"h=a:", b"a:", b"="])
def test_reading_a_signature_takes_time_in_proportion(unit: bytes) -> None:
    def read(value: bytes) -> None:
        message = b"DKIM-Signature: v=1;" + value + b"\r\nFrom: a@b.test\r\n\r\nx\r\n"
        list(signatures_of(message, lambda _: [RECORD]))

    assert_linear(read, unit * (200_000 // len(unit)))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.binary(max_size=100))
def test_any_octets_are_read(value: bytes, rest: bytes) -> None:
    for message in (value, b"DKIM-Signature:" + value + b"\r\n" + MESSAGE + rest):
        for signature in signatures_of(message, lambda _: [RECORD]):
            assert re.fullmatch("[a-z]+", signature.result)
            assert signature.result != "pass"
