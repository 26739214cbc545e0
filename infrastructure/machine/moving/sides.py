"""Hold the two sides of a move and its progress, and compare what they have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from chalicelib.core.json_types import Json
from chalicelib.core.sealing import SealBroken, Sealer
from infrastructure.machine.moving.checkpoint import Checkpoint, Copy
from infrastructure.machine.moving.failures import MoveRefused
from infrastructure.machine.moving.images import digest_of, image_of
from infrastructure.machine.moving.kinds import Kind
from infrastructure.machine.moving.place import Place

T = TypeVar("T")


@dataclass(slots=True)
class Tally:
    """What a pass did with the items of a table or the objects, for people.

    ``entries`` is how many the source has, ``conflicts`` names what both sides changed.
    """

    entries: int = 0
    copies: int = 0
    deletions: int = 0
    conflicts: list[str] = field(default_factory=list)


class Sides:
    """The source, the target and the checkpoint of a move, in the pass ``number``."""

    def __init__(self, source: Place, target: Place, checkpoint: Checkpoint, number: int) -> None:
        self.source = source
        self.target = target
        self.checkpoint = checkpoint
        self.number = number
        self._key = source.secret_key.encode()
        self._opener, self.sealer = source.sealer, target.sealer

    def source_image(self, table: str, kind: Kind, item: Json) -> Json:
        """Return the image of an item of the source; raises :class:`MoveRefused`."""
        return _image(table, kind, item, self._opener, self.source)

    def target_image(self, table: str, kind: Kind, item: Json) -> Json:
        """Return the image of an item of the target; raises :class:`MoveRefused`."""
        return _image(table, kind, item, self.sealer, self.target)

    def digest(self, image: Json) -> bytes:
        """Return the digest of an image."""
        return digest_of(image, self._key)

    def is_copy(self, image: Json, copy: Copy | None) -> bool:
        """Tell whether an image is as it was copied."""
        return copy is not None and self.digest(image) == copy.digest


def in_batches(entries: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the entries, ``size`` at a time."""
    for start in range(0, len(entries), size):
        yield entries[start : start + size]


def _image(table: str, kind: Kind, item: Json, sealer: Sealer, place: Place) -> Json:
    try:
        return image_of(table, kind, item, sealer)
    except SealBroken as broken:
        raise MoveRefused(
            f"{place.name}: its SECRET_KEY does not open the secret {broken}"
        ) from None
