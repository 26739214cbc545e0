"""Read an SPF record (RFC 7208 4.5, 4.6, 5, 6 and 12) in linear time.

The whole record is read before any of it is evaluated: a fault anywhere spoils all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from chalicelib.spf import macros

_VERSION: Final = re.compile(r"v=spf1(?= |\Z)", re.IGNORECASE)
_MODIFIER: Final = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)=(.*)", re.DOTALL)
_MECHANISM: Final = re.compile(r"([+?~-]?)([A-Za-z][A-Za-z0-9_.-]*)(.*)", re.DOTALL)
_CIDR_V4: Final = re.compile(r"/(0|[1-9][0-9]?)\Z")
_CIDR_V6: Final = re.compile(r"//(0|[1-9][0-9]{0,2})\Z")
_LONGEST_PREFIX: Final = {4: 32, 6: 128}
_LONGEST_RECORD: Final = 16_384

RESULTS: Final = {"": "pass", "+": "pass", "-": "fail", "~": "softfail", "?": "neutral"}


class BadRecord(ValueError):
    """The record cannot be evaluated: a permanent error; the text says why."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One mechanism: ``text`` as it is written, ``result`` of a match, and its arguments.

    ``domain`` is a domain-spec, empty for the current domain. ``network`` is that of ip4 and ip6;
    ``prefixes`` are the lengths for IPv4 and IPv6 that a and mx compare.
    """

    text: str
    name: str
    result: str
    domain: str = ""
    network: IPv4Network | IPv6Network | None = None
    prefixes: tuple[int, int] = (32, 128)


@dataclass(frozen=True, slots=True)
class SpfRecord:
    """A record: its mechanisms in order, and two domain-specs that are empty if absent."""

    mechanisms: tuple[Mechanism, ...]
    redirect: str = ""
    explanation: str = ""


def select(texts: Iterable[str]) -> str | None:
    """Return the SPF record among the TXT records of a name, ``None`` without one.

    Raises :class:`BadRecord` for several (RFC 7208 4.5).
    """
    records = [text for text in texts if _VERSION.match(text)]
    if len(records) > 1:
        raise BadRecord("there are several SPF records")
    return records[0] if records else None


def read(text: str) -> SpfRecord:
    """Read a record; raises :class:`BadRecord`."""
    if not text.isascii() or len(text) > _LONGEST_RECORD:
        raise BadRecord("the record is not ASCII, or too long")
    mechanisms: list[Mechanism] = []
    modifiers: dict[str, str] = {}
    for term in filter(None, text[len("v=spf1") :].split(" ")):
        modifier = _MODIFIER.fullmatch(term)
        if modifier:
            _read_modifier(modifier[1].lower(), modifier[2], modifiers)
        else:
            mechanisms.append(_read_mechanism(term))
    return SpfRecord(tuple(mechanisms), modifiers.get("redirect", ""), modifiers.get("exp", ""))


def _read_modifier(name: str, value: str, modifiers: dict[str, str]) -> None:
    if name not in ("redirect", "exp"):
        if not macros.is_macro_string(value):
            raise BadRecord(f"the modifier {name[:40]} has a wrong value")
        return
    if name in modifiers:
        raise BadRecord(f"the modifier {name} occurs twice")
    modifiers[name] = _domain_spec(value)


def _read_mechanism(term: str) -> Mechanism:
    match = _MECHANISM.fullmatch(term)
    if not match:
        raise BadRecord(f"{term[:80]!r} is no term")
    result, name, rest = RESULTS[match[1]], match[2].lower(), match[3]
    if name == "all" and not rest:
        return Mechanism(term, name, result)
    if name in ("include", "exists") and rest.startswith(":"):
        return Mechanism(term, name, result, _domain_spec(rest[1:]))
    if name == "ptr" and (not rest or rest.startswith(":")):
        return Mechanism(term, name, result, _domain_spec(rest[1:]) if rest else "")
    if name in ("ip4", "ip6") and rest.startswith(":"):
        return Mechanism(term, name, result, network=_network(rest[1:], int(name[2])))
    if name in ("a", "mx"):
        rest, prefixes = _prefixes(rest)
        if not rest or rest.startswith(":"):
            domain = _domain_spec(rest[1:]) if rest else ""
            return Mechanism(term, name, result, domain, prefixes=prefixes)
    raise BadRecord(f"{term[:80]!r} is no mechanism")


def _domain_spec(text: str) -> str:
    if not macros.is_domain_spec(text):
        raise BadRecord(f"{text[:80]!r} is no domain")
    return text


def _network(text: str, version: int) -> IPv4Network | IPv6Network:
    address, slash, length = text.partition("/")
    longest = _LONGEST_PREFIX[version]
    if slash and not (re.fullmatch("0|[1-9][0-9]{0,2}", length) and int(length) <= longest):
        raise BadRecord(f"{text[:80]!r} has a wrong prefix length")
    try:
        network = ip_network(f"{address}/{length or longest}", strict=False)
    except ValueError:
        raise BadRecord(f"{text[:80]!r} is no address") from None
    if network.version != version or "%" in address:
        raise BadRecord(f"{text[:80]!r} is no address of IPv{version}")
    return network


def _prefixes(rest: str) -> tuple[str, tuple[int, int]]:
    """Return what is before the prefix lengths of a or mx, and both lengths."""
    lengths = dict(_LONGEST_PREFIX)
    for version, pattern in ((6, _CIDR_V6), (4, _CIDR_V4)):
        if match := pattern.search(rest[-5:]):
            rest = rest[: -len(match[0])]
            lengths[version] = int(match[1])
    if any(lengths[version] > longest for version, longest in _LONGEST_PREFIX.items()):
        raise BadRecord("a prefix is longer than an address")
    return rest, (lengths[4], lengths[6])
