"""Keep the latest entries of the live stream, for all listeners together.

A listener is a position in one buffer of bounded size, so listeners cost no memory of their own. A
listener that is too slow, or that comes back too late, finds a gap.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from itertools import islice
from typing import Any, NamedTuple

MOST_ENTRIES = 2000
MOST_CHARACTERS = 8_000_000


class FeedEntry(NamedTuple):
    """One entry: its number, the type of the event, and its data as JSON."""

    number: int
    kind: str
    data: str


class LiveFeed:
    """The buffer. It belongs to one event loop."""

    def __init__(self, most_entries: int = MOST_ENTRIES) -> None:
        self._most_entries = most_entries
        self._entries: deque[FeedEntry] = deque()
        self._characters = 0
        self._next_number = 1
        # Numbers of another process, or of another time, are not of this feed
        self._epoch = secrets.token_hex(4)
        self._changed = asyncio.Event()

    @property
    def end(self) -> int:
        """The number of the latest entry."""
        return self._next_number - 1

    @property
    def changed(self) -> asyncio.Event:
        """An event that is set at the next entry; take it before you look for entries."""
        return self._changed

    def publish(self, kind: str, value: Any) -> None:
        """Add an entry."""
        entry = FeedEntry(self._next_number, kind, json.dumps(value))
        self._next_number += 1
        self._entries.append(entry)
        self._characters += len(entry.data)
        while len(self._entries) > self._most_entries or self._characters > MOST_CHARACTERS:
            self._characters -= len(self._entries.popleft().data)
        self.wake()

    def publish_event(self, event: Any) -> None:
        """Add a recorded event, or a gap where some are missing (``None``)."""
        self.publish("event" if event else "gap", event or {})

    def wake(self) -> None:
        """Wake all listeners."""
        self._changed.set()
        self._changed = asyncio.Event()

    def restart(self) -> None:
        """Forget all entries; positions of before are a gap."""
        self._entries.clear()
        self._characters = 0
        self._epoch = secrets.token_hex(4)

    def after(self, position: int, most: int) -> tuple[list[FeedEntry], bool]:
        """Return the first entries after a position, and whether some before them are missing."""
        first = self._entries[0].number if self._entries else self._next_number
        skipped = max(0, position + 1 - first)
        return list(islice(self._entries, skipped, skipped + most)), first > position + 1

    def event_id(self, number: int) -> str:
        """Return the id of an entry in the stream."""
        return f"{self._epoch}-{number}"

    def position_of(self, event_id: str) -> int | None:
        """Return the position of an id that a client has; ``None`` if it is not of this feed."""
        epoch, _, digits = event_id.partition("-")
        if epoch != self._epoch or not (digits.isascii() and digits.isdigit()):
            return None
        return min(int(digits[:15]), self.end)
