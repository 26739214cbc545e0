"""Hold the lease on a work unit while its messages are attempted, from several threads."""

from __future__ import annotations

import threading

from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.work_units import LeaseLost, UnitLease, WorkUnit


class LeaseHolder:
    """A lease that is renewed when half of its time is over."""

    def __init__(self, unit: WorkUnit, lease: UnitLease) -> None:
        self._unit = unit
        self._lease = lease
        self._lock = threading.Lock()
        self._is_lost = False

    @property
    def lease(self) -> UnitLease:
        """The lease in force."""
        return self._lease

    def renew(self) -> None:
        """Make sure of the lease; raises :class:`LeaseLost` if another worker has the unit.

        This makes no request in the first half of the lease. A worker that was paused, or whose
        machine was suspended, learns here that it was away for too long.
        """
        with self._lock:
            if self._is_lost:
                raise LeaseLost(str(self._unit))
            try:
                self._lease = work_units.renew(self._unit, self._lease)
            except LeaseLost:
                self._is_lost = True
                raise
