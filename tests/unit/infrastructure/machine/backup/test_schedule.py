from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infrastructure.machine.backup.errors import BackupError
from infrastructure.machine.backup.restore import restore_backup
from infrastructure.machine.backup.schedule import BackupPlan, BackupSchedule
from infrastructure.machine.backup.status import BackupStatus, backup_status

#: 2026-11-27 18:00:00 UTC
START = 1_795_802_400.0
HOUR = 3_600.0


class Copies:
    """Stands in for the copying, which other tests show."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.options: list[dict[str, Any]] = []
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, data_dir: Path, path: Path, **options: Any) -> None:
        assert self.gate.wait(60)
        self.options.append(options)
        if self.failure:
            raise self.failure
        path.touch()


@pytest.fixture
def copies() -> Copies:
    return Copies()


@pytest.fixture
def plan(tmp_path: Path) -> BackupPlan:
    (tmp_path / "data").mkdir()
    return BackupPlan(tmp_path / "data", tmp_path / "backups", hours=24, keep=3)


@pytest.fixture
def tend(plan: BackupPlan, copies: Copies) -> Callable[[float], list[str]]:
    """Tend the schedule some hours after the start; return the names of the backups."""
    schedule = BackupSchedule(plan, copies)

    def tend_at(hours: float) -> list[str]:
        schedule.tend(START + hours * HOUR)
        schedule.wait()
        return names(plan)

    return tend_at


def names(plan: BackupPlan) -> list[str]:
    return sorted(path.name for path in plan.directory.iterdir())


def test_the_first_backup_is_made_at_once_and_the_next_after_the_hours_of_the_plan(
    tend: Callable[[float], list[str]], plan: BackupPlan
) -> None:
    first = "postfinch-20261127T180000Z.backup"
    assert tend(0) == [first]
    assert tend(23.99) == [first]
    assert tend(24) == [first, "postfinch-20261128T180000Z.backup"]
    latest = str(plan.directory / "postfinch-20261128T180000Z.backup")
    assert backup_status(plan.data_dir) == BackupStatus(START + 24 * HOUR, latest)


def test_a_restart_does_not_make_another_backup(plan: BackupPlan, copies: Copies) -> None:
    for hours in (0, 1, 23):
        schedule = BackupSchedule(plan, copies)
        schedule.tend(START + hours * HOUR)
        schedule.wait()
    assert len(copies.options) == 1


def test_only_the_latest_backups_stay_and_no_other_file_goes(
    tend: Callable[[float], list[str]], plan: BackupPlan
) -> None:
    plan.directory.mkdir()
    others = ["my.backup", "postfinch-20200101T000000Z.backup.gpg", "postfinch-2020.backup"]
    for name in others:
        (plan.directory / name).touch()
    for day in range(6):
        tend(24 * day)
    latest = [f"postfinch-202611{27 + day}T180000Z.backup" for day in (3,)]
    latest += [f"postfinch-2026120{day}T180000Z.backup" for day in (1, 2)]
    assert names(plan) == sorted(latest + others)


def test_nothing_is_removed_when_a_backup_fails(
    tend: Callable[[float], list[str]], copies: Copies
) -> None:
    tend(0), tend(24), tend(48)
    copies.failure = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/backups")
    assert len(tend(72)) == 3


def test_a_failure_is_in_the_status_and_logged_and_tried_again_after_an_hour(
    tend: Callable[[float], list[str]],
    plan: BackupPlan,
    copies: Copies,
    caplog: pytest.LogCaptureFixture,
) -> None:
    tend(0)
    copies.failure = BackupError("the database is damaged")
    tend(24)
    status = backup_status(plan.data_dir)
    assert status.is_failing
    assert (status.success, status.failure) == (START, START + 24 * HOUR)
    assert status.text == "the database is damaged"
    assert "the backup failed: the database is damaged" in caplog.text
    copies.failure = None
    tend(24.9)
    assert len(copies.options) == 2
    tend(25)
    assert len(copies.options) == 3
    status = backup_status(plan.data_dir)
    assert not status.is_failing
    assert (status.success, status.failure) == (START + 25 * HOUR, START + 24 * HOUR)


def test_a_failure_that_nobody_expected_does_not_end_the_schedule(
    tend: Callable[[float], list[str]],
    plan: BackupPlan,
    copies: Copies,
    caplog: pytest.LogCaptureFixture,
) -> None:
    copies.failure = ZeroDivisionError("?")
    tend(0)
    assert backup_status(plan.data_dir).text == "?"
    assert any(record.exc_info for record in caplog.records)
    copies.failure = None
    assert tend(1)


def test_a_plan_with_short_pauses_is_tried_again_no_later(plan: BackupPlan, copies: Copies) -> None:
    schedule = BackupSchedule(BackupPlan(plan.data_dir, plan.directory, hours=0.5), copies)
    copies.failure = BackupError("?")
    for hours in (0, 0.4, 0.5):
        schedule.tend(START + hours * HOUR)
        schedule.wait()
    assert len(copies.options) == 2


def test_a_clock_that_is_set_back_does_not_stop_the_backups(
    tend: Callable[[float], list[str]], copies: Copies
) -> None:
    tend(1000)
    assert "postfinch-20261127T180000Z.backup" in tend(0)
    tend(1)
    assert len(copies.options) == 2


def test_no_second_backup_begins_while_one_is_under_way(plan: BackupPlan, copies: Copies) -> None:
    schedule = BackupSchedule(plan, copies)
    copies.gate.clear()
    schedule.tend(START)
    schedule.tend(START + 48 * HOUR)
    copies.gate.set()
    schedule.wait()
    assert len(copies.options) == 1


def test_what_a_killed_process_left_is_removed(
    tend: Callable[[float], list[str]], plan: BackupPlan
) -> None:
    plan.directory.mkdir()
    name = "postfinch-20261126T180000Z.backup.partial"
    for leftover in (name, f"{name}.sqlite3"):
        (plan.directory / leftover).touch()
    assert tend(0) == ["postfinch-20261127T180000Z.backup"]


def test_a_folder_that_cannot_be_made_is_a_failure(
    plan: BackupPlan, copies: Copies, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    schedule = BackupSchedule(BackupPlan(plan.data_dir, Path("/proc/nowhere/backups")), copies)
    schedule.tend(START)
    schedule.wait()
    assert backup_status(plan.data_dir).is_failing
    assert copies.options == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"other": 1}'])
def test_a_damaged_status_counts_as_none(plan: BackupPlan, text: str) -> None:
    (plan.data_dir / "backup-status.json").write_text(text)
    assert backup_status(plan.data_dir) == BackupStatus()


def test_a_backup_of_the_schedule_can_be_restored(data_dir: Path, tmp_path: Path) -> None:
    configuration = tmp_path / "postfinch.toml"
    configuration.write_text("domain = 'example.test'")
    directory = tmp_path / "backups"
    plan = BackupPlan(data_dir, directory, passphrase="horse", configuration=configuration)
    schedule = BackupSchedule(plan)
    schedule.tend(START)
    schedule.wait()
    (path,) = directory.iterdir()
    assert backup_status(data_dir).path == str(path)
    restore_backup(path, tmp_path / "new", passphrase="horse")
    restored = tmp_path / "new" / "postfinch.toml"
    assert restored.read_text() == configuration.read_text()
    assert not (tmp_path / "new" / "backup-status.json").exists()
