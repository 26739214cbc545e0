"""How many entries there are: counted in the transaction that writes or removes them.

Access patterns (table ``suppression``):

- the counts of a part, by kind and source → ``pk = <account>#counts``, ``sk = <part>#<shard>``

A part is one list, or the lists of all subaccounts together (so that the whole account is two
parts). Its counts are spread over ``SHARDS`` items, because a transaction fails when it meets
another one on the same item; reading them all is one request.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Write
from chalicelib.core.errors import bad_request
from chalicelib.core.scope import Scope
from chalicelib.suppression.model import (
    KINDS,
    MOST_ENTRIES,
    SOURCES,
    TRACKING_CONSENT_REVOKED,
    Kind,
)
from chalicelib.suppression.store.items import ALL_SUBACCOUNTS, Key, Part, part_of, table

SHARDS = 8

#: how many entries there are of each kind and source
Tally = Counter[tuple[Kind, str]]


def moves(account_id: int, parts: Sequence[Part], changed: Tally) -> list[Write]:
    """Return the actions that add ``changed`` (which may be negative) to the counts."""
    added = {_name(*what): number for what, number in changed.items() if number}
    if not added:
        return []
    expression = "ADD " + ", ".join(f"#{name} :{name}" for name in added)
    shard = random.randrange(SHARDS)
    return [
        dynamo.update(table, *_key(account_id, part, shard), expression, values=added)
        for part in parts
    ]


def read(account_id: int, parts: Iterable[Part]) -> dict[Part, Tally]:
    """Return the counts of each part, in one request."""
    tallies: dict[Part, Tally] = {part: Counter() for part in parts}
    keys = {
        _key(account_id, part, shard): tally
        for part, tally in tallies.items()
        for shard in range(SHARDS)
    }
    for item in table.get_all(keys, consistent=True):
        tally = keys[item["pk"], item["sk"]]
        for kind in KINDS:
            for source in SOURCES:
                if number := item.get(_name(kind, source)):
                    tally[kind, source] += number
    return tallies


def summary(scope: Scope, parts: Iterable[Part]) -> dict[str, int]:
    """Return the counts as the summary shows them (spec 2.9); the total is of all entries."""
    shown = dict.fromkeys((n for s, n in SOURCES.items() if s != TRACKING_CONSENT_REVOKED), 0)
    total = 0
    for tally in read(scope.account_id, parts).values():
        total += tally.total()
        for (_, source), number in tally.items():
            if SOURCES[source] in shown:
                shown[SOURCES[source]] += number
    return shown | {"total": total}


def check_room(account_id: int, added: int) -> None:
    """Raise 400 if ``added`` more entries would be over the account's limit (spec 8)."""
    tallies = read(account_id, (part_of(None), ALL_SUBACCOUNTS))
    if sum(tally.total() for tally in tallies.values()) + added > MOST_ENTRIES:
        raise bad_request(f"A suppression list can hold at most {MOST_ENTRIES} entries")


def _key(account_id: int, part: Part, shard: int) -> Key:
    return (f"{account_id}#counts", f"{part.name}#{shard}")


def _name(kind: Kind, source: str) -> str:
    return f"{kind}__{SOURCES[source]}"


def total(tally: Tally, kinds: Iterable[Kind], sources: Iterable[str]) -> int:
    """Return how many entries there are of these kinds from these sources."""
    wanted = list(sources)
    return sum(tally[kind, source] for kind in kinds for source in wanted)
