from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from chalicelib.core.settings import settings
from chalicelib.transmissions import system_mail
from infrastructure.machine import alarms
from infrastructure.machine.alarms import AGAIN_SECONDS, LOOK_SECONDS, Alarm, Alarms

ADMIN = "ann@a.test"


class Disk:
    """A condition that tests set."""

    texts: Mapping[str, str] = {}
    looks = 0

    def __call__(self, now: float) -> Mapping[str, str]:
        self.looks += 1
        return self.texts


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def mail(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    subjects: list[str] = []

    def send(*, to: str, subject: str, text: str) -> None:
        assert to == ADMIN
        subjects.append(subject.removeprefix(f"{settings().system_domain}: "))

    monkeypatch.setattr(system_mail, "send", send)
    return subjects


FULL = {"disk": "The disk is full. 1 GB is free."}


def test_the_beginning_and_the_end_are_told_once(
    disk: Disk, mail: list[str], tmp_path: Path
) -> None:
    watch = Alarms(ADMIN, tmp_path, [disk])
    for now, texts in enumerate([{}, FULL, FULL, {}, {}]):
        disk.texts = texts
        watch.look(1_000_000.0 + now)
    assert mail == ["The disk is full", "over: The disk is full"]


def test_what_lasts_is_told_every_day(disk: Disk, mail: list[str], tmp_path: Path) -> None:
    disk.texts = FULL
    watch = Alarms(ADMIN, tmp_path, [disk])
    for now in (1_000_000.0, 999_999.0 + AGAIN_SECONDS, 1_000_000.0 + AGAIN_SECONDS):
        watch.look(now)
    assert len(mail) == 2


def test_a_restart_tells_nothing_twice(disk: Disk, mail: list[str], tmp_path: Path) -> None:
    disk.texts = FULL
    Alarms(ADMIN, tmp_path, [disk]).look(1_000_000.0)
    disk.texts = {"disk": "The disk is fuller."}
    Alarms(ADMIN, tmp_path, [disk]).look(1_000_100.0)
    assert len(mail) == 1
    (alarm,) = alarms.read(tmp_path / alarms.FILE).values()
    assert alarm == Alarm("The disk is fuller.", 1_000_000.0, 1_000_000.0)


def test_a_torn_file_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / alarms.FILE
    for text in ('{"disk": {"tex', "[]", '{"disk": {"text": "x"}}', '{"disk": 1}'):
        path.write_text(text)
        assert alarms.read(path) == {}


def test_it_looks_once_a_minute(disk: Disk, tmp_path: Path) -> None:
    watch = Alarms(ADMIN, tmp_path, [disk])
    for now in (0.0, LOOK_SECONDS - 1, LOOK_SECONDS, LOOK_SECONDS + 1):
        watch.tend(now)
    assert disk.looks == 2


def test_a_condition_that_fails_hides_no_other(disk: Disk, mail: list[str], tmp_path: Path) -> None:
    def fail(now: float) -> Mapping[str, str]:
        raise OSError("no such file")

    disk.texts = FULL
    Alarms(ADMIN, tmp_path, [fail, disk]).look(1_000_000.0)
    assert mail == ["The disk is full"]


def test_without_an_address_the_log_alone_tells(
    disk: Disk, mail: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk.texts = FULL
    Alarms("", tmp_path, [disk]).look(1_000_000.0)
    assert mail == []
    assert "alarm is wrong: The disk is full." in caplog.text


def test_mail_that_cannot_leave_keeps_no_alarm_from_being_kept(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**content: str) -> None:
        raise RuntimeError("no disk for mail")

    monkeypatch.setattr(system_mail, "send", fail)
    disk.texts = FULL
    Alarms(ADMIN, tmp_path, [disk]).look(1_000_000.0)
    assert alarms.read(tmp_path / alarms.FILE).keys() == {"disk"}
