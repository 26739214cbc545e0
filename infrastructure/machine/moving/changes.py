"""Find the items that the source has changed since the last copy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chalicelib.core.json_types import Json
from infrastructure.machine.moving.checkpoint import Copy, Key
from infrastructure.machine.moving.images import from_text, text_of
from infrastructure.machine.moving.kinds import Kind, Rule, is_expired, rule_of
from infrastructure.machine.moving.sides import Sides, Tally

#: Kinds whose items the checkpoint has as a whole
_WITH_BASE: Final = (Kind.COUNTER, Kind.USAGE)
#: Kinds that stay at the source, or go when it does no more work
APART: Final = (Kind.PLACE, Kind.WORK)


@dataclass(frozen=True, slots=True)
class Change:
    """An item that differs from its last copy ``earlier``; ``copy`` is what is to be noted."""

    rule: Rule
    image: Json
    copy: Copy
    earlier: Copy | None

    @property
    def key(self) -> Key:
        """The keys of the item."""
        return self.image["pk"]["S"], self.image["sk"]["S"]

    @property
    def base(self) -> Json | None:
        """The source's item at the last copy, for kinds whose items are kept as a whole."""
        return from_text(self.earlier.base) if self.earlier and self.earlier.base else None


def changes_among(sides: Sides, table: str, items: Sequence[Json], tally: Tally) -> list[Change]:
    """Return the items that have changed; the keys of all others are noted as met."""
    now = time.time()
    current = [item for item in items if not is_expired(item, now)]
    keys = [(item["pk"]["S"], item["sk"]["S"]) for item in current]
    copies = sides.checkpoint.copies(table, keys)
    changes: list[Change] = []
    unchanged: list[Key] = []
    for key, item in zip(keys, current, strict=True):
        rule = rule_of(table, item)
        if rule.kind in APART:
            unchanged.append(key)  # it may have been of another kind when it was copied
            continue
        tally.entries += 1
        image = sides.source_image(table, rule.kind, item)
        text = text_of(image) if rule.kind in _WITH_BASE else None
        if sides.is_copy(image, copies.get(key)):
            unchanged.append(key)
        else:
            changes.append(Change(rule, image, Copy(sides.digest(image), text), copies.get(key)))
    with sides.checkpoint.transaction():
        sides.checkpoint.meet(table, unchanged, sides.number)
    return changes
