"""Count suppression entries in the transactions that write and remove them.

Access patterns of ``suppression``:

- the counts of a part, by kind and source → ``<account>#counts`` / ``<part>#<shard>``

A part is one list, or the lists of all subaccounts together, so the whole account is two parts.
Its counts are spread over ``SHARDS`` items, because a transaction fails when another one writes the
same item at the same time. All of them are read in one request.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Keyed, Table, Write
from chalicelib.suppression.model import KINDS, SOURCES, SuppressionKind, Tally
from chalicelib.suppression.store.items import ALL_SUBACCOUNTS, EntryPart, Key, part_of

SHARDS = 8


class SuppressionCountsItem(Keyed):
    """A shard of a part's counts, each named ``<kind>__<source>``."""


_table: Table[SuppressionCountsItem] = Table("suppression")


def additions(account_id: int, parts: Sequence[EntryPart], changes: Tally) -> list[Write]:
    """Return the actions that add ``changes`` (which may be negative) to the counts."""
    numbers = {_attribute(*group): number for group, number in changes.items() if number}
    if not numbers:
        return []
    expression = "ADD " + ", ".join(f"#{name} :{name}" for name in numbers)
    shard = random.randrange(SHARDS)
    return [
        dynamo.update(_table, *_key(account_id, part, shard), expression, values=numbers)
        for part in parts
    ]


def read(account_id: int, parts: Iterable[EntryPart]) -> dict[EntryPart, Tally]:
    """Return the counts of each part, in one request."""
    tallies: dict[EntryPart, Tally] = {part: Counter() for part in parts}
    keys = {
        _key(account_id, part, shard): tally
        for part, tally in tallies.items()
        for shard in range(SHARDS)
    }
    for item in _table.get_all(keys, consistent=True):
        tally = keys[item["pk"], item["sk"]]
        numbers: Mapping[str, Any] = item
        for kind in KINDS:
            for source in SOURCES:
                if number := numbers.get(_attribute(kind, source)):
                    tally[kind, source] += number
    return tallies


def of_account(account_id: int) -> int:
    """Return how many entries an account has in all its lists, in one request."""
    tallies = read(account_id, (part_of(None), ALL_SUBACCOUNTS))
    return sum(tally.total() for tally in tallies.values())


def total(tally: Tally, kinds: Iterable[SuppressionKind], sources: Collection[str]) -> int:
    """Return how many entries of these kinds from these sources a tally has."""
    return sum(tally[kind, source] for kind in kinds for source in sources)


def _key(account_id: int, part: EntryPart, shard: int) -> Key:
    return (f"{account_id}#counts", f"{part.name}#{shard}")


def _attribute(kind: SuppressionKind, source: str) -> str:
    return f"{kind}__{SOURCES[source]}"
