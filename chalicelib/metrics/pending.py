"""Deltas on their way to the counters.

Access patterns (table ``metrics``), one partition for all accounts, so that asking for work costs
one request when there is none:

- what waits to be counted → ``pk = pending``
- the same of one account → ``sk`` begins with ``<account, 10 digits>#``
- the fold in progress of an account, before its deltas → ``sk = <account>#0fold``
- a delta → ``sk = <account>#1delta#<milliseconds>#<random>``
- the number of an account's last fold → ``pk = folds``, ``sk = <account>``

A fold is deltas merged under a number. It is fixed in one transaction that deletes its deltas, and
an account has one at most: so every count is in exactly one of a delta, a fold and the counters,
and counters, which keep the number of the last fold added to them, get them in order.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import Item, TransactionFailed, Write
from chalicelib.metrics.counters import table
from chalicelib.metrics.delta import Delta

MOST_TOGETHER: Final = 90
"""Deltas in one fold, at most: they are deleted in one transaction."""

MOST_BYTES: Final = 60_000
"""Packed deltas in one fold, at most, but for a larger one: a call must come to its end."""

LARGEST: Final = 300_000
"""Bytes of one packed delta, at most (an item holds 400 KB)."""

_PK = "pending"
_FOLDS = "folds"
_FOLD = "#0fold"
_DELTA = "#1delta#"


@dataclass(frozen=True, slots=True)
class Rollup:
    """Deltas of an account that are being added to its counters."""

    account_id: int
    seq: int
    data: bytes

    def delta(self) -> Delta:
        """Return what is to be added."""
        return Delta.merged([self.data])


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits of an account: the fold in progress, if any, and deltas."""

    account_id: int
    fold: Rollup | None
    deltas: Sequence[Item]


def additions(account_id: int, delta: Delta) -> list[Write]:
    """Return what lets a delta wait, for the transaction that records its cause.

    That is one action, and more only if the delta is too large for one item.
    """
    prefix = f"{_account(account_id)}{_DELTA}{clock.now_ms():013d}#"
    return [
        dynamo.put(table, {"pk": _PK, "sk": prefix + secrets.token_hex(6), "data": data})
        for data in delta.pack_in_parts(LARGEST)
    ]


def waiting() -> Iterator[Waiting]:
    """Yield what waits, as much of an account at a time as one fold may hold."""
    yield from _grouped(table.query_all("#pk = :pk", {"pk": _PK}, consistent=True))


def of_account(account_id: int) -> Iterator[Waiting]:
    """Yield what waits of one account."""
    found = table.query_all(
        "#pk = :pk AND begins_with(#sk, :account)",
        {"pk": _PK, "account": f"{_account(account_id)}#"},
        consistent=True,
    )
    yield from _grouped(found)


def last_seq(account_id: int) -> int:
    """Return the number of the account's last fold, 0 if it had none."""
    item = table.get(_FOLDS, _account(account_id))
    return item["seq"] if item else 0


def fix(account_id: int, deltas: Sequence[Item]) -> Rollup | None:
    """Make a fold of these deltas; ``None`` if somebody else was quicker."""
    before = last_seq(account_id)
    fold = Rollup(account_id, before + 1, Delta.merged(item["data"] for item in deltas).pack())
    begin = dynamo.update(
        table,
        _FOLDS,
        _account(account_id),
        "SET #seq = :seq",
        values={"seq": fold.seq, "before": before},
        condition="attribute_not_exists(#seq) OR #seq = :before",
    )
    item = {"pk": _PK, "sk": _account(account_id) + _FOLD, "seq": fold.seq, "data": fold.data}
    actions = [
        begin,
        dynamo.put(table, item, condition="attribute_not_exists(#pk)"),
        *(dynamo.delete(table, _PK, d["sk"], condition="attribute_exists(#pk)") for d in deltas),
    ]
    try:
        dynamo.transact(actions)
    except TransactionFailed:
        return None
    return fold


def finish(fold: Rollup) -> None:
    """Forget a fold that is in the counters; nothing happens if another one took its place."""
    try:
        table.delete(
            _PK,
            _account(fold.account_id) + _FOLD,
            condition="#seq = :seq",
            values={"seq": fold.seq},
        )
    except dynamo.ConditionFailed:
        return


def _grouped(items: Iterator[Item]) -> Iterator[Waiting]:
    account, fold, deltas, size = 0, None, list[Item](), 0
    for item in items:
        owner = int(item["sk"].partition("#")[0])
        full = len(deltas) == MOST_TOGETHER or size + len(item["data"]) > MOST_BYTES
        if (deltas or fold) and (owner != account or (deltas and full)):
            yield Waiting(account, fold, deltas)
            fold, deltas, size = None, [], 0
        account = owner
        if item["sk"].endswith(_FOLD):
            fold = Rollup(owner, item["seq"], item["data"])
        else:
            deltas.append(item)
            size += len(item["data"])
    if deltas or fold:
        yield Waiting(account, fold, deltas)


def _account(account_id: int) -> str:
    return f"{account_id:010d}"
