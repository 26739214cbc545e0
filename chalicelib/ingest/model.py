"""Describe batches of ingested events, and the age that their events may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chalicelib.core.json_types import Json

#: Events are less than a day old
OLDEST_MS: Final = 86_400_000
#: Most time that an event may be ahead: clocks differ
NEWEST_MS: Final = 300_000


@dataclass(frozen=True, slots=True)
class IngestBatch:
    """A batch of an account, or of its subaccount, and the time at which it was accepted."""

    id: str
    account_id: int
    subaccount_id: int | None
    taken_ms: int

    def head(self) -> Json:
        """Return the head of the batch's queue message, which holds all fields by their names."""
        return {name: getattr(self, name) for name in self.__slots__}
