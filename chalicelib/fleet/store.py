"""Store the fleets of accounts: their pools and sending IPs.

A fleet is one item: it is small, routing reads all of it, and its rules (ids, overflow, where the
IPs of a deleted pool go) concern all of it. A change is conditional on the ``revision`` that it
was made from. A sending IP belongs to one account at a time: each has an item that names its
account, written in the same transaction.

Access patterns of ``config``:

- the fleet of an account → ``account#<account>/ip-pools`` / ``fleet`` (to route a message it is
  cached for ``KEY_CACHE_SECONDS``, even if there is none)
- the account of a sending IP → ``sending-ip#<address>`` / ``sending-ip``
- the messages that a warming IP was allowed to send on a day → ``warmup#<address>`` / ``<day>``
- the same on each of the last 60 days → ``warmup#<address>`` / ``*``
- the IPs whose next stage of warm-up begins → ``due#ip-warmup`` / ``<ms>#<account>/<address>``
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, NotRequired

from chalicelib.core import audit, config_cache, due, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.due import Due
from chalicelib.core.dynamo import ConditionFailed, Keyed, Table, TransactionFailed, Write
from chalicelib.core.errors import bad_request
from chalicelib.core.owner_keys import account_partition
from chalicelib.core.scope import PRIMARY
from chalicelib.fleet.model import Fleet, IpPool, SendingIp, WarmupDay, shown_ip, shown_pool

CONCERN = "ip-warmup"
HISTORY_DAYS = 60

_DAY = 86_400


class FleetItem(Keyed):
    """The fleet of an account."""

    #: The fields of ``IpPool``
    pools: list[dict[str, Any]]
    #: The fields of ``SendingIp``
    ips: list[dict[str, Any]]
    revision: int


class SendingIpItem(Keyed):
    """The account that a sending IP belongs to."""

    account_id: int


class WarmupItem(Keyed):
    """The messages that a warming IP was allowed to send on a day."""

    #: How many
    given: int
    #: The stage of the warm-up on that day
    stage: int
    account_id: NotRequired[int]
    expires: int


_config: Table[FleetItem] = Table("config")
_sending_ips: Table[SendingIpItem] = Table("config")
_warmup: Table[WarmupItem] = Table("config")


class IpTaken(ValueError):
    """The sending IP belongs to an account already."""


def key_of(account_id: int) -> Key:
    """Return the key of an account's fleet."""
    return (account_partition(account_id, "ip-pools"), "fleet")


def get(account_id: int) -> Fleet:
    """Return the fleet of an account as it is now; it may be empty."""
    return from_item(account_id, _config.get(*key_of(account_id)))


def get_cached(account_id: int) -> Fleet:
    """Return the fleet of an account from the config cache; it may be empty."""
    return from_item(account_id, config_cache.read_one(key_of(account_id)))


def exists(account_id: int, pool_id: str) -> bool:
    """Tell whether the account has a pool with this id, in any case."""
    return get(account_id).pool(pool_id) is not None


def naming(account_id: int, pool_id: str) -> list[Write]:
    """Return what belongs into the transaction that makes a record name a pool; raises 400.

    It fails if the fleet has changed since this call, as by the deletion of the pool.
    """
    fleet = get(account_id)
    if fleet.pool(pool_id) is None:
        raise bad_request(f"pool {pool_id} does not exist")
    if not fleet.revision:
        return []  # only the default pool, which nobody can delete
    values = {"next": fleet.revision + 1, "revision": fleet.revision}
    return [
        dynamo.update(
            _config,
            *key_of(account_id),
            "SET #revision = :next",
            values=values,
            condition="#revision = :revision",
        )
    ]


def change(
    account_id: int,
    edit: Callable[[Fleet], Fleet],
    also: Callable[[], Sequence[Write]] = tuple,
    line: Callable[[Fleet, Fleet], Sequence[Write]] = lambda before, after: (),
) -> Fleet:
    """Change the fleet of an account by ``edit``, with the writes ``also``, and return it.

    ``line`` gets the fleet before and after, and returns the line of the audit log about them. All
    three may be called again if another writer changes something meanwhile; what they raise passes
    through. Raises :class:`IpTaken` if an added IP belongs to an account, and 503 when other
    writers come first every time.
    """

    def next_revision(before: Fleet) -> Fleet:
        after = edit(before)
        return after if after == before else replace(after, revision=before.revision + 1)

    def write(before: Fleet, after: Fleet) -> None:
        _replace(before, after, also(), line(before, after))

    fleet = dynamo.update_record(lambda: get(account_id), next_revision, write)
    assert fleet is not None  # an account without a record has an empty fleet
    return fleet


def pool_line(before: Fleet, after: Fleet, pool_id: str) -> list[Write]:
    """Return the line of the audit log about a change of a pool."""
    former, present = shown_pool(before, pool_id), shown_pool(after, pool_id)
    return audit.change_line(pool_id, former, present, resource="ip-pools", subaccount_id=PRIMARY)


def ip_line(before: Fleet, after: Fleet, external_ip: str) -> list[Write]:
    """Return the line of the audit log about a change of a sending IP."""
    former, present = shown_ip(before, external_ip), shown_ip(after, external_ip)
    return audit.change_line(
        external_ip, former, present, resource="sending-ips", subaccount_id=PRIMARY
    )


def from_item(account_id: int, item: FleetItem | None) -> Fleet:
    """Return the fleet that an item of the table holds; without an item, an empty fleet."""
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


def count_allowance(
    account_id: int, ip: SendingIp, day: int, count: int, volume: int
) -> int | None:
    """Add to the messages that a warming IP may send on a day, and return the sum.

    Returns ``None``, and adds nothing, if the sum has reached ``volume``.
    """
    try:
        item = _warmup.update(
            *_allowance_key(ip.external_ip, day),
            "SET #expires = :expires, #stage = :stage, #account_id = :account ADD #given :count",
            values={
                "expires": (day + HISTORY_DAYS + 1) * _DAY,
                "stage": ip.auto_warmup_stage,
                "account": account_id,
                "count": count,
                "volume": volume,
            },
            condition="attribute_not_exists(#given) OR #given < :volume",
        )
    except ConditionFailed:
        return None
    return int(item["given"])


def warmup_days(account_id: int, external_ip: str) -> list[WarmupDay]:
    """Return the latest days on which an IP warmed up for an account, the newest first.

    An account that had the IP before has its own days.
    """
    pk, _ = _allowance_key(external_ip, 0)
    page = _warmup.query("#pk = :pk", {"pk": pk}, newest_first=True, limit=HISTORY_DAYS)
    return [
        WarmupDay(int(item["sk"]), item["stage"], item["given"])
        for item in page.items
        if item.get("account_id") == account_id
    ]


def has_allowance(external_ip: str, day: int) -> bool:
    """Tell whether a warming IP was allowed to send anything on a day."""
    return _warmup.get(*_allowance_key(external_ip, day)) is not None


def _replace(before: Fleet, after: Fleet, also: Sequence[Write], line: Sequence[Write]) -> None:
    old, new = _addresses(before), _addresses(after)
    conditional = [_put(before, after), *also]
    writes = [
        *conditional,
        *(_claim(address, after.account_id) for address in new - old),
        *(dynamo.delete(_sending_ips, *_claim_key(address)) for address in old - new),
        *(due.addition(entry) for entry in _due_only_in(after, before)),
        *line,
    ]
    try:
        dynamo.transact(writes)
    except TransactionFailed as failure:
        if min(failure.failed) < len(conditional):
            raise
        raise IpTaken("this sending IP belongs to an account already") from None
    finally:
        config_cache.forget(key_of(after.account_id))
    for entry in _due_only_in(before, after):
        due.remove(entry)


def _put(before: Fleet, after: Fleet) -> Write:
    pk, sk = key_of(after.account_id)
    item: FleetItem = {
        "pk": pk,
        "sk": sk,
        "pools": [asdict(pool) for pool in after.pools],
        "ips": [asdict(ip) for ip in after.ips],
        "revision": after.revision,
    }
    return dynamo.put(_config, item, **dynamo.if_unchanged("revision", before.revision or None))


def _claim(external_ip: str, account_id: int) -> Write:
    pk, sk = _claim_key(external_ip)
    item: SendingIpItem = {"pk": pk, "sk": sk, "account_id": account_id}
    return dynamo.put(_sending_ips, item, condition="attribute_not_exists(#pk)")


def _claim_key(external_ip: str) -> Key:
    return (f"sending-ip#{external_ip}", "sending-ip")


def _allowance_key(external_ip: str, day: int) -> Key:
    return (f"warmup#{external_ip}", str(day))


def _addresses(fleet: Fleet) -> set[str]:
    return {ip.external_ip for ip in fleet.ips}


def _due_only_in(fleet: Fleet, other: Fleet) -> list[Due]:
    other_entries = _due_entries(other)
    return [entry for entry in _due_entries(fleet) if entry not in other_entries]


def _due_entries(fleet: Fleet) -> list[Due]:
    return [due_entry(fleet.account_id, ip) for ip in fleet.ips if ip.advance_ms]
