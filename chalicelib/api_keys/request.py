"""Read the fields of a new or changed key, for ``/api-keys`` and ``/subaccounts``, and a filter.

The two name the fields differently (``grants``, ``key_grants``), also in their errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from chalicelib.api_keys import source_ips
from chalicelib.api_keys.model import ApiKey
from chalicelib.core import clock
from chalicelib.core.errors import Forbidden
from chalicelib.core.params import Params
from chalicelib.core.query import Query

MOST_LABEL = 256
MOST_ADDRESSES = 100
_MOST_GRANTS = 100
_MOST_TIME = 64
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class KeyFields:
    """The fields of a key in a body; ``None`` for those that it leaves out.

    ``removes_end`` tells whether the body holds null as the end, rather than leaving it out.
    """

    label: str | None
    grants: list[str] | None
    valid_ips: list[str] | None
    expires_ms: int | None
    removes_end: bool

    def changes(self) -> dict[str, Any]:
        """Return the fields that the body has, as they are stored."""
        grants = None if self.grants is None else sorted(set(self.grants))
        fields = {
            "label": self.label,
            "grants": grants,
            "valid_ips": self.valid_ips,
            "expires_ms": self.expires_ms,
        }
        changes = {name: value for name, value in fields.items() if value is not None}
        return changes | ({"expires_ms": None} if self.removes_end else {})


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """Which keys a list shows; ``None`` and an empty ``label`` leave none out.

    ``label`` is a part of the label, in any case. A key without an end never expires before a time;
    one that was never used was last used before any.
    """

    label: str
    expires_before: int | None
    last_used_before: int | None

    def admits(self, key: ApiKey) -> bool:
        """Tell whether the list shows ``key``."""
        if self.label not in key.label.casefold():
            return False
        if self.expires_before is not None and not key.has_expired(self.expires_before - 1):
            return False
        return self.last_used_before is None or (key.last_used or 0) * 1000 < self.last_used_before


def read_key(
    params: Params, supported: frozenset[str], *, prefix: str = "", required: bool
) -> KeyFields:
    """Read a key's fields, each named with ``prefix``; faults are noted in ``params``."""
    return KeyFields(
        params.text(f"{prefix}label", most=MOST_LABEL, required=required),
        _grants(params, f"{prefix}grants", supported, required=required),
        _valid_ips(params, f"{prefix}valid_ips"),
        _end(params, f"{prefix}expires_at"),
        params.is_null(f"{prefix}expires_at"),
    )


def read_filter(query: Query) -> KeyFilter:
    """Read which keys a list shows; raises 400 with every fault."""
    params = Params(query)
    label = params.text("label", most=MOST_LABEL, blank=True) or ""
    filters = KeyFilter(
        label.casefold(),
        _time_ms(params, "expires_before"),
        _time_ms(params, "last_used_before"),
    )
    params.check()
    return filters


def check_grants(grants: list[str] | None, own_grants: frozenset[str]) -> None:
    """Raise 403 if a caller would give a key grants that it does not hold itself."""
    beyond = sorted(set(grants or ()) - own_grants)
    if beyond:
        raise Forbidden(f"the API key does not hold what it would give: {', '.join(beyond)}")


def _grants(
    params: Params, name: str, supported: frozenset[str], *, required: bool
) -> list[str] | None:
    grants = params.texts(name, most=_MOST_GRANTS, required=required)
    for grant in grants or ():
        if grant not in supported:
            params.refuse(name, f"{name} has an unsupported value", grant)
    return grants


def _valid_ips(params: Params, name: str) -> list[str] | None:
    addresses = params.texts(name, most=MOST_ADDRESSES, blank=True)
    for address in addresses or ():
        if not source_ips.is_network(address):
            params.refuse(name, f"{name} has an invalid address or netmask", address)
    return addresses


def _end(params: Params, name: str) -> int | None:
    """Read when a key ends, in milliseconds: a time that is still to come."""
    end = _time_ms(params, name)
    if end is not None and end <= clock.now_ms():
        params.refuse(name, f"{name} must be in the future", clock.iso_ms(end))
    return end


def _time_ms(params: Params, name: str) -> int | None:
    """Read an ISO 8601 date and time with an offset, in milliseconds.

    A ``+`` that stands in a query as it is arrives as a blank.
    """
    text = params.text(name, most=_MOST_TIME)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
        if moment.tzinfo is None:
            raise ValueError(text)
        return (moment.astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        example = "a date and time with an offset, such as 2026-01-31T09:05:00Z"
        params.refuse(name, f"{name} must be {example}", text)
        return None
