"""Count the items and objects of both sides when a pass has read everything."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from chalicelib.core.json_types import Json
from infrastructure.machine.moving.changes import APART
from infrastructure.machine.moving.checkpoint import Key
from infrastructure.machine.moving.kinds import TABLES, Kind, is_expired, rule_of
from infrastructure.machine.moving.object_copy import OBJECTS, keys_of
from infrastructure.machine.moving.place import Place
from infrastructure.machine.moving.sides import Sides

# What tells the kind of an item; ``owner`` and ``state`` are reserved words
_PROJECTION = {
    "ProjectionExpression": "pk, sk, expires, #owner, #state",
    "ExpressionAttributeNames": {"#owner": "owner", "#state": "state"},
}


@dataclass(frozen=True, slots=True)
class Total:
    """The numbers of one table, or of the objects.

    ``new`` came to the source after it was read. ``missing`` were written, and the target does not
    have them. ``deleted`` has the target deleted since an earlier copy, and ``more`` has only the
    target.
    """

    name: str
    at_source: int
    at_target: int
    new: int = 0
    missing: int = 0
    deleted: int = 0
    more: int = 0

    def line(self) -> str:
        """Return the numbers for people."""
        notes = [
            f"{number:,} {text}"
            for number, text in (
                (self.new, "new at the source"),
                (self.missing, "MISSING at the target"),
                (self.deleted, "deleted at the target"),
                (self.more, "only at the target"),
            )
            if number
        ]
        note = f"   {', '.join(notes)}" if notes else ""
        return f"  {self.name:<14}{self.at_source:>12,}{self.at_target:>12,}{note}"


def compare(sides: Sides) -> list[Total]:
    """Return the numbers of each table and of the objects, in the order in which they are copied.

    What the source got after this pass had read it is not counted.
    """
    return [_total(sides, name) for name in (OBJECTS, *TABLES)]


def count(place: Place, table: str) -> dict[Kind, int]:
    """Return how many items of each kind a table has."""
    numbers = dict.fromkeys(Kind, 0)
    for item in _current(place, table):
        numbers[rule_of(table, item).kind] += 1
    return numbers


def _total(sides: Sides, name: str) -> Total:
    checkpoint = sides.checkpoint
    at_source = new = 0
    for key in _keys(sides.source, name):
        at_source += 1
        new += not checkpoint.copies(name, [key])
    checkpoint.begin_comparison()
    number = 0
    for key in _keys(sides.target, name):
        checkpoint.compare([key])
        number += 1
    absent = checkpoint.absent(name)
    missing = sum(1 for key, is_new in absent if is_new and _has(sides.source, name, key))
    present = checkpoint.count(name) - len(absent)
    deleted = at_source - new - present - missing
    return Total(name, at_source, present, new, missing, max(0, deleted), number - present)


def _has(place: Place, name: str, key: Key) -> bool:
    """Tell whether a side has a key now; what it had may have expired a moment ago."""
    if name == OBJECTS:
        return key[0] in keys_of(place)
    item = place.get(name, *key)
    return item is not None and not is_expired(item, time.time())


def _keys(place: Place, name: str) -> Iterator[Key]:
    if name == OBJECTS:
        yield from ((key, "") for key in keys_of(place))
        return
    for item in _current(place, name):
        if rule_of(name, item).kind not in APART:
            yield item["pk"]["S"], item["sk"]["S"]


def _current(place: Place, table: str) -> Iterator[Json]:
    now = time.time()
    for page in place.pages(table, None, **_PROJECTION):
        yield from (item for item in page.items if not is_expired(item, now))
