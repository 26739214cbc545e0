"""Check one signature of a message: its key, the hash of the body, that of the head (RFC 6376 6).

A valid signature may still not count: the result is then ``policy`` (RFC 8601 2.7.1).
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, Final, NamedTuple

from chalicelib.core import clock
from chalicelib.core.dns import LookupFailed, TextLookup
from chalicelib.dkim.public_key import BadKey, PublicKey, find_key
from chalicelib.dkim.signature_field import SHA1, SignatureField
from chalicelib.dkim.signed_message import HeaderField, SignedMessage, relaxed_field

PASS: Final = "pass"
FAIL: Final = "fail"
POLICY: Final = "policy"
NEUTRAL: Final = "neutral"
TEMPORARY: Final = "temperror"
PERMANENT: Final = "permerror"

# The value of b=, and blanks around it; the name is that of a tag only behind a semicolon
_B_TAG: Final = re.compile(rb"((?:\A|;)[ \t\r\n]*b[ \t\r\n]*=)[^;]*")
_MAIL_SERVICES: Final = frozenset({"*", "email"})
_REPORT_SERVICES: Final = _MAIL_SERVICES | {"tlsrpt"}


class Outcome(NamedTuple):
    """A result of RFC 8601, and its reason, which is empty for a pass."""

    result: str
    reason: str = ""


class KeyProblem(Exception):
    """The key cannot be had or used."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


def check_signature(
    message: SignedMessage,
    field: HeaderField,
    signature: SignatureField,
    texts: TextLookup,
    *,
    is_report: bool = False,
) -> Outcome:
    """Check the signature in a field. A report has to be signed to its end (RFC 8460 3)."""
    try:
        key = usable_key(signature.key_name, signature.key_type, texts, is_report=is_report)
    except KeyProblem as problem:
        return problem.outcome
    if "s" in key.flags and signature.identity_domain not in ("", signature.domain):
        return Outcome(PERMANENT, "the key is not for a domain below its own")
    length = None if is_report else signature.length
    body = message.hash_body(is_relaxed=signature.is_body_relaxed, length=length)
    if body.digest != signature.body_hash or body.unsigned < 0:
        return Outcome(FAIL, "the body was changed")
    if not key.verifies(signature.signature, _head_digest(message, field, signature)):
        return Outcome(FAIL, "the header was changed, or another key signed it")
    return _acceptance(signature, body.unsigned)


def usable_key(
    name: str, key_type: str, texts: TextLookup, *, is_report: bool = False
) -> PublicKey:
    """Return the key that a signature names; raises :class:`KeyProblem`."""
    if key_type == SHA1:
        raise KeyProblem(Outcome(POLICY, "SHA-1 no longer counts"))
    try:
        key = find_key(texts(name))
    except LookupFailed as error:
        raise KeyProblem(Outcome(TEMPORARY, str(error))) from error
    except BadKey as error:
        raise KeyProblem(Outcome(PERMANENT, f"{error} at {name[:253]}")) from error
    if key.kind != key_type:
        raise KeyProblem(Outcome(PERMANENT, "the key is of another type than the signature"))
    if not key.services & (_REPORT_SERVICES if is_report else _MAIL_SERVICES):
        raise KeyProblem(Outcome(PERMANENT, "the key is not for mail"))
    if key.is_short:
        raise KeyProblem(Outcome(POLICY, "the key has less than 1024 bits"))
    return key


def without_signature(field: HeaderField) -> bytes:
    """Return the value of a field without that of its b= tag (RFC 6376 3.5)."""
    return _B_TAG.sub(rb"\1", field.value, count=1)


def _acceptance(signature: SignatureField, unsigned: int) -> Outcome:
    """Return whether a valid signature counts."""
    if signature.expiry is not None and signature.expiry < clock.now():
        return Outcome(POLICY, "the signature has expired")
    if unsigned:
        return Outcome(POLICY, f"the last {unsigned} octets of the body are not signed")
    return Outcome(PASS)


def _head_digest(
    message: SignedMessage, own_field: HeaderField, signature: SignatureField
) -> bytes:
    """Return the hash of the fields that are signed; same names from the bottom up."""
    is_relaxed = signature.is_head_relaxed
    fields_by_name: dict[bytes, list[HeaderField]] = {}
    for field in message.fields:
        if field is not own_field:
            fields_by_name.setdefault(field.name, []).append(field)
    digest: Any = sha256()
    for name in signature.names:
        if fields := fields_by_name.get(name):
            digest.update(fields.pop().canonical(is_relaxed=is_relaxed))
    value = without_signature(own_field)
    if is_relaxed:
        digest.update(relaxed_field(own_field.name, value).removesuffix(b"\r\n"))
    else:
        digest.update(own_field.raw.partition(b":")[0] + b":" + value)
    return bytes(digest.digest())
