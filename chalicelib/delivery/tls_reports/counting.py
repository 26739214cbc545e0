"""Count sessions in this process, and add them to those of the day once a minute.

Counts of the last minute are lost when the process is killed: they are figures, not mail.
"""

from __future__ import annotations

import logging
import math
import threading
import zlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Final

from chalicelib.core import clock, due
from chalicelib.core.due import Due
from chalicelib.delivery.tls_reports import store
from chalicelib.delivery.tls_reports.destinations import wants_reports
from chalicelib.delivery.tls_reports.session_result import SessionResult

CONCERN: Final = "tls-reports"

_INTERVAL_SECONDS = 60.0
_MOST_RESULTS = 10_000
#: Reports of a day are sent over so many seconds after its end (RFC 8460 4.1)
_SPREAD_SECONDS = 4 * 3_600

_log = logging.getLogger(__name__)


class SessionCounts:
    """The sessions that this process opened since it last stored them; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, SessionResult]] = Counter()
        self._is_watched = False
        self._never = threading.Event()

    def count(self, result: SessionResult) -> None:
        """Count a session. Beyond a number of different results, new ones are left out."""
        key = (_day(clock.now()), result)
        with self._lock:
            if key in self._counts or len(self._counts) < _MOST_RESULTS:
                self._counts[key] += 1
            starts = not self._is_watched
            self._is_watched = True
        if starts:
            threading.Thread(target=self._watch, name="tls-counts", daemon=True).start()

    def flush(self, within: float = math.inf) -> None:
        """Store what was counted, of domains that want reports, for so many seconds at most.

        Failures are logged.
        """
        with self._lock:
            counts, self._counts = self._counts, Counter()
        until = clock.monotonic() + within
        for (day, result), sessions in counts.items():
            if clock.monotonic() > until:
                return
            try:
                if wants_reports(result.domain):
                    store.add(day, result, sessions)
                    due.add(due_entry(day, result.domain))
            except Exception:
                _log.exception("sessions for the TLS report of a domain were not counted")

    def _watch(self) -> None:
        while not self._never.wait(_INTERVAL_SECONDS):
            self.flush()


def due_entry(day: str, domain: str) -> Due:
    """Return the entry under which the report of a day is due: in the night after, spread out."""
    end = datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(days=1)
    spread = zlib.crc32(domain.encode()) % _SPREAD_SECONDS
    return Due(CONCERN, int(end.timestamp() + spread) * 1000, f"{day}#{domain}")


def _day(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"


session_counts = SessionCounts()
"""The counts of this process."""
