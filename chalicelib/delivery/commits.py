"""Commit the messages of one work unit: from the final dot to the record of the outcome.

A host may have accepted a message as soon as its dot is on the wire. So before each dot

- the process must not be asked to stop,
- the worker must still have the lease on the unit,
- the journal must have room for one more record.

If one of these fails, or if an outcome cannot be recorded, the unit is stopped: its other messages
are not sent. Outcomes without a record stay in memory, so that the worker can still report them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from chalicelib.core import clock, shutdown
from chalicelib.delivery.outcome import Outcome, to_dict
from chalicelib.delivery.store.journal import Journal
from chalicelib.delivery.store.journal_files import Entry
from chalicelib.fleet.routing import Route

_log = logging.getLogger(__name__)


class NotSent(Exception):
    """The message was abandoned before its final dot, so no host can have accepted it."""


class UnitCommits:
    """The commits of one unit, for any number of threads.

    ``entries`` are the outcomes by recipient index, ``unrecorded`` those of them that the journal
    does not have. ``failure`` is what stopped the unit. ``renew_lease`` raises an exception if the
    worker may not send any more.
    """

    def __init__(self, journal: Journal, renew_lease: Callable[[], None] = lambda: None) -> None:
        self.entries: dict[int, Entry] = {}
        self.unrecorded: dict[int, Entry] = {}
        self.failure: Exception | None = None
        self._journal = journal
        self._renew_lease = renew_lease
        self._lock = threading.Lock()
        self._under_way = 0
        self._is_closed = False

    @property
    def is_open(self) -> bool:
        """Tell whether another message may be sent."""
        return not (self._is_closed or self.failure or shutdown.is_requested())

    def commit(self, index: int, route: Route, finish: Callable[[], Outcome]) -> Outcome:
        """Send the final dot with ``finish`` and record its outcome; raises :class:`NotSent`."""
        self._begin()
        try:
            outcome = finish()
            self._record(index, route, outcome)
        finally:
            with self._lock:
                self._under_way -= 1
        return outcome

    def add(self, index: int, route: Route, outcome: Outcome) -> None:
        """Record an outcome from before the final dot; one from after it counts more."""
        with self._lock:
            if self._is_closed or index in self.entries:
                return
            self._under_way += 1
        try:
            self._record(index, route, outcome)
        finally:
            with self._lock:
                self._under_way -= 1

    def close(self) -> bool:
        """Let no other message be sent; return whether none is between its dot and its record."""
        with self._lock:
            self._is_closed = True
            return not self._under_way

    def record_again(self) -> None:
        """Record in the journal what could not be recorded before, as far as that is possible."""
        for index, entry in list(self.unrecorded.items()):
            try:
                self._journal.record(index, entry)
            except Exception as error:
                _log.warning("an outcome cannot be recorded yet: %s", error)
                return
            del self.unrecorded[index]

    def _begin(self) -> None:
        with self._lock:
            if not self.is_open:
                raise NotSent
            self._under_way += 1
        try:
            self._renew_lease()
            self._journal.reserve()
        except Exception as error:
            with self._lock:
                self._under_way -= 1
            self._stop(error)
            raise NotSent from error

    def _record(self, index: int, route: Route, outcome: Outcome) -> None:
        entry: Entry = {
            "at": clock.now_ms(),
            "outcome": to_dict(outcome),
            "route": route.event_fields(),
        }
        self.entries[index] = entry
        try:
            self._journal.record(index, entry)
        except Exception as error:
            self.unrecorded[index] = entry
            self._stop(error)

    def _stop(self, error: Exception) -> None:
        if self.failure is None:
            _log.error(
                "no more messages of this unit are sent: %s: %s", type(error).__name__, error
            )
            self.failure = error
