"""Report the outcomes of work units: emit their events, then record that the units are completed.

Units that are delivered at the same time, each in a thread, report together: one request emits the
events of all, and where the journal is in files, one transaction records all as completed. It takes
twice the write units of single writes, so with a journal in the table each unit is recorded alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from chalicelib.core.combined_calls import CombinedCalls
from chalicelib.core.dynamo import TableItem
from chalicelib.core.message_event import Event
from chalicelib.core.settings import settings
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.work_units import Counts, WorkUnit
from chalicelib.events import stream


class Reports:
    """The reports of one unit."""

    def store(self, events: Sequence[Event], record: TableItem) -> bool:
        """Store the record of an outcome and its events in one request, if that saves one.

        Returns ``False`` if the outcome is to be recorded alone. The events are emitted later.
        """
        return False

    def emit(self, events: Sequence[Event]) -> None:
        """Emit the events of the unit's outcomes."""
        stream.emit(events)

    def complete(self, unit: WorkUnit, counts: Counts) -> None:
        """Record that the unit is completed."""
        work_units.complete(unit, counts=counts)


class GroupReports:
    """The combined reports of ``members`` units."""

    def __init__(self, members: int) -> None:
        self._emit: CombinedCalls[Event] = CombinedCalls(stream.emit, members)
        self._complete: CombinedCalls[tuple[WorkUnit, Counts]] | None = None
        if settings().delivery_journal:
            self._complete = CombinedCalls(work_units.complete_all, members)

    @contextmanager
    def membership(self) -> Iterator[Reports]:
        """Return the reports of one unit, which is a member of the group within the block."""
        member = _Member(self._emit, self._complete)
        try:
            yield member
        finally:
            member.leave()


class _Member(Reports):
    """The reports of one unit of a group."""

    def __init__(
        self, emit: CombinedCalls[Event], complete: CombinedCalls[tuple[WorkUnit, Counts]] | None
    ) -> None:
        self._emit, self._complete = emit, complete
        self._has_emitted = self._has_completed = False

    def emit(self, events: Sequence[Event]) -> None:
        """Emit the events together with those of other members; later ones are emitted alone."""
        if self._has_emitted:
            super().emit(events)
        else:
            self._has_emitted = True
            self._emit(events)

    def complete(self, unit: WorkUnit, counts: Counts) -> None:
        """Record that the unit is completed, together with other members."""
        if self._complete and not self._has_completed:
            self._has_completed = True
            self._complete([(unit, counts)])
        else:
            super().complete(unit, counts)

    def leave(self) -> None:
        """Let the others wait for this member no longer."""
        if not self._has_emitted:
            self._emit.leave()
        if self._complete and not self._has_completed:
            self._complete.leave()
