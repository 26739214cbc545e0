"""Find what the administrator of a machine is told: full disks, long queues, failing parts."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from infrastructure.local import figures
from infrastructure.local.figures import DEAD
from infrastructure.machine.alarms import Condition
from infrastructure.machine.backup.status import backup_alarms
from infrastructure.machine.certificates.status import (
    CertificateStatus,
    certificate_status,
    file_status,
)
from infrastructure.machine.configuration import own_files
from infrastructure.machine.edge.health import Health, accepting, working
from infrastructure.machine.settings import ACME, MachineSettings

MOST_DISK = 0.85
#: A queue grows if it had so many messages for so many seconds, and has a quarter more than before
LONG_QUEUE = 1_000
QUEUE_SECONDS = 1_800.0
_GROWTH = 1.25
#: A part fails if it has failed for so long
FAILING_SECONDS = 300.0


def conditions(machine: MachineSettings) -> Iterator[Condition]:
    """Yield the conditions of a machine."""
    data_dir = Path(machine.data_dir)
    yield lambda now: disk(data_dir)
    yield lambda now: certificates(machine, now)
    yield Queues()
    yield lambda now: backup_alarms(data_dir)
    yield Parts(Health(accepting() | working()))


def disk(data_dir: Path) -> Mapping[str, str]:
    """Tell when the disk of the data is 85 percent full."""
    usage = shutil.disk_usage(data_dir)
    share = 1 - usage.free / usage.total
    if share < MOST_DISK:
        return {}
    text = (
        f"The disk of {data_dir} is {share:.0%} full. "
        f"{usage.free / 1e9:.1f} GB are free; without room no mail is accepted."
    )
    return {"disk": text}


def certificates(machine: MachineSettings, now: float) -> Mapping[str, str]:
    """Tell of certificates that should have been renewed."""
    files = own_files(machine)
    statuses = certificate_status(Path(machine.data_dir), now, wants_acme=machine.tls == ACME)
    if files is not None:
        statuses[0] = file_status(files, now)
    return {
        f"certificate/{status.path}": _certificate_text(status)
        for status in statuses
        if status.does_not_renew
    }


def _certificate_text(status: CertificateStatus) -> str:
    end = ""
    if status.not_after is not None:
        end = f" It ends at {datetime.fromtimestamp(status.not_after, UTC):%Y-%m-%d %H:%M} UTC."
    failure = f" The authority said: {status.failure}" if status.failure else ""
    return f"The certificate of {', '.join(status.names)} is not renewed.{end}{failure}"


class Queues:
    """Tells of queues with dead letters, and of those that grow."""

    def __init__(self) -> None:
        self._history: dict[str, deque[tuple[float, int]]] = {}

    def __call__(self, now: float) -> Mapping[str, str]:
        """Look at all queues."""
        texts: dict[str, str] = {}
        for name, count in figures.counts_of_queues().items():
            if name.endswith(DEAD):
                queue = name.removesuffix(DEAD)
                if count:
                    texts[f"dead letters/{queue}"] = (
                        f"{count} messages of the queue {queue} failed too often. They are not "
                        "handled; once the cause is repaired: `postfinch admin --local "
                        f"redrive-dead-letters {queue}`."
                    )
            elif self._grows(name, now, count):
                texts[f"queue/{name}"] = (
                    f"The queue {name} grows. {count} messages wait in it: mail comes in faster "
                    "than it is handled, or what handles it is held up."
                )
        return texts

    def _grows(self, name: str, now: float, count: int) -> bool:
        history = self._history.setdefault(name, deque())
        history.append((now, count))
        while history[0][0] < now - QUEUE_SECONDS:
            since, first = history.popleft()
            if not history or history[0][0] > now - QUEUE_SECONDS:
                history.appendleft((since, first))
                break
        is_long = all(each >= LONG_QUEUE for _, each in history)
        is_watched = now - history[0][0] >= QUEUE_SECONDS
        return is_long and is_watched and count >= history[0][1] * _GROWTH


class Parts:
    """Tells of parts that have failed for some time, not of a restart."""

    def __init__(self, health: Health) -> None:
        self._health = health
        self._failing_since: dict[str, float] = {}

    def __call__(self, now: float) -> Mapping[str, str]:
        """Look at all parts."""
        texts: dict[str, str] = {}
        for name, works in self._health.parts().items():
            if works:
                self._failing_since.pop(name, None)
            elif now - self._failing_since.setdefault(name, now) >= FAILING_SECONDS:
                texts[f"part/{name}"] = f"The part {name} does not work. Its log lines say why."
        return texts
