"""Read the bodies of ``/ip-pools`` and ``/sending-ips`` (spec 4.7); faults are 400."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Any, Final

from chalicelib.core.errors import bad_request
from chalicelib.core.params import Params
from chalicelib.fleet.model import FIRST_STAGE, LAST_STAGE, IpPool

MOST_NAME: Final = 128

_LONGEST_DOMAIN = 253
_LONGEST_POOL = 300


@dataclass(frozen=True, slots=True)
class PoolFields:
    """The fields of a pool in a body; ``None`` leaves a field, an empty string removes it."""

    name: str | None = None
    signing_domain: str | None = None
    fbl_signing_domain: str | None = None
    auto_warmup_overflow_pool: str | None = None

    def apply(self, pool: IpPool) -> IpPool:
        """Return the pool with these fields."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return replace(pool, **{name: text for name, text in fields.items() if text is not None})


@dataclass(frozen=True, slots=True)
class IpChange:
    """A change of a sending IP; ``None`` leaves a field."""

    ip_pool: str | None = None
    auto_warmup_enabled: bool | None = None
    auto_warmup_stage: int | None = None


def read_pool(body: Any, *, new: bool) -> PoolFields:
    """Read the fields of a pool; a new one has a name. Raises 400 with every fault."""
    params = Params(body)
    fields = PoolFields(
        name=params.text("name", most=MOST_NAME, required=new),
        signing_domain=params.text("signing_domain", most=_LONGEST_DOMAIN, blank=True),
        fbl_signing_domain=params.text("fbl_signing_domain", most=_LONGEST_DOMAIN, blank=True),
        auto_warmup_overflow_pool=params.text(
            "auto_warmup_overflow_pool", most=_LONGEST_POOL, blank=True
        ),
    )
    params.check()
    return fields


def read_ip_change(body: Any) -> IpChange:
    """Read the change of a sending IP; raises 400 with every fault."""
    params = Params(body)
    change = IpChange(
        ip_pool=params.text("ip_pool", most=_LONGEST_POOL),
        auto_warmup_enabled=params.flag("auto_warmup_enabled"),
        auto_warmup_stage=_stage(params, body),
    )
    params.check()
    return change


def read_address(text: str) -> str:
    """Return an IP address in its canonical spelling; raises 400 with a message."""
    try:
        address = ip_address(text)
    except ValueError:
        raise bad_request("external_ip must be a valid IP address") from None
    return str(address)


def _stage(params: Params, body: Mapping[str, Any]) -> int | None:
    name = "auto_warmup_stage"
    value = body.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number or not FIRST_STAGE <= value <= LAST_STAGE:
        params.refuse(name, f"{name} must be a number from {FIRST_STAGE} to {LAST_STAGE}", value)
        return None
    return value
