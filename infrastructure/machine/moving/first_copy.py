"""Write many items at once to a target that is not in use yet.

Batches have no conditions, so they serve the first pass only: nobody uses the target before its
end. They take a tenth of the time of single writes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from chalicelib.core.json_types import Json
from infrastructure.machine.moving.changes import Change
from infrastructure.machine.moving.failures import MoveRefused
from infrastructure.machine.moving.images import sealed
from infrastructure.machine.moving.kinds import Kind
from infrastructure.machine.moving.place import key_of
from infrastructure.machine.moving.sides import Sides, in_batches

FIRST_PASS: Final = 1
#: Items in a request (API reference)
_MOST_KEYS, _MOST_ITEMS = 100, 25
_ATTEMPTS = 12
_LONGEST_PAUSE = 2.0
_KINDS = (Kind.PLAIN, Kind.RECORD, Kind.KEY)


def write_absent(
    sides: Sides, table: str, changes: Sequence[Change], pool: ThreadPoolExecutor
) -> list[Change]:
    """Write those items that the target does not have; return the changes that are left to do."""
    if sides.number != FIRST_PASS:
        return list(changes)
    candidates = [each for each in changes if each.rule.kind in _KINDS and each.earlier is None]
    groups = list(in_batches(candidates, _MOST_KEYS))
    present: set[tuple[str, str]] = set()
    for keys in pool.map(lambda group: _present(sides, table, group), groups):
        present |= keys
    absent = [each for each in candidates if each.key not in present]
    list(pool.map(lambda some: _write(sides, table, some), in_batches(absent, _MOST_ITEMS)))
    done = {each.key for each in absent}
    return [each for each in changes if each.key not in done]


def _present(sides: Sides, table: str, changes: Sequence[Change]) -> set[tuple[str, str]]:
    """Return the keys among those of the changes that the target has."""
    name = sides.target.table(table)
    pending: Any = {
        name: {
            "Keys": [key_of(*each.key) for each in changes],
            "ProjectionExpression": "pk, sk",
            "ConsistentRead": True,
        }
    }
    keys: set[tuple[str, str]] = set()
    for _ in _attempts():
        answer = sides.target.dynamodb.batch_get_item(RequestItems=pending)
        items = answer["Responses"].get(name, [])
        keys |= {(item["pk"]["S"], item["sk"]["S"]) for item in items}
        pending = answer.get("UnprocessedKeys")
        if not pending:
            return keys
    raise _too_busy(table)


def _write(sides: Sides, table: str, changes: Sequence[Change]) -> None:
    items = [sealed(table, each.image, sides.sealer) for each in changes]
    requests: list[Json] = [{"PutRequest": {"Item": item}} for item in items]
    pending: Any = {sides.target.table(table): requests}
    for _ in _attempts():
        answer = sides.target.dynamodb.batch_write_item(RequestItems=pending)
        pending = answer.get("UnprocessedItems")
        if not pending:
            return
    raise _too_busy(table)


def _attempts() -> Iterator[None]:
    """Yield for each attempt, with growing pauses between them."""
    pause = 0.05
    for _ in range(_ATTEMPTS):
        yield
        time.sleep(pause)
        pause = min(_LONGEST_PAUSE, 2 * pause)


def _too_busy(table: str) -> MoveRefused:
    return MoveRefused(f"the target's table {table} takes no more: start the move again later")
