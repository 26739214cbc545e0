"""Copy the items of a table that have changed at the source since the last copy.

Every write may be repeated: it is on the condition that the target's item is as it was read, or it
is a step (:mod:`steps`). So a process that is killed between a write and its note in the checkpoint
does no harm.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from chalicelib.core.json_types import Json
from infrastructure.machine.moving import merge, target_writes
from infrastructure.machine.moving.changes import Change, changes_among
from infrastructure.machine.moving.checkpoint import GONE
from infrastructure.machine.moving.counting import update_of
from infrastructure.machine.moving.failures import MoveRefused
from infrastructure.machine.moving.first_copy import write_absent
from infrastructure.machine.moving.images import sealed
from infrastructure.machine.moving.kinds import LAST_USED, Kind, rule_of
from infrastructure.machine.moving.merge import Action
from infrastructure.machine.moving.place import CONNECTIONS
from infrastructure.machine.moving.sides import Sides, Tally, in_batches
from infrastructure.machine.moving.steps import MOST_WRITES, StepRefused, Steps

#: Items that are written before the checkpoint notes them
BATCH: Final = 200
_ATTEMPTS = 8
_IN_STEPS = (Kind.COUNTER, Kind.USAGE)


class ItemCopy:
    """Copy items from the source to the target."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._steps = Steps(sides.target, sides.checkpoint, sides.number)

    def run(self, table: str, tally: Tally, progress: Callable[[], None]) -> None:
        """Copy what has changed in a table, from where the pass was interrupted."""
        checkpoint, note = self._sides.checkpoint, f"cursor {table}"
        text = checkpoint.note(note)
        if text == "end":
            return
        self._steps.finish()
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            for page in self._sides.source.pages(table, json.loads(text) if text else None):
                for items in in_batches(page.items, BATCH):
                    changes = changes_among(self._sides, table, items, tally)
                    self._copy(table, changes, tally, pool)
                    self._note_uses(table, items, pool)
                    progress()
                checkpoint.set_note(note, json.dumps(page.end) if page.end else "end")

    def _copy(
        self, table: str, changes: Sequence[Change], tally: Tally, pool: ThreadPoolExecutor
    ) -> None:
        others = [change for change in changes if change.rule.kind not in _IN_STEPS]
        remaining = write_absent(self._sides, table, others, pool)
        results = pool.map(lambda change: self._write(table, change), remaining)
        actions = dict(zip((change.key for change in remaining), results, strict=True))
        copies = {change.key: change.copy for change in others}
        copies |= {
            key: replace(copies[key], at_target=GONE)
            for key, action in actions.items()
            if action is Action.GONE
        }
        with self._sides.checkpoint.transaction():
            self._sides.checkpoint.store(table, copies, self._sides.number)
        for key, action in actions.items():
            if action is Action.CONFLICT:
                tally.conflicts.append(f"{table}: {' / '.join(key)}")
        counters = [change for change in changes if change.rule.kind is Kind.COUNTER]
        self._count(table, counters)
        for change in changes:
            if change.rule.kind is Kind.USAGE:
                self._add_usage(table, change)
        writes = sum(1 for action in actions.values() if action is Action.WRITE)
        tally.copies += len(changes) - len(remaining) + writes

    def _write(self, table: str, change: Change) -> Action:
        """Bring an item to the target that need not be written in a step."""
        target = self._sides.target
        match change.rule.kind:
            case Kind.HIGHEST:
                target_writes.raise_to(target, table, change.image, "last")
                return Action.WRITE
            case Kind.MEMBERS:
                target_writes.add_members(target, table, change.image)
                return Action.WRITE
        item = sealed(table, change.image, self._sides.sealer)
        if change.earlier is None and target_writes.put(target, table, item, None):
            return Action.WRITE
        for _ in range(_ATTEMPTS):
            present = target.get(table, *change.key)
            decision = self._decide(table, change, present)
            if decision.image is None:
                return decision.action
            item = sealed(table, decision.image, self._sides.sealer) | _last_use(change, present)
            if target_writes.put(target, table, item, present):
                return Action.WRITE
        raise _restless(table, change)

    def _note_uses(self, table: str, items: Sequence[Json], pool: ThreadPoolExecutor) -> None:
        """Let the target's keys have the later hour of their last use at either side."""
        keys = [
            item for item in items if LAST_USED in item and rule_of(table, item).kind is Kind.KEY
        ]
        target = self._sides.target
        list(
            pool.map(lambda item: target_writes.raise_present(target, table, item, LAST_USED), keys)
        )

    def _add_usage(self, table: str, change: Change) -> None:
        """Put the usage of an account, or the sum of what both sides have counted."""
        for _ in range(_ATTEMPTS):
            present = self._sides.target.get(table, *change.key)
            image = self._decide(table, change, present).image
            if change.earlier is None and present is None:
                image = change.image
            writes = []
            if image is not None:
                number = {"rollup": present["rollup"]} if present and "rollup" in present else {}
                put = {"TableName": self._sides.target.table(table), "Item": image | number}
                writes = [{"Put": put | target_writes.unchanged(present)}]
            try:
                self._steps.make(table, writes, {change.key: change.copy})
            except StepRefused:
                continue
            return
        raise _restless(table, change)

    def _decide(self, table: str, change: Change, present: Json | None) -> merge.Decision:
        kind = change.rule.kind
        return merge.decide(
            kind,
            change.base,
            change.image,
            self._sides.target_image(table, kind, present) if present else None,
            same=lambda image: self._sides.is_copy(image, change.earlier),
        )

    def _count(self, table: str, changes: Sequence[Change]) -> None:
        """Add what was counted, many counters in a step."""
        full_name = self._sides.target.table(table)
        for some in in_batches(changes, MOST_WRITES):
            pairs = [
                (each.image, merge.counter_change(each.rule, each.base, each.image))
                for each in some
            ]
            writes = [update_of(table, full_name, image, add) for image, add in pairs if add]
            self._steps.make(table, writes, {each.key: each.copy for each in some})


def _last_use(change: Change, present: Json | None) -> Json:
    """Return the last use that the target has noted of a key."""
    if change.rule.kind is not Kind.KEY or present is None:
        return {}
    return {name: value for name, value in present.items() if name == LAST_USED}


def _restless(table: str, change: Change) -> MoveRefused:
    name = " / ".join(change.key)
    return MoveRefused(f"{table}: {name} changes too often at the target; start the move again")
