"""Show on a terminal how far a backup or a restoration is."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_MEGABYTE = 1_000_000
_SECONDS_BETWEEN = 0.1
_ERASED_LINE = "\r\x1b[K"


class TerminalLine:
    """One line that says what is copied and how much; nothing where there is no terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._is_shown = self._stream.isatty()
        self._next = 0.0

    def show(self, what: str, size: int, total: int) -> None:
        """Say that ``size`` of ``total`` bytes are done (0: not known how many there are)."""
        now = time.monotonic()
        if not self._is_shown or now < self._next:
            return
        self._next = now + _SECONDS_BETWEEN
        limit = f" of {total / _MEGABYTE:,.0f}" if total else ""
        self._stream.write(f"{_ERASED_LINE}{what}: {size / _MEGABYTE:,.0f}{limit} MB")
        self._stream.flush()

    def clear(self) -> None:
        """Erase the line."""
        if self._is_shown:
            self._stream.write(_ERASED_LINE)
            self._stream.flush()
