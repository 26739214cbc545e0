"""Verify the DKIM signatures of a message (RFC 6376 6), with dkimpy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
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

_TAG = re.compile(r"(?:^|;)\s*([a-z]+)\s*=\s*([^;]*)")


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature: its domain, its header fields in lower case, and why it is not valid."""

    domain: str
    selector: str
    fields: frozenset[str]
    problem: str


def signatures_of(
    content: bytes,
    headers: Sequence[str],
    texts: TextLookup = dns.texts,
    *,
    is_report: bool = False,
) -> Iterator[Signature]:
    """Verify the first signatures of a message.

    ``headers`` are the values of its DKIM-Signature fields, in their order. A report may be signed
    with a key that is only for TLS reports, and must be signed to its end, whatever ``l=`` says
    (RFC 8460 3).
    """
    for index, value in enumerate(headers[:MOST_SIGNATURES]):
        tags = dict(_TAG.findall(value))
        domain, selector = (tags.get(name, "").strip().lower() for name in "ds")
        fields = frozenset(name.strip().lower() for name in tags.get("h", "").split(":"))
        problem = _problem(content, index, texts, is_report=is_report)
        yield Signature(domain, selector, fields, problem)


def _problem(content: bytes, index: int, texts: TextLookup, *, is_report: bool) -> str:
    # Imported here, because it takes long and few messages need it
    import dkim

    def lookup(name: bytes, timeout: int = 5) -> bytes | None:
        records = texts(name.decode().rstrip("."))
        return records[0].encode() if records and len(records[0]) <= LONGEST_KEY else None

    try:
        is_valid = dkim.DKIM(content, tlsrpt=is_report).verify(idx=index, dnsfunc=lookup)
    except (dkim.DKIMException, dns.LookupFailed, UnicodeError, ValueError) as error:
        return str(error) or type(error).__name__
    return "" if is_valid else "the signature does not match the message"
