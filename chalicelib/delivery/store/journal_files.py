"""Keep delivery journals in files, and remove the files that are no longer needed.

A line that was written survives the death of every process. The file of a completed unit stays for
``KEEP_SECONDS``: a local cloud that is killed forgets its last writes, and its queue then shows the
unit once more. No table is used here, so the function that removes files may have access to none.
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

from chalicelib.core.settings import settings

Entry = dict[str, Any]
"""``at`` (epoch milliseconds), ``outcome`` and ``route`` of one attempt."""

KEEP_SECONDS = 60.0

_DAY = 86_400
_OPEN, _COMPLETED = ".jsonl", ".finished"

_log = logging.getLogger(__name__)


def remove_stale(now: float) -> int:
    """Remove the files of units whose messages are all finished; return how many.

    A worker that dies as it completes a unit leaves its file behind as if the unit were in work.
    """
    directory = settings().delivery_journal
    if not directory:
        return 0
    oldest = {_OPEN: now - settings().retry_expiry - _DAY, _COMPLETED: now - KEEP_SECONDS}
    stale = [
        path
        for path in Path(directory).glob("*")
        if path.suffix in oldest and _changed_at(path) < oldest[path.suffix]
    ]
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # its worker has just completed the unit, or opens it again
        return inf


class FileJournal:
    """One file a unit, one JSON line a message, each appended by a single write.

    The file has the unit's text as its name.
    """

    lasts = False

    def __init__(self, directory: Path, unit: object) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / f"{unit}{_OPEN}"
        self._completed_path = directory / f"{unit}{_COMPLETED}"
        with suppress(FileNotFoundError):
            self._completed_path.rename(self._path)
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)

    def entries(self, *, first: bool) -> dict[int, Entry]:
        """Read the file even if ``first``: the table may have lost its last seconds.

        A last line that is cut short was never recorded.
        """
        text = self._path.read_bytes()
        lines, _, torn = text.rpartition(b"\n")
        if torn:
            os.ftruncate(self._file, len(text) - len(torn))
        return dict(filter(None, map(_read_line, lines.splitlines())))

    def record(self, index: int, entry: Entry) -> None:
        """Append one line."""
        line = json.dumps([index, entry], separators=(",", ":")).encode() + b"\n"
        if os.write(self._file, line) != len(line):
            raise OSError("the delivery journal's disk is full")

    def close(self, *, completed: bool) -> None:
        """Close the file; that of a completed unit is removed after a while."""
        os.close(self._file)
        if completed:
            with suppress(FileNotFoundError):
                self._path.rename(self._completed_path)


def _read_line(line: bytes) -> tuple[int, Entry] | None:
    try:
        index, entry = json.loads(line)
    except ValueError:
        # Cut short by a full disk, with another thread's line behind it: the rest is still good
        _log.warning("a damaged line of a delivery journal: %r", line[:200])
        return None
    return index, entry
