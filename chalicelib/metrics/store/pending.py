"""Keep pending deltas until a rollup adds them to the counters.

Access patterns of ``metrics``:

- the pending deltas and rollups of all accounts → ``pending``
- the pending deltas of an account → ``pending`` / ``<account, 10 digits>#1delta#<ms>#<random>``
- the rollup in progress of an account → ``pending`` / ``<account, 10 digits>#0fold``
- the number of an account's last rollup → ``folds`` / ``<account, 10 digits>``

All accounts share one partition, so that asking for work costs one request when there is none.

A rollup is deltas that are merged under a number. It begins in one transaction that deletes its
deltas, and an account has at most one in progress. So every count is in exactly one of a pending
delta, a rollup and the counters; and counters, which hold the number of the last rollup that was
added to them, get rollups in order.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NotRequired

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import Keyed, Table, TransactionFailed, Write
from chalicelib.metrics.delta import Delta


class PendingItem(Keyed):
    """A pending delta or a rollup in progress."""

    #: The packed delta (``Delta.pack``)
    data: bytes
    #: The number of the rollup; a delta has none
    seq: NotRequired[int]


class LastRollupItem(Keyed):
    """The number of an account's last rollup."""

    seq: int


table: Table[PendingItem] = Table("metrics")
_last_rollups: Table[LastRollupItem] = Table("metrics")

#: Most deltas in one rollup: they are deleted in one transaction
MOST_TOGETHER: Final = 90
#: Most packed bytes in one rollup of several deltas: a call must come to its end
MOST_BYTES: Final = 60_000
#: Most bytes of one packed delta (an item holds 400 KB)
LARGEST: Final = 300_000

_PK = "pending"
_LAST_ROLLUPS = "folds"
_ROLLUP = "#0fold"
_DELTA = "#1delta#"


@dataclass(frozen=True, slots=True)
class Rollup:
    """Deltas of an account that are being added to its counters."""

    account_id: int
    seq: int
    data: bytes

    def delta(self) -> Delta:
        """Return the sum of the deltas."""
        return Delta.merged([self.data])


@dataclass(frozen=True, slots=True)
class PendingDeltas:
    """The rollup in progress of an account, if any, and pending deltas for the next one."""

    account_id: int
    rollup: Rollup | None
    deltas: Sequence[PendingItem]


def additions(account_id: int, delta: Delta) -> list[Write]:
    """Return the actions that store a delta, for the transaction that records its events.

    That is one action, and more only if the delta is too large for one item.
    """
    prefix = f"{_digits(account_id)}{_DELTA}{clock.now_ms():013d}#"
    items: list[PendingItem] = [
        {"pk": _PK, "sk": prefix + secrets.token_hex(6), "data": data}
        for data in delta.pack_in_parts(LARGEST)
    ]
    return [dynamo.put(table, item) for item in items]


def of_all_accounts() -> Iterator[PendingDeltas]:
    """Yield the pending deltas of all accounts, at most one rollup of an account at a time."""
    yield from _grouped(table.query_all("#pk = :pk", {"pk": _PK}, consistent=True))


def of_account(account_id: int) -> Iterator[PendingDeltas]:
    """Yield the pending deltas of one account."""
    items = table.query_all(
        "#pk = :pk AND begins_with(#sk, :account)",
        {"pk": _PK, "account": f"{_digits(account_id)}#"},
        consistent=True,
    )
    yield from _grouped(items)


def last_seq(account_id: int) -> int:
    """Return the number of the account's last rollup, 0 if it had none."""
    item = _last_rollups.get(_LAST_ROLLUPS, _digits(account_id))
    return item["seq"] if item else 0


def begin_rollup(account_id: int, deltas: Sequence[PendingItem]) -> Rollup | None:
    """Make a rollup of these deltas; ``None`` if another process was faster."""
    before = last_seq(account_id)
    data = Delta.merged(item["data"] for item in deltas).pack()
    rollup = Rollup(account_id, before + 1, data)
    number = dynamo.update(
        _last_rollups,
        _LAST_ROLLUPS,
        _digits(account_id),
        "SET #seq = :seq",
        values={"seq": rollup.seq, "before": before},
        condition="attribute_not_exists(#seq) OR #seq = :before",
    )
    item: PendingItem = {
        "pk": _PK,
        "sk": _digits(account_id) + _ROLLUP,
        "seq": rollup.seq,
        "data": data,
    }
    actions = [
        number,
        dynamo.put(table, item, condition="attribute_not_exists(#pk)"),
        *(dynamo.delete(table, _PK, d["sk"], condition="attribute_exists(#pk)") for d in deltas),
    ]
    try:
        dynamo.transact(actions)
    except TransactionFailed:
        return None
    return rollup


def finish_rollup(rollup: Rollup) -> None:
    """Delete a rollup that is in the counters; do nothing if another one is in its place."""
    sk = _digits(rollup.account_id) + _ROLLUP
    try:
        table.delete(_PK, sk, **dynamo.if_unchanged("seq", rollup.seq))
    except dynamo.ConditionFailed:
        return


def _grouped(items: Iterator[PendingItem]) -> Iterator[PendingDeltas]:
    account, rollup, deltas, size = 0, None, list[PendingItem](), 0
    for item in items:
        owner = int(item["sk"].partition("#")[0])
        full = len(deltas) == MOST_TOGETHER or size + len(item["data"]) > MOST_BYTES
        if (deltas or rollup) and (owner != account or (deltas and full)):
            yield PendingDeltas(account, rollup, deltas)
            rollup, deltas, size = None, [], 0
        account = owner
        if item["sk"].endswith(_ROLLUP):
            rollup = Rollup(owner, item["seq"], item["data"])
        else:
            deltas.append(item)
            size += len(item["data"])
    if deltas or rollup:
        yield PendingDeltas(account, rollup, deltas)


def _digits(account_id: int) -> str:
    return f"{account_id:010d}"
