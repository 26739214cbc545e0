"""Order an account's events by time, and describe spans of that order.

An event's position is ``<milliseconds, 13 digits>#<event id>``. Positions sort as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chalicelib.core.message_event import Event

_DIGITS: Final = 13
_LATEST_MS: Final = 10**_DIGITS - 1


def position(event: Event) -> str:
    """Return an event's position."""
    return f"{position_at(event['timestamp'])}#{event['event_id']}"


def position_at(moment_ms: int) -> str:
    """Return a text that sorts before the positions of this moment and after all earlier ones.

    Any moment may be asked for: those before 1970 and after the year 2286 count as these limits.
    """
    return f"{min(max(moment_ms, 0), _LATEST_MS):0{_DIGITS}d}"


def moment_of(position: str) -> int:
    """Return the milliseconds of a position."""
    return int(position[:_DIGITS])


@dataclass(frozen=True, slots=True)
class EventWindow:
    """A span of time in milliseconds, from ``start`` to before ``end``."""

    start: int
    end: int

    def positions(self, before: str = "") -> tuple[str, str]:
        """Return the positions of the window as a range, which ends at ``before`` if that is less.

        The first is part of the range, the second is not.
        """
        low, high = position_at(self.start), position_at(self.end)
        return low, min(before, high) if before else high
