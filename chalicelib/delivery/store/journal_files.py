"""Keep delivery journals in files, and remove the files that are no longer needed.

A line that was written survives the death of every process. So does the unit's completion, once the
cloud has answered: from then on its file is needless, unless the whole machine dies. Then the local
cloud may forget its last second, and its queue shows the unit once more. So the file stays until a
process has known it for ``KEEP_SECONDS``: time in which nothing runs does not count. No table is
used here, so the function that removes files may have access to none.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import NotRequired

from chalicelib.core import caches, clock, compact_json
from chalicelib.core.message_event import RouteFields
from chalicelib.core.settings import settings
from chalicelib.core.typed_dicts import TypedDict
from chalicelib.delivery.outcome import OutcomeData

KEEP_SECONDS = 60.0
ROOM = 1024 * 1024
"""Bytes that the disk must have free before a message is sent: more than the records of all
messages that the workers of a machine send at a time."""

_DAY = 86_400
#: The endings of files: of a unit in work, and of one that is completed
OPEN, COMPLETED = ".jsonl", ".finished"

# When this process first met the files of completed units (``clock.monotonic``), by path
_completed: dict[Path, float] = {}

_log = logging.getLogger(__name__)


class Entry(TypedDict):
    """The outcome of one attempt, its time (``at``, epoch milliseconds) and how the message left.

    Version 0.1.0 wrote no ``route`` (goes with 0.3.0).
    """

    at: int
    outcome: OutcomeData
    route: NotRequired[RouteFields]


def remove_stale(now: float) -> int:
    """Remove the files of units whose messages are all finished; return how many.

    A worker that dies as it completes a unit leaves its file behind as if the unit were in work.
    """
    directory = settings().delivery_journal
    if not directory:
        return 0
    oldest = now - settings().retry_expiry - _DAY
    stale = [path for path in Path(directory).glob(f"*{OPEN}") if _changed_at(path) < oldest]
    stale += _needless(Path(directory).glob(f"*{COMPLETED}"))
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def _needless(paths: Iterable[Path]) -> list[Path]:
    """Return the files of completed units that this process has known for long enough."""
    now = clock.monotonic()
    earlier = dict(_completed)
    forget_completed()
    _completed.update({path: earlier.get(path, now) for path in paths})
    return [path for path, since in _completed.items() if now - since >= KEEP_SECONDS]


@caches.register
def forget_completed() -> None:
    """Forget the files of completed units, as a new process does."""
    _completed.clear()


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # its worker has just completed the unit, or opens it again
        return inf


def read_entries(directory: Path, unit: object) -> dict[int, Entry]:
    """Read the entries of a unit, of which another worker may be recording more."""
    entries: dict[int, Entry] = {}
    for ending in (OPEN, COMPLETED):
        with suppress(FileNotFoundError):
            text = (directory / f"{unit}{ending}").read_bytes()
            entries |= _read_lines(text.rpartition(b"\n")[0])
    return entries


def unit_texts(directory: Path, beginning: str) -> set[str]:
    """Return the texts of the units with a file here that begin so."""
    return {path.stem for path in directory.glob(f"{beginning}*")}


class FileJournal:
    """One file a unit, one JSON line a message, each appended by a single write.

    The file has the unit's text as its name. It is made when the first message is about to be sent.
    """

    lasts = False

    def __init__(self, directory: Path, unit: object) -> None:
        self._path = directory / f"{unit}{OPEN}"
        self._completed_path = directory / f"{unit}{COMPLETED}"
        self._file: int | None = None
        self._opening = threading.Lock()
        self._writing = threading.Lock()
        self._is_torn = False  # its last line was cut short
        with suppress(OSError):  # there is none, or :meth:`reserve` will fail as well
            self._completed_path.rename(self._path)

    def entries(self, *, first: bool) -> dict[int, Entry]:
        """Read the file even if ``first``: the table may have lost its last seconds.

        A last line that is cut short was never recorded.
        """
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        lines, _, torn = text.rpartition(b"\n")
        if torn:
            os.truncate(self._path, len(text) - len(torn))
        return _read_lines(lines)

    def reserve(self) -> None:
        """Open the file, and make sure that its disk has room; raises OSError."""
        disk = os.fstatvfs(self._descriptor())
        if disk.f_bavail * disk.f_frsize < ROOM:
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: {self._path.parent}")

    def record(self, index: int, entry: Entry) -> None:
        """Append one line, which does not continue one that was cut short."""
        line = compact_json.dumps([index, entry]) + b"\n"
        file = self._descriptor()
        with self._writing:
            text = b"\n" + line if self._is_torn else line
            self._is_torn = True  # unless all of it is written
            if os.write(file, text) != len(text):
                raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: {self._path.parent}")
            self._is_torn = False

    def close(self, *, completed: bool) -> None:
        """Close the file; that of a completed unit is removed after a while."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if completed:
            with suppress(FileNotFoundError):
                self._path.rename(self._completed_path)

    def _descriptor(self) -> int:
        with self._opening:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
                self._file = os.open(self._path, flags, 0o600)
            return self._file


def _read_lines(lines: bytes) -> dict[int, Entry]:
    return dict(filter(None, map(_read_line, filter(None, lines.splitlines()))))


def _read_line(line: bytes) -> tuple[int, Entry] | None:
    try:
        index, entry = json.loads(line)
    except ValueError:
        # Cut short by a full disk: the rest is still good
        _log.warning("a damaged line of a delivery journal: %r", line[:200])
        return None
    return index, entry
