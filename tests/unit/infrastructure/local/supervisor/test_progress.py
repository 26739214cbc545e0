from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.local.supervisor import progress
from infrastructure.local.supervisor.progress import Progress


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock: a list with one value."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def write(proc: Path, state: str, ticks: int) -> None:
    (proc / "7").mkdir(exist_ok=True)
    fields = [state, *["0"] * 10, str(ticks), "1", *["0"] * 30]
    (proc / "7" / "stat").write_text(f"7 (a (name) R) {' '.join(fields)}")


@pytest.mark.parametrize(
    ("looks", "idle"),
    [
        ([("S", 1), ("S", 1), ("S", 1)], 20.0),
        ([("S", 1), ("S", 2), ("S", 3)], 0.0),
        ([("S", 1), ("S", 2), ("S", 2)], 10.0),
        ([("R", 1), ("R", 1), ("R", 1)], 0.0),  # it waits for a processor
        ([("D", 1), ("D", 1), ("D", 1)], 0.0),  # it waits for a disk
    ],
)
def test_a_process_is_idle_while_it_uses_no_processor_and_waits_for_none(
    looks: list[tuple[str, int]], idle: float, tmp_path: Path, time: list[float]
) -> None:
    process = Progress(7, tmp_path)
    seconds = 0.0
    for state, ticks in looks:
        write(tmp_path, state, ticks)
        seconds = process.idle_seconds()
        time[0] += 10
    assert seconds == idle


def test_a_process_of_which_the_system_tells_nothing_is_idle_from_the_start(
    tmp_path: Path, time: list[float]
) -> None:
    process = Progress(7, tmp_path)
    time[0] += 10
    assert process.idle_seconds() == 10.0
