"""Does a DNS record publish a DKIM key? Spec 2.5 rule 2, RFC 6376 sections 3.2 and 3.6.1."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BLANKS = re.compile(r"\s+")


class BadRecord(ValueError):
    """The record does not publish the key; the text says why."""


def matching(records: Sequence[str], public: str) -> str:
    """Return the one of the TXT records that publishes ``public``; raises :class:`BadRecord`.

    Texts of other purposes at the same name are passed over. Two DKIM records at one name are a
    fault: which of them a verifier takes is not defined (RFC 6376 section 3.6.2.2).
    """
    candidates = [text for text in records if "p" in dict(_pairs(text))]
    if not candidates:
        raise BadRecord(f"'{records[0]}' is missing a p= tag" if records else "no TXT record")
    if len(candidates) > 1:
        raise BadRecord("there are several DKIM records")
    _check(candidates[0], public)
    return candidates[0]


def _check(text: str, public: str) -> None:
    pairs = _pairs(text)
    tags = dict(pairs)
    if len(tags) != len(pairs):
        raise BadRecord("a tag occurs twice")
    if "v" in tags and pairs[0] != ("v", "DKIM1"):
        raise BadRecord("the v= tag must come first and be DKIM1")
    if tags.get("k", "rsa") != "rsa":
        raise BadRecord("the k= tag must be rsa")
    if tags.get("h", "sha256") != "sha256":
        raise BadRecord("the h= tag must be sha256")
    if not {"*", "email"} & {kind.strip() for kind in tags.get("s", "*").split(":")}:
        raise BadRecord("the s= tag does not allow email")
    if not tags["p"]:
        raise BadRecord("the p= tag is empty: the key is revoked")
    if _canonical(tags["p"]) != public:
        raise BadRecord("the p= tag holds another public key")


def _canonical(published: str) -> str:
    from chalicelib.sending_domains.dkim_keys import DkimKeyError, canonical_public

    try:
        return canonical_public(_BLANKS.sub("", published))
    except DkimKeyError as error:
        raise BadRecord(f"the p= tag cannot be used: {error}") from error


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return the tags of a tag list in their order; what is no tag has no name to it."""
    return [
        (name.strip(), value.strip())
        for name, _, value in (part.partition("=") for part in text.split(";") if part.strip())
    ]
