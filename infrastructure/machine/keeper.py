"""Look after a service on one machine: certificates, backups and alarms.

``python -m infrastructure.machine.keeper`` calls each chore again and again until SIGTERM, one
after the other in a thread of its own. A chore decides by the time whether there is something to
do; one that fails is called again, and holds up no other one for good.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from chalicelib.core import aws, clock
from chalicelib.core.settings import settings
from infrastructure.machine import settings as machine_settings
from infrastructure.machine.alarms import Alarms
from infrastructure.machine.backup.schedule import backup_schedules
from infrastructure.machine.certificates.keeper import certificate_keeper
from infrastructure.machine.conditions import conditions
from infrastructure.machine.configuration import service_names
from infrastructure.machine.settings import ACME, MachineSettings

_PAUSE_SECONDS = 10.0
_STOPPING = (signal.SIGTERM, signal.SIGINT)

_log = logging.getLogger(__name__)


class Chore(Protocol):
    """Something to look after."""

    def tend(self, now: float) -> None:
        """Do what is due at the time ``now``, in seconds."""


def chores(machine: MachineSettings) -> Iterator[Chore]:
    """Yield the chores of a machine."""
    data_dir = Path(machine.data_dir)
    if machine.tls == ACME:
        yield certificate_keeper(
            data_dir,
            service_names(settings()),
            machine.acme_directory,
            machine.admin_email,
            Path(machine.acme_ca) if machine.acme_ca else None,
        )
    yield Alarms(machine.admin_email, data_dir, list(conditions(machine)))
    yield from backup_schedules(machine)


def look_after(chore: Chore, stop: threading.Event, pause: float = _PAUSE_SECONDS) -> None:
    """Call a chore until ``stop`` is set."""
    while not stop.is_set():
        try:
            chore.tend(clock.now())
        except Exception:
            _log.exception("%s failed; it is called again", type(chore).__name__)
        stop.wait(pause)


def main() -> None:
    """Look after everything until SIGTERM."""
    # Blocked before threads exist, so that only the wait below takes them
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    aws.make_clients()
    stop = threading.Event()
    for chore in chores(machine_settings.load(os.environ)):
        name = type(chore).__name__
        threading.Thread(target=look_after, args=(chore, stop), name=name, daemon=True).start()
    signal.sigwait(_STOPPING)
    stop.set()
    # What a chore has begun is done again at the next start
    os._exit(0)


if __name__ == "__main__":
    main()
