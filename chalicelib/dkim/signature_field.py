"""Read a DKIM-Signature or an ARC-Message-Signature (RFC 6376 3.5, RFC 8617 4.1.2)."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from chalicelib.core.domain_names import in_a_labels, is_within
from chalicelib.dkim.tag_list import BadTagList, read_tags, without_blanks

DKIM_TAGS: Final = ("v", "a", "b", "bh", "d", "h", "s")
MESSAGE_TAGS: Final = ("i", "a", "b", "bh", "d", "h", "s")
"""Tags that a DKIM-Signature, and an ARC-Message-Signature, must have."""

SHA1: Final = "rsa-sha1"
_ALGORITHMS: Final = {"rsa-sha256": "rsa", "ed25519-sha256": "ed25519", SHA1: SHA1}
_FORMS: Final = {"simple": False, "relaxed": True}
_NUMBER: Final = re.compile("[0-9]{1,76}")
_TIME: Final = re.compile("[0-9]{1,12}")
_NAME: Final = re.compile(r"[^\s;:@<>()\[\]\\,\"]{1,253}")


class BadField(ValueError):
    """The field cannot be read as a signature; the text says why."""


@dataclass(frozen=True, slots=True)
class SignatureField:
    """What a signature says of itself.

    ``key_type`` is rsa, ed25519, or ``SHA1`` for what no longer counts. ``names`` are the header
    fields in lower case. ``length`` is l=, ``is_head_relaxed`` and ``is_body_relaxed`` are c=.
    ``identity_domain`` is the domain of i=. ``expiry`` is in seconds, ``None`` if absent.
    """

    domain: str
    selector: str
    key_type: str
    signature: bytes
    body_hash: bytes
    names: tuple[bytes, ...]
    is_head_relaxed: bool
    is_body_relaxed: bool
    length: int | None
    identity_domain: str
    expiry: int | None

    @property
    def key_name(self) -> str:
        """Return the name of the record with the key."""
        return key_name(self.selector, self.domain)


def key_name(selector: str, domain: str) -> str:
    """Return the name of the record with a key (RFC 6376 3.6.2.1), in A-labels (RFC 8616)."""
    name = f"{selector}._domainkey.{domain}"
    return in_a_labels(name) or name


def field_tags(value: bytes) -> dict[str, str]:
    """Return the tags of a field; raises :class:`BadField`."""
    try:
        return read_tags(value.decode())
    except BadTagList as error:
        raise BadField(str(error)) from None
    except UnicodeDecodeError:
        raise BadField("it is not UTF-8") from None


def read_signature(tags: Mapping[str, str]) -> SignatureField:
    """Read the tags of a DKIM-Signature; raises :class:`BadField`."""
    require(tags, DKIM_TAGS)
    if tags["v"] != "1":
        raise BadField("the version is not 1")
    signature = _read(tags, _identity_domain(tags))
    if not is_within(signature.identity_domain, signature.domain):
        raise BadField("the domain of i= is not within that of d=")
    return signature


def read_message_signature(tags: Mapping[str, str]) -> SignatureField:
    """Read the tags of an ARC-Message-Signature; raises :class:`BadField`."""
    require(tags, MESSAGE_TAGS)
    signature = _read({"c": "relaxed/relaxed", **tags}, "")
    if b"arc-seal" in signature.names:
        raise BadField("it signs an ARC-Seal")
    return signature


def require(tags: Mapping[str, str], names: tuple[str, ...]) -> None:
    """Raise :class:`BadField` unless there are tags with these names."""
    if missing := [name for name in names if name not in tags]:
        raise BadField(f"the tag {missing[0]} is missing")


def read_domain(tags: Mapping[str, str], name: str) -> str:
    """Return a domain or selector in lower case; raises :class:`BadField`."""
    if not _NAME.fullmatch(tags[name]):
        raise BadField(f"{name}= is no domain name")
    return tags[name].lower()


def read_algorithm(tags: Mapping[str, str]) -> str:
    """Return the type of key that an algorithm needs; raises :class:`BadField`."""
    if tags["a"] not in _ALGORITHMS:
        raise BadField(f"the algorithm {tags['a'][:40]!r} is unknown")
    return _ALGORITHMS[tags["a"]]


def read_base64(tags: Mapping[str, str], name: str) -> bytes:
    """Return the octets of a tag in base64; raises :class:`BadField`."""
    try:
        octets = a2b_base64(without_blanks(tags[name]), strict_mode=True)
    except ValueError:
        octets = b""
    if not octets:
        raise BadField(f"{name}= is not base64")
    return octets


def _read(tags: Mapping[str, str], identity_domain: str) -> SignatureField:
    names = tuple(name.strip().lower().encode() for name in tags["h"].split(":"))
    if b"from" not in names:
        raise BadField("it does not sign From")
    if "dns/txt" not in (method.strip() for method in tags.get("q", "dns/txt").split(":")):
        raise BadField("the key is not in the DNS")
    head, _, body = tags.get("c", "simple").partition("/")
    if head not in _FORMS or (body or "simple") not in _FORMS:
        raise BadField("the canonicalization is unknown")
    made_at, expiry = (_number(tags, name, _TIME) for name in ("t", "x"))
    if made_at is not None and expiry is not None and expiry < made_at:
        raise BadField("it expired before it was made")
    return SignatureField(
        read_domain(tags, "d"),
        read_domain(tags, "s"),
        read_algorithm(tags),
        read_base64(tags, "b"),
        read_base64(tags, "bh"),
        names,
        _FORMS[head],
        _FORMS[body or "simple"],
        _number(tags, "l", _NUMBER),
        identity_domain,
        expiry,
    )


def _identity_domain(tags: Mapping[str, str]) -> str:
    return (tags["i"].rpartition("@")[2] if "i" in tags else tags["d"]).lower()


def _number(tags: Mapping[str, str], name: str, pattern: re.Pattern[str]) -> int | None:
    if name not in tags:
        return None
    if not pattern.fullmatch(tags[name]):
        raise BadField(f"{name}= is no number")
    return int(tags[name])
