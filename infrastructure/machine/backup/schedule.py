"""Make a backup every day, or as often as the operator says, and keep the latest ones."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infrastructure.machine import config_file
from infrastructure.machine.backup.create import create_backup
from infrastructure.machine.backup.errors import BackupError
from infrastructure.machine.backup.new_file import PARTIAL
from infrastructure.machine.backup.status import BackupStatus, backup_status, write_status
from infrastructure.machine.settings import MachineSettings

_NAME = re.compile(r"postfinch-\d{8}T\d{6}Z\.backup", re.ASCII)
# What a process leaves that was killed while it wrote a backup
_LEFTOVERS = re.compile(rf"{_NAME.pattern}{re.escape(PARTIAL)}[.\w]*", re.ASCII)
_HOUR = 3_600.0
_NICENESS = 10

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """Which data directory is copied into which folder, how often, and how many backups stay.

    ``hours`` are between two backups. ``passphrase`` and ``configuration`` are those of
    :func:`create_backup`.
    """

    data_dir: Path
    directory: Path
    hours: float = 24.0
    keep: int = 7
    passphrase: str = ""
    configuration: Path | None = None


def backup_schedules(machine: MachineSettings) -> Iterator[BackupSchedule]:
    """Yield the schedule of a machine, if it has a folder for backups."""
    if machine.backup_dir:
        plan = BackupPlan(
            Path(machine.data_dir),
            Path(machine.backup_dir),
            machine.backup_every,
            machine.backup_keep,
            machine.backup_passphrase,
            config_file.path_of(os.environ),
        )
        yield BackupSchedule(plan)


class BackupSchedule:
    """Makes the backups of a plan, each in a thread of its own and behind the work of others.

    A failure is logged and in the status; the next attempt is an hour later at the latest.
    """

    def __init__(self, plan: BackupPlan, create: Callable[..., Any] = create_backup) -> None:
        self._plan = plan
        self._create = create
        self._status = backup_status(plan.data_dir)
        self._thread: threading.Thread | None = None

    def tend(self, now: float) -> None:
        """Begin a backup if it is time, and none is under way; ``now`` is in epoch seconds."""
        if self._thread is not None and self._thread.is_alive():
            return
        if self._is_due(now):
            self._thread = threading.Thread(
                target=self._run, args=(now,), name="backup", daemon=True
            )
            self._thread.start()

    def wait(self) -> None:
        """Return when no backup is under way."""
        if self._thread is not None:
            self._thread.join()

    def _is_due(self, now: float) -> bool:
        status, pause = self._status, self._plan.hours * _HOUR
        latest = status.success
        if status.is_failing:
            latest, pause = status.failure, min(pause, _HOUR)
        # The clock may have been set back
        return latest is None or not 0 <= now - latest < pause

    def _run(self, now: float) -> None:
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        try:
            path = self._back_up(now)
        except Exception as error:
            expected = isinstance(error, BackupError | OSError)
            _log.error("the backup failed: %s", error, exc_info=None if expected else error)
            self._note(replace(self._status, failure=now, text=str(error), is_failing=True))
        else:
            _log.info("%s is complete", path)
            self._note(replace(self._status, success=now, path=str(path), is_failing=False))

    def _back_up(self, now: float) -> Path:
        plan = self._plan
        plan.directory.mkdir(mode=0o700, exist_ok=True)
        for path in _matching(plan.directory, _LEFTOVERS):
            path.unlink(missing_ok=True)
        time = datetime.fromtimestamp(now, UTC)
        path = plan.directory / f"postfinch-{time:%Y%m%dT%H%M%SZ}.backup"
        self._create(
            plan.data_dir, path, passphrase=plan.passphrase, configuration=plan.configuration
        )
        others = [each for each in _matching(plan.directory, _NAME) if each != path]
        for each in others[: max(0, len(others) - plan.keep + 1)]:
            each.unlink(missing_ok=True)
        return path

    def _note(self, status: BackupStatus) -> None:
        self._status = status
        try:
            write_status(self._plan.data_dir, status)
        except OSError:
            _log.exception("the status of the backups cannot be written")


def _matching(directory: Path, pattern: re.Pattern[str]) -> list[Path]:
    """Return the files with such a name, the oldest first."""
    return sorted(path for path in directory.iterdir() if pattern.fullmatch(path.name))
