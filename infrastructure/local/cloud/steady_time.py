"""Count the time of MiniStack's queues by a clock that nobody sets.

Repairs (MiniStack 1.5.33): MiniStack notes until when a message is hidden by the wall clock. When
that is set back by an hour, each delayed message and each message of a dead receiver stays hidden
for an hour more.
"""

from __future__ import annotations

import time

from ministack.services import sqs

from chalicelib.core import clock


class SteadyTime:
    """Stands in for the module ``time`` where only :meth:`time` is called."""

    def __init__(self) -> None:
        self._offset = time.time() - clock.monotonic()

    def time(self) -> float:
        """Return the seconds since the epoch, as the wall clock told them at the start."""
        return self._offset + clock.monotonic()


def install() -> SteadyTime:
    """Let the queues of this process count by a clock that starts at the wall clock's time."""
    clock = sqs.time = SteadyTime()
    return clock
