"""Verify the DKIM signatures of a message (RFC 6376 6), whose body is read in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from chalicelib.core import dns
from chalicelib.core.dns import TextLookup
from chalicelib.core.spool import Octets
from chalicelib.dkim.signature_check import (
    NEUTRAL,
    PASS,
    Outcome,
    check_signature,
)
from chalicelib.dkim.signature_field import (
    BadField,
    SignatureField,
    field_tags,
    key_name,
    read_signature,
)
from chalicelib.dkim.signed_message import HeaderField, SignedMessage

MOST_SIGNATURES: Final = 5
"""Signatures of a message that are verified: each costs a DNS query and two hashes."""

FIELD: Final = b"dkim-signature"


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature: its domain, its header fields in lower case, and why it is not valid.

    ``result`` is a word of RFC 8601; ``problem`` is empty if it is ``pass``. Of one that cannot be
    read all but these may be empty.
    """

    domain: str
    selector: str
    fields: frozenset[str]
    problem: str
    result: str


def signatures_of(
    message: Octets | SignedMessage, texts: TextLookup = dns.texts, *, is_report: bool = False
) -> Iterator[Signature]:
    """Verify the first signatures of a message with CRLF line ends.

    A report may be signed with a key that is only for TLS reports, and must be signed to its end,
    whatever ``l=`` says (RFC 8460 3).
    """
    if not isinstance(message, SignedMessage):
        message = SignedMessage(message)
    for field in islice(message.fields_with(FIELD), MOST_SIGNATURES):
        yield _verified(message, field, texts, is_report=is_report)


def key_names(fields: Iterable[HeaderField]) -> Iterator[str]:
    """Yield the names of the keys that signatures need, of those that can be read."""
    for field in fields:
        try:
            tags = field_tags(field.value)
        except BadField:
            continue
        if "s" in tags and "d" in tags:
            yield key_name(tags["s"], tags["d"])


def _verified(
    message: SignedMessage, field: HeaderField, texts: TextLookup, *, is_report: bool
) -> Signature:
    tags: dict[str, str] = {}
    try:
        tags = field_tags(field.value)
        signature = read_signature(tags)
    except BadField as error:
        domain, selector = (tags.get(name, "").lower()[:253] for name in ("d", "s"))
        return Signature(domain, selector, frozenset(), str(error), NEUTRAL)
    outcome = check_signature(message, field, signature, texts, is_report=is_report)
    return _signature(signature, outcome)


def _signature(signature: SignatureField, outcome: Outcome) -> Signature:
    fields = frozenset(name.decode("utf-8", "replace") for name in signature.names)
    problem = "" if outcome.result == PASS else outcome.reason
    return Signature(signature.domain, signature.selector, fields, problem, outcome.result)
