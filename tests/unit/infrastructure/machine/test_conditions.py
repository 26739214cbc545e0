from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from infrastructure.local import figures
from infrastructure.machine import conditions
from infrastructure.machine.certificates.tls_files import TlsFiles
from infrastructure.machine.conditions import (
    FAILING_SECONDS,
    LONG_QUEUE,
    QUEUE_SECONDS,
    Parts,
    Queues,
)
from infrastructure.machine.edge.health import SECONDS_KEPT, Health
from infrastructure.machine.settings import MachineSettings
from tests.unit.infrastructure.machine.certificates.issuing import (
    DAY,
    NOW,
    issued_pair,
    store_tracking_certificate,
)

Usage = namedtuple("Usage", "total used free")
MINUTE = 60.0


@pytest.mark.parametrize(("free", "is_told"), [(16, False), (14, True), (0, True)])
def test_a_disk_is_told_from_85_percent_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, is_told: bool
) -> None:
    usage = Usage(100 * 10**9, (100 - free) * 10**9, free * 10**9)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    texts = conditions.disk(tmp_path)
    assert list(texts) == (["disk"] if is_told else [])
    if is_told:
        assert f"{100 - free}% full. {free}.0 GB are free" in texts["disk"]


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    counts: dict[str, int] = {}
    monkeypatch.setattr(figures, "counts_of_queues", lambda: dict(counts))
    return counts


def test_dead_letters_are_told_at_once(counts: dict[str, int]) -> None:
    counts.update({"events": 0, "events-dead": 3, "delivery-dead": 0})
    texts = Queues()(0.0)
    assert list(texts) == ["dead letters/events"]
    assert "redrive-dead-letters events" in texts["dead letters/events"]


def _told_at(counts: dict[str, int], lengths: list[int]) -> list[float]:
    """Return the minutes at which a queue with these lengths, minute by minute, is told."""
    queues = Queues()
    minutes = []
    for minute, counts["delivery"] in enumerate(lengths):
        if queues(minute * MINUTE):
            minutes.append(minute)
    return minutes


def test_a_long_queue_that_grows_is_told_after_half_an_hour(counts: dict[str, int]) -> None:
    lengths = [LONG_QUEUE + 100 * minute for minute in range(40)]
    assert _told_at(counts, lengths)[0] == QUEUE_SECONDS / MINUTE


def test_a_long_queue_that_shrinks_is_not_told(counts: dict[str, int]) -> None:
    assert _told_at(counts, [9_000 - 100 * minute for minute in range(60)]) == []


def test_a_long_queue_that_stays_is_not_told(counts: dict[str, int]) -> None:
    assert _told_at(counts, [2 * LONG_QUEUE] * 60) == []


def test_a_queue_that_was_short_meanwhile_is_not_told(counts: dict[str, int]) -> None:
    lengths = [LONG_QUEUE + 100 * minute for minute in range(60)]
    lengths[20] = LONG_QUEUE - 1
    assert _told_at(counts, lengths[:51]) == []
    counts.clear()
    assert _told_at(counts, lengths)[0] == 51


def test_a_part_is_told_when_it_fails_for_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    works = {"smtp": False, "storage": True}
    health = Health({name: lambda name=name: works[name] for name in works})
    parts = Parts(health)

    def look(now: float) -> list[str]:
        health._checked_at -= SECONDS_KEPT
        return list(parts(now))

    assert look(0.0) == []
    assert look(FAILING_SECONDS - 1) == []
    assert look(FAILING_SECONDS) == ["part/smtp"]
    works["smtp"] = True
    assert look(FAILING_SECONDS + 1) == []
    works["smtp"] = False
    assert look(FAILING_SECONDS + 2) == []


def test_a_certificate_that_should_have_been_renewed_is_told(tmp_path: Path) -> None:
    files = TlsFiles(tmp_path)
    files.make_folders()
    store_tracking_certificate(tmp_path, "b.test", issued_pair(["b.test"], days=10))
    machine = MachineSettings(data_dir=str(tmp_path))
    path = files.tracking_file("b.test")
    assert f"certificate/{path}" not in conditions.certificates(machine, NOW + DAY)
    texts = conditions.certificates(machine, NOW + 9 * DAY)
    assert "The certificate of b.test is not renewed." in texts[f"certificate/{path}"]
    assert "It ends at " in texts[f"certificate/{path}"]


def test_files_of_ones_own_are_told_too(tmp_path: Path) -> None:
    TlsFiles(tmp_path).make_folders()
    pair = issued_pair(["mail.a.test"], days=10)
    certificate, key = tmp_path / "own.pem", tmp_path / "own.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    machine = MachineSettings(
        data_dir=str(tmp_path), tls="files", tls_certificate=str(certificate), tls_key=str(key)
    )
    assert conditions.certificates(machine, NOW + DAY) == {}
    assert list(conditions.certificates(machine, NOW + 9 * DAY)) == [f"certificate/{certificate}"]
