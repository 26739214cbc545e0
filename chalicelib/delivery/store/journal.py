"""Record the outcome of each message before the next one is sent.

A worker can die between any two lines, and nobody can ask the remote host what it has accepted. So
a worker records one message durably before it sends the next: after a crash at most the one message
in between is sent twice. There are three kinds of journal, equally safe:

- a file, where the workers of a machine share a disk (``DELIVERY_JOURNAL``): a line that was
  written survives the death of every process. The file of a completed unit stays for
  ``KEEP_SECONDS``: a local cloud that is killed forgets its last writes, and its queue then shows
  the unit once more;
- an item in the ``messages`` table, where they do not (Lambda): one request a message;
- there, the unit's own record, if it is that of a transmission's only message.

Access patterns of ``messages``:

- the journal entry of a message → ``transmission#<id>#<chunk>`` / ``sent#<unit name>#<index>``
- the journal entries of a work unit → ``transmission#<id>#<chunk>`` / ``sent#<unit name>#*``
  (``core.message_keys``)
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, Protocol

from chalicelib.core import clock, message_keys
from chalicelib.core.dynamo import Table
from chalicelib.core.settings import settings
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.work_units import WorkUnit

Entry = dict[str, Any]
"""``at`` (epoch milliseconds), ``outcome`` and ``route`` of one attempt."""

KEEP_SECONDS = 60.0

_DAY = 86_400
_OPEN, _COMPLETED = ".jsonl", ".finished"

_log = logging.getLogger(__name__)

_messages = Table("messages")


class Journal(Protocol):
    """The record of one unit."""

    def entries(self, *, first: bool) -> dict[int, Entry]:
        """Return the entries of the unit by recipient index.

        ``first``: the unit's record says that no worker had a lease on it before.
        """
        ...

    def record(self, index: int, entry: Entry) -> None:
        """Record ``entry`` durably for the recipient ``index``."""
        ...

    def close(self, *, completed: bool) -> None:
        """Release the journal; if the unit is ``completed``, its entries may go away."""
        ...

    @property
    def lasts(self) -> bool:
        """Whether the entries last as long as the unit's record, which need not be completed."""
        ...


def open_journal(unit: WorkUnit) -> Journal:
    """Return the journal of ``unit``, of the kind that the settings ask for."""
    directory = settings().delivery_journal
    if directory:
        return FileJournal(Path(directory), unit)
    return RecordJournal(unit) if unit.is_single else TableJournal(unit)


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
    """One file a unit, one JSON line a message, each appended by a single write."""

    lasts = False

    def __init__(self, directory: Path, unit: WorkUnit) -> None:
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


class TableJournal:
    """One item a message."""

    lasts = False

    def __init__(self, unit: WorkUnit) -> None:
        self._pk = message_keys.block_partition(unit.transmission_id, unit.chunk)
        self._prefix = f"sent#{unit.name}#"

    def entries(self, *, first: bool) -> dict[int, Entry]:
        """Query the items of the unit. A unit without an earlier lease has none."""
        if first:
            return {}
        items = _messages.query_all(
            "#pk = :pk AND begins_with(#sk, :prefix)",
            {"pk": self._pk, "prefix": self._prefix},
            consistent=True,
        )
        return {int(item["sk"].rpartition("#")[2]): json.loads(item["entry"]) for item in items}

    def record(self, index: int, entry: Entry) -> None:
        """Put one item, which expires after a message's longest life."""
        _messages.put(
            {
                "pk": self._pk,
                "sk": f"{self._prefix}{index:08d}",
                "entry": json.dumps(entry, separators=(",", ":")),
                "expires": int(clock.now() + settings().retry_expiry) + _DAY,
            }
        )

    def close(self, *, completed: bool) -> None:
        """Do nothing: the items expire."""


class RecordJournal:
    """The outcome of a transmission's only message, in the record of its unit."""

    lasts = True

    def __init__(self, unit: WorkUnit) -> None:
        self._unit = unit

    def entries(self, *, first: bool) -> dict[int, Entry]:
        """Read the unit's record. A unit without an earlier lease has no outcome."""
        outcome = None if first else work_units.outcome_of(self._unit)
        return {0: json.loads(outcome)} if outcome else {}

    def record(self, index: int, entry: Entry) -> None:
        """Add the outcome to the unit's record; the only message has the index 0."""
        work_units.record_outcome(self._unit, json.dumps(entry, separators=(",", ":")))

    def close(self, *, completed: bool) -> None:
        """Do nothing: the outcome stays with the record."""
