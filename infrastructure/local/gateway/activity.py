"""Tell background work whether requests are being served."""

from __future__ import annotations

import time


class Activity:
    """The time since the latest request began or ended. Any thread may ask."""

    def __init__(self) -> None:
        self._latest = -1e9

    def note(self) -> None:
        """Note that a request begins or ends."""
        self._latest = time.monotonic()

    def quiet_seconds(self) -> float:
        """Return for how long no request has begun or ended."""
        return time.monotonic() - self._latest
