"""Record the outcome of each message before the next one is sent.

A worker can die between any two lines, and nobody can ask the remote host what it has accepted. So
a worker records one message durably before it sends the next: after a crash at most the one message
in between is sent twice. There are three kinds of journal, equally safe:

- a file, where the workers of a machine share a disk (``DELIVERY_JOURNAL``): a line that was
  written survives the death of every process (``journal_files``);
- an item in the ``messages`` table, where they do not (Lambda): one request a message;
- there, the unit's own record, if it is that of a transmission's only message.

Access patterns of ``messages``:

- the journal entry of a message → ``transmission#<id>#<chunk>`` / ``sent#<unit name>#<index>``
- the journal entries of a work unit → ``transmission#<id>#<chunk>`` / ``sent#<unit name>#*``
  (``core.message_keys``)
- those of a unit and of the units in which its messages go on → ``transmission#<id>#<chunk>`` /
  ``sent#<unit name>*``
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from chalicelib.core import clock, message_keys
from chalicelib.core.dynamo import Keyed, Table
from chalicelib.core.settings import settings
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.journal_files import Entry, FileJournal, read_entries, unit_texts
from chalicelib.delivery.store.work_units import WorkUnit

_DAY = 86_400


class JournalItem(Keyed):
    """The journal entry of one message."""

    #: JSON (``journal_files.Entry``)
    entry: str
    expires: int


_messages: Table[JournalItem] = Table("messages")


class Journal(Protocol):
    """The record of one unit."""

    def entries(self, *, first: bool) -> dict[int, Entry]:
        """Return the entries of the unit by recipient index.

        ``first``: the unit's record says that no worker had a lease on it before.
        """
        ...

    def reserve(self) -> None:
        """Make sure that another entry can be recorded; raises OSError if the disk is full.

        The journals in the table make no request: the lease was just written to the same table.
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


def open_journal(unit: WorkUnit, write: Callable[[str], None] | None = None) -> Journal:
    """Return the journal of ``unit``, of the kind that the settings ask for.

    ``write`` records the outcome of a single message in its unit's record.
    """
    directory = settings().delivery_journal
    if directory:
        return FileJournal(Path(directory), unit)
    if unit.is_single:
        return RecordJournal(unit, write or partial(work_units.record_outcome, unit))
    return TableJournal(unit)


def attempted_messages(unit: WorkUnit) -> Collection[int]:
    """Return the indexes of the messages whose outcomes earlier workers recorded.

    This changes nothing, so it is safe while another worker has the lease on the unit.
    """
    directory = settings().delivery_journal
    if directory:
        return read_entries(Path(directory), unit).keys()
    return open_journal(unit).entries(first=False).keys()


def entries_of_chunk(unit: WorkUnit) -> Iterator[tuple[WorkUnit, int, Entry]]:
    """Yield the entries of a unit and of those in which its messages go on.

    They are the unit, the recipient's index and the entry. This changes nothing, whoever delivers.
    """
    directory = settings().delivery_journal
    if directory:
        yield from _in_files(unit, Path(directory))
        return
    if unit.is_single:
        for index, entry in open_journal(unit).entries(first=False).items():
            yield unit, index, entry
    yield from _in_table(unit)


def _in_files(unit: WorkUnit, directory: Path) -> Iterator[tuple[WorkUnit, int, Entry]]:
    for text in unit_texts(directory, str(unit)):
        each = replace(unit, name=text.removeprefix(f"{unit.transmission_id}-"))
        if each.first == unit:
            for index, entry in read_entries(directory, each).items():
                yield each, index, entry


def _in_table(unit: WorkUnit) -> Iterator[tuple[WorkUnit, int, Entry]]:
    items = _messages.query_all(
        "#pk = :pk AND begins_with(#sk, :prefix)",
        {"pk": _partition(unit), "prefix": f"sent#{unit.name}"},
        consistent=True,
    )
    for item in items:
        _, name, index = item["sk"].split("#")
        each = replace(unit, name=name)
        if each.first == unit:
            yield each, int(index), json.loads(item["entry"])


def _partition(unit: WorkUnit) -> str:
    return message_keys.block_partition(unit.transmission_id, unit.chunk)


class TableJournal:
    """One item a message."""

    lasts = False

    def __init__(self, unit: WorkUnit) -> None:
        self._pk = _partition(unit)
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

    def reserve(self) -> None:
        """Do nothing: the lease was just written to the same table."""

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

    def __init__(self, unit: WorkUnit, write: Callable[[str], None]) -> None:
        self._unit = unit
        self._write = write

    def entries(self, *, first: bool) -> dict[int, Entry]:
        """Read the unit's record. A unit without an earlier lease has no outcome."""
        outcome = None if first else work_units.outcome_of(self._unit)
        return {0: json.loads(outcome)} if outcome else {}

    def reserve(self) -> None:
        """Do nothing: the lease was just written to the same record."""

    def record(self, index: int, entry: Entry) -> None:
        """Add the outcome to the unit's record; the only message has the index 0."""
        self._write(json.dumps(entry, separators=(",", ":")))

    def close(self, *, completed: bool) -> None:
        """Do nothing: the outcome stays with the record."""
