"""Write the DNS record that publishes a DKIM key, and judge the records found in its place.

Spec 2.5 rule 2; RFC 6376 sections 3.2 and 3.6.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_BLANKS = re.compile(r"\s+")


class BadRecord(ValueError):
    """The record does not publish the key; the text says why."""


def txt_record(public: str) -> str:
    """Return the DNS TXT text that publishes a public key.

    The text of a key of more than 1024 bits is longer than 255 bytes, so it has to be published as
    several strings.
    """
    from chalicelib.dkim.key_pair import canonical_public

    return f"v=DKIM1; k=rsa; h=sha256; p={canonical_public(public)}"


def matching_record(records: Sequence[str], public: str) -> str:
    """Return the TXT record that publishes ``public``; raises :class:`BadRecord`.

    Texts with another purpose at the same name are ignored. Two DKIM records at one name are an
    error, because RFC 6376 section 3.6.2.2 does not define which of them a verifier takes.
    """
    candidates = [text for text in records if "p" in dict(_tag_pairs(text))]
    if not candidates:
        raise BadRecord(f"'{records[0]}' is missing a p= tag" if records else "no TXT record")
    if len(candidates) > 1:
        raise BadRecord("there are several DKIM records")
    _check(candidates[0], public)
    return candidates[0]


def _check(text: str, public: str) -> None:
    pairs = _tag_pairs(text)
    tags = dict(pairs)
    if len(tags) != len(pairs):
        raise BadRecord("a tag occurs twice")
    if "v" in tags and pairs[0] != ("v", "DKIM1"):
        raise BadRecord("the v= tag must come first and be DKIM1")
    if tags.get("k", "rsa") != "rsa":
        raise BadRecord("the k= tag must be rsa")
    if tags.get("h", "sha256") != "sha256":
        raise BadRecord("the h= tag must be sha256")
    if not {"*", "email"} & {service.strip() for service in tags.get("s", "*").split(":")}:
        raise BadRecord("the s= tag does not allow email")
    if not tags["p"]:
        raise BadRecord("the p= tag is empty: the key is revoked")
    if _published_key(tags["p"]) != public:
        raise BadRecord("the p= tag holds another public key")


def _published_key(tag: str) -> str:
    from chalicelib.dkim.key_pair import DkimKeyError, canonical_public

    try:
        return canonical_public(_BLANKS.sub("", tag))
    except DkimKeyError as error:
        raise BadRecord(f"the p= tag cannot be used: {error}") from error


def _tag_pairs(text: str) -> list[tuple[str, str]]:
    """Return the names and values of a tag list in order; text without ``=`` is a name alone."""
    return [
        (name.strip(), value.strip())
        for name, _, value in (part.partition("=") for part in text.split(";") if part.strip())
    ]
