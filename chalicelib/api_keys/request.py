"""Read the fields of a new or changed key, for ``/api-keys`` and ``/subaccounts``.

The two name the fields differently (``grants``, ``key_grants``), also in their errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chalicelib.api_keys import source_ips
from chalicelib.core.errors import Forbidden
from chalicelib.core.params import Params

MOST_LABEL = 256
MOST_ADDRESSES = 100
_MOST_GRANTS = 100


@dataclass(frozen=True, slots=True)
class KeyFields:
    """The fields of a key in a body; ``None`` for those that it leaves out."""

    label: str | None
    grants: list[str] | None
    valid_ips: list[str] | None

    def changes(self) -> dict[str, Any]:
        """Return the fields that the body has, as they are stored."""
        grants = None if self.grants is None else sorted(set(self.grants))
        fields = {"label": self.label, "grants": grants, "valid_ips": self.valid_ips}
        return {name: value for name, value in fields.items() if value is not None}


def read_key(
    params: Params, supported: frozenset[str], *, prefix: str = "", required: bool
) -> KeyFields:
    """Read a key's fields, each named with ``prefix``; faults are noted in ``params``."""
    return KeyFields(
        params.text(f"{prefix}label", most=MOST_LABEL, required=required),
        _grants(params, f"{prefix}grants", supported, required=required),
        _valid_ips(params, f"{prefix}valid_ips"),
    )


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
