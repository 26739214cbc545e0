"""Where pools and sending IPs are kept.

All that an account has of them is one item: there are few, they are read together to route a
message, and the rules (ids, overflow, where the IPs of a deleted pool go) span them.

Access patterns (table ``config``):

- the fleet of an account → ``pk = account#<id>/ip-pools``, ``sk = fleet``
- the same to route a message → remembered for ``KEY_CACHE_SECONDS``, that there is none as well
- whose a sending IP is → ``pk = sending-ip#<address>``, ``sk = sending-ip``; it is one account's
- IPs whose next stage of warm-up begins → ``core.due``, concern ``ip-warmup``

A change is conditional on the ``revision`` that it was made from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace

from chalicelib.core import config_cache, due, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.due import Due
from chalicelib.core.dynamo import Item, Table, TransactionFailed, Write
from chalicelib.core.errors import Unavailable
from chalicelib.ip_pools.model import Fleet, IpPool, SendingIp
from chalicelib.ip_pools.usable import usable_pool

CONCERN = "ip-warmup"

_config = Table("config")
_ATTEMPTS = 20


class IpTaken(ValueError):
    """The sending IP belongs to an account already."""


def key_of(account_id: int) -> Key:
    """Return where the fleet is kept."""
    return (f"account#{account_id}/ip-pools", "fleet")


def get(account_id: int) -> Fleet:
    """Return the fleet of an account as it is now; it may be empty."""
    return from_item(account_id, _config.get(*key_of(account_id)))


def acting(account_id: int) -> Fleet:
    """Return the fleet of a sender, as remembered."""
    return from_item(account_id, config_cache.read_one(key_of(account_id)))


def exists(account_id: int, pool_id: str) -> bool:
    """Tell whether the account has a pool with this id, in any case."""
    return get(account_id).pool(pool_id) is not None


def check_usable(account_id: int, assigned: str, named: str | None) -> str:
    """Return the id of the pool that a transmission goes by; see :func:`usable.usable_pool`."""
    return usable_pool(acting(account_id), assigned, named)


def change(account_id: int, edit: Callable[[Fleet], Fleet]) -> Fleet:
    """Let ``edit`` make a new fleet of the present one, until nobody came between.

    What ``edit`` raises passes through; raises :class:`IpTaken` if an added IP is not free.
    """
    for _ in range(_ATTEMPTS):
        before = get(account_id)
        after = edit(before)
        if after == before:
            return after
        if _replace(before, after):
            return replace(after, revision=before.revision + 1)
    raise Unavailable


def from_item(account_id: int, item: Item | None) -> Fleet:
    """Return the fleet that an item of the table holds, an empty one for none."""
    if not item:
        return Fleet(account_id)
    return Fleet(
        account_id,
        pools=tuple(IpPool(**each) for each in item["pools"]),
        ips=tuple(SendingIp(**each) for each in item["ips"]),
        revision=item["revision"],
    )


def due_entry(account_id: int, ip: SendingIp) -> Due:
    """Return the entry under which the IP's next stage is due."""
    return Due(CONCERN, ip.advance_ms, f"{account_id}/{ip.external_ip}")


def _replace(before: Fleet, after: Fleet) -> bool:
    owned, wanted = _addresses(before), _addresses(after)
    writes = [
        _put(before, after),
        *(_claim(address, after.account_id) for address in wanted - owned),
        *(dynamo.delete(_config, *_claim_key(address)) for address in owned - wanted),
        *(due.addition(entry) for entry in _dues_only_in(after, before)),
    ]
    try:
        dynamo.transact(writes)
    except TransactionFailed as failure:
        if 0 in failure.failed:
            return False
        raise IpTaken("this sending IP belongs to an account already") from None
    finally:
        config_cache.forget(key_of(after.account_id))
    for entry in _dues_only_in(before, after):
        due.remove(entry)
    return True


def _put(before: Fleet, after: Fleet) -> Write:
    pk, sk = key_of(after.account_id)
    item = {
        "pk": pk,
        "sk": sk,
        "pools": [asdict(pool) for pool in after.pools],
        "ips": [asdict(ip) for ip in after.ips],
        "revision": before.revision + 1,
    }
    if before.revision:
        values = {"seen": before.revision}
        return dynamo.put(_config, item, condition="#revision = :seen", values=values)
    return dynamo.put(_config, item, condition="attribute_not_exists(#pk)")


def _claim(external_ip: str, account_id: int) -> Write:
    pk, sk = _claim_key(external_ip)
    item = {"pk": pk, "sk": sk, "account_id": account_id}
    return dynamo.put(_config, item, condition="attribute_not_exists(#pk)")


def _claim_key(external_ip: str) -> Key:
    return (f"sending-ip#{external_ip}", "sending-ip")


def _addresses(fleet: Fleet) -> set[str]:
    return {ip.external_ip for ip in fleet.ips}


def _dues_only_in(fleet: Fleet, other: Fleet) -> list[Due]:
    known = _dues(other)
    return [entry for entry in _dues(fleet) if entry not in known]


def _dues(fleet: Fleet) -> list[Due]:
    return [due_entry(fleet.account_id, ip) for ip in fleet.ips if ip.advance_ms]
