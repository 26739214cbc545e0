"""Hold the lease on a work unit while its messages are attempted, from several threads.

A process that stays calls :func:`renew_all` again and again. Its leases then last while it lives,
however long a mail host takes, and may be short: if it is killed, another one goes on soon.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from weakref import WeakSet

from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.work_units import LeaseLost, UnitLease, WorkUnit


class LeaseHolder:
    """A lease that is renewed when half of its time is over, until it is closed."""

    def __init__(self, unit: WorkUnit, lease: UnitLease) -> None:
        self._unit = unit
        self._lease = lease
        self._lock = threading.Lock()
        self._is_lost = False
        self._is_closed = False
        _open.add(self)

    @property
    def lease(self) -> UnitLease:
        """The lease in force."""
        return self._lease

    def close(self) -> None:
        """Let :func:`renew_all` renew the lease no more."""
        with self._lock:
            self._is_closed = True
        _open.discard(self)

    def renew(self) -> None:
        """Make sure of the lease; raises :class:`LeaseLost` if another worker has the unit.

        This makes no request in the first half of the lease. A worker that was paused, or whose
        machine was suspended, learns here that it was away for too long.
        """
        with self._lock:
            self._renew()

    def renew_if_open(self) -> None:
        """Renew the lease unless it is closed; who lost it learns that at its next commit."""
        with self._lock, suppress(LeaseLost):
            if not self._is_closed:
                self._renew()

    def _renew(self) -> None:
        if self._is_lost:
            raise LeaseLost(str(self._unit))
        try:
            self._lease = work_units.renew(self._unit, self._lease)
        except LeaseLost:
            self._is_lost = True
            raise


_open: WeakSet[LeaseHolder] = WeakSet()


def renew_all() -> None:
    """Renew the leases of all units that this process works on."""
    for holder in list(_open):
        holder.renew_if_open()
