"""Check the names and records that a user writes, and bring them into one spelling.

Values are written as in a zone file but unquoted: A ``192.0.2.1``, MX ``10 mail.example.com`` (null
MX ``0 .``), CNAME ``mail.example.com``, TXT the whole text. Errors say which record is wrong and
how.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chalicelib.core.domain_names import in_a_labels
from infrastructure.local.dns.resolver import Records

_LONGEST_NAME = 253
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_LARGEST_PREFERENCE = 65_535


class BadRecord(ValueError):
    """A name or a record cannot be published; the message says why."""


def read_name(text: str) -> str:
    """Return a name in lower case, in A-labels and without its final dot; raises BadRecord."""
    name = (in_a_labels(text) or "").lower().removesuffix(".")
    labels = name.split(".")
    is_name = all(map(_LABEL.fullmatch, labels)) and not labels[-1].isdigit()
    if len(name) > _LONGEST_NAME or not is_name:
        raise BadRecord(f"{text!r} is not a name that can be in the DNS")
    return name


def read_records(body: Any) -> Records:
    """Return the records of ``{"records": [{"type": ..., "value": ...}]}``; raises BadRecord."""
    items = body.get("records") if isinstance(body, Mapping) else None
    if not isinstance(items, list) or not items:
        raise BadRecord("records must be a list of objects with type and value; DELETE removes all")
    records = list(dict.fromkeys(_read(place, item) for place, item in enumerate(items)))
    _check_alias_is_alone(records)
    return records


def _read(place: int, item: Any) -> tuple[str, str]:
    rtype = item.get("type") if isinstance(item, Mapping) else None
    value = item.get("value") if isinstance(item, Mapping) else None
    if not isinstance(rtype, str) or not isinstance(value, str):
        raise BadRecord(f"records[{place}] must have a type and a value, both strings")
    read_value = _VALUES.get(rtype.upper())
    if read_value is None:
        raise BadRecord(f"records[{place}]: the type must be one of {', '.join(_VALUES)}")
    try:
        return rtype.upper(), read_value(value)
    except ValueError as error:
        raise BadRecord(f"records[{place}]: {error}") from None


def _check_alias_is_alone(records: Sequence[tuple[str, str]]) -> None:
    """Raise BadRecord if a name is an alias and something else (RFC 1034 3.6.2)."""
    if len(records) > 1 and any(rtype == "CNAME" for rtype, _ in records):
        raise BadRecord("a name with a CNAME has no other record (RFC 1034)")


def _ipv4(value: str) -> str:
    return str(ipaddress.IPv4Address(value))


def _ipv6(value: str) -> str:
    return str(ipaddress.IPv6Address(value))


def _mail_host(value: str) -> str:
    preference, _, host = value.strip().partition(" ")
    if not (preference.isascii() and preference.isdigit()) or not host:
        raise BadRecord('an MX value is a preference and a host, such as "10 mail.example.com"')
    if len(preference) > 5 or int(preference) > _LARGEST_PREFERENCE:
        raise BadRecord(f"the preference of an MX value is at most {_LARGEST_PREFERENCE}")
    is_null = host.strip() == "."  # the domain takes no mail (RFC 7505)
    return f"{int(preference)} {'.' if is_null else read_name(host.strip())}"


_VALUES: Mapping[str, Callable[[str], str]] = {
    "A": _ipv4,
    "AAAA": _ipv6,
    "CNAME": read_name,
    "MX": _mail_host,
    "NS": read_name,
    "PTR": read_name,
    "TXT": str,
}
