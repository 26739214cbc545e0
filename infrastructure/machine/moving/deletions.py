"""Delete at the target what the source has deleted since the last copy."""

from __future__ import annotations

from infrastructure.machine.moving import merge, target_writes
from infrastructure.machine.moving.checkpoint import GONE, Copy, Key
from infrastructure.machine.moving.kinds import rule_of
from infrastructure.machine.moving.merge import Action
from infrastructure.machine.moving.sides import Sides, Tally

_BATCH = 200
_ATTEMPTS = 8


def delete_items(sides: Sides, table: str, tally: Tally) -> None:
    """Delete the items of a table that this pass has not met, if they are as they were copied."""
    while copies := sides.checkpoint.not_met(table, sides.number, _BATCH):
        for key, copy in copies.items():
            if copy.at_target != GONE and _delete(sides, table, key, copy):
                tally.deletions += 1
        with sides.checkpoint.transaction():
            sides.checkpoint.forget(table, copies)


def _delete(sides: Sides, table: str, key: Key, copy: Copy) -> bool:
    """Delete one item; tell whether it is deleted now."""
    for _ in range(_ATTEMPTS):
        present = sides.target.get(table, *key)
        if present is None:
            return False
        kind = rule_of(table, present).kind
        image = sides.target_image(table, kind, present)
        decision = merge.decide(
            kind, None, None, image, same=lambda image: sides.is_copy(image, copy)
        )
        if decision.action is not Action.DELETE:
            return False
        if target_writes.delete(sides.target, table, present):
            return True
    return False
