"""Verify the DKIM signatures of a message (RFC 6376 6), with dkimpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from chalicelib.core import dns

MOST_SIGNATURES = 5
"""Signatures of a message that are verified: each costs a DNS query and two hashes."""

TextLookup = Callable[[str], list[str]]
"""Returns the TXT records of a name."""

LONGEST_KEY = 1_500
"""Characters of a key record that is used: more than a key of 8192 bits has.

Whoever signs chooses the key, and the time to use it grows with the cube of its length.
"""


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature: its domain, its header fields in lower case, and why it is not valid.

    Of one that cannot be read all but the problem is empty.
    """

    domain: str
    selector: str
    fields: frozenset[str]
    problem: str


def signatures_of(
    content: bytes, count: int, texts: TextLookup = dns.texts, *, is_report: bool = False
) -> Iterator[Signature]:
    """Verify the first signatures of a message that has ``count`` DKIM-Signature fields.

    A report may be signed with a key that is only for TLS reports, and must be signed to its end,
    whatever ``l=`` says (RFC 8460 3).
    """
    for index in range(min(count, MOST_SIGNATURES)):
        yield _verified(content, index, texts, is_report=is_report)


def _verified(content: bytes, index: int, texts: TextLookup, *, is_report: bool) -> Signature:
    # Imported here, because it takes long and few messages need it
    import dkim

    def lookup(name: bytes, timeout: int = 5) -> bytes | None:
        # Beyond ASCII, the name that is asked for and the one that counts could differ
        records = texts(name.decode("ascii").rstrip("."))
        return records[0].encode() if records and len(records[0]) <= LONGEST_KEY else None

    tags: dict[bytes, bytes] = {}
    try:
        message = dkim.DKIM(content, tlsrpt=is_report)
        try:
            is_valid = message.verify(idx=index, dnsfunc=lookup)
        finally:
            # As they were verified: another reader could see another domain in the same bytes
            tags = message.signature_fields
    except Exception as error:  # strangers wrote what it reads, so it may raise anything
        problem = str(error) or type(error).__name__
    else:
        problem = "" if is_valid else "the signature does not match the message"
    domain, selector = (_text(tags, name).lower() for name in (b"d", b"s"))
    fields = frozenset(name.strip().lower() for name in _text(tags, b"h").split(":"))
    return Signature(domain, selector, fields, problem)


def _text(tags: Mapping[bytes, bytes], name: bytes) -> str:
    return tags.get(name, b"").decode("ascii", "replace")
