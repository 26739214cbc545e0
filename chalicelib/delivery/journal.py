"""The record of each message that was sent, made before the next one is.

A worker can die between any two lines, and the remote host cannot be asked what it has accepted.
So between two messages of a process there is a durable record of the first: after a crash at most
the one message in between is sent twice. Two records are equally good:

- a file, where the workers of a machine share a disk (``DELIVERY_JOURNAL``): a line that was
  written survives the death of every process. The file of a finished unit stays for ``KEPT``
  seconds: a local cloud that is killed forgets the last of them, and asks for the unit once more;
- an item in the ``messages`` table, where they do not (Lambda): one request a message.

Access patterns (table ``messages``):

- what was sent of a unit → ``pk = transmission#<id>``, ``sk = sent#<unit name>#<index>``
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, Protocol

from chalicelib.core import clock
from chalicelib.core.dynamo import Table
from chalicelib.core.settings import settings
from chalicelib.delivery.work_units import WorkUnit

Entry = dict[str, Any]

KEPT = 60.0

_DAY = 86_400
_OPEN, _FINISHED = ".jsonl", ".finished"

_log = logging.getLogger(__name__)

_messages = Table("messages")


class Journal(Protocol):
    """The record of one unit."""

    def recorded(self, *, first: bool) -> dict[int, Entry]:
        """Return what was recorded of the unit, by recipient index.

        ``first``: the unit's record says that nobody has worked on it.
        """
        ...

    def record(self, index: int, entry: Entry) -> None:
        """Record ``entry`` durably for the recipient ``index``."""
        ...

    def close(self, *, finished: bool) -> None:
        """Let go; if ``finished``, the record is not needed any more."""
        ...


def open_journal(unit: WorkUnit) -> Journal:
    """Return the journal of ``unit``, of the kind that the settings ask for."""
    directory = settings().delivery_journal
    return FileJournal(Path(directory), unit) if directory else TableJournal(unit)


def remove_stale(now: float) -> int:
    """Remove the files of units that no message is on its way in any more; return how many.

    A worker that dies as it finishes a unit leaves its file as one of a unit in work.
    """
    directory = settings().delivery_journal
    if not directory:
        return 0
    oldest = {_OPEN: now - settings().retry_expiry - _DAY, _FINISHED: now - KEPT}
    stale = [
        path
        for path in Path(directory).glob("*")
        if path.suffix in oldest and _changed(path) < oldest[path.suffix]
    ]
    for path in stale:
        path.unlink(missing_ok=True)
    return len(stale)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # its worker has just finished the unit, or begins it anew
        return inf


class FileJournal:
    """One file a unit, one JSON line a message, appended with a single write each."""

    def __init__(self, directory: Path, unit: WorkUnit) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / f"{unit}{_OPEN}"
        self._finished = directory / f"{unit}{_FINISHED}"
        with suppress(FileNotFoundError):
            self._finished.rename(self._path)
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)

    def recorded(self, *, first: bool) -> dict[int, Entry]:
        """Read the file, whatever the table says: the table may have lost its last seconds.

        A last line that is cut short was never recorded."""
        text = self._path.read_bytes()
        whole, _, torn = text.rpartition(b"\n")
        if torn:
            os.ftruncate(self._file, len(text) - len(torn))
        return dict(filter(None, map(_read_line, whole.splitlines())))

    def record(self, index: int, entry: Entry) -> None:
        """Append one line."""
        line = json.dumps([index, entry], separators=(",", ":")).encode() + b"\n"
        if os.write(self._file, line) != len(line):
            raise OSError("the delivery journal's disk is full")

    def close(self, *, finished: bool) -> None:
        """Close the file; if ``finished``, it goes away after a while."""
        os.close(self._file)
        if finished:
            with suppress(FileNotFoundError):
                self._path.rename(self._finished)


def _read_line(line: bytes) -> tuple[int, Entry] | None:
    try:
        index, entry = json.loads(line)
    except ValueError:
        # Cut short by a full disk, with another thread's line behind it: the rest is still good
        _log.warning("a damaged line of a delivery journal: %r", line[:200])
        return None
    return index, entry


class TableJournal:
    """One item a message."""

    def __init__(self, unit: WorkUnit) -> None:
        self._pk = f"transmission#{unit.transmission_id}"
        self._prefix = f"sent#{unit.name}#"

    def recorded(self, *, first: bool) -> dict[int, Entry]:
        """Query the items of the unit; they are in the table that says it is the first."""
        if first:
            return {}
        items = _messages.query_all(
            "#pk = :pk AND begins_with(#sk, :prefix)",
            {"pk": self._pk, "prefix": self._prefix},
            consistent=True,
        )
        return {int(item["sk"].rpartition("#")[2]): json.loads(item["entry"]) for item in items}

    def record(self, index: int, entry: Entry) -> None:
        """Put one item; it goes away on its own after a message's longest life."""
        _messages.put(
            {
                "pk": self._pk,
                "sk": f"{self._prefix}{index:08d}",
                "entry": json.dumps(entry, separators=(",", ":")),
                "expires": int(clock.now() + settings().retry_expiry) + _DAY,
            }
        )

    def close(self, *, finished: bool) -> None:
        """Do nothing: the items expire."""
