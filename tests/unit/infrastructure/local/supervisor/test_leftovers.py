from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.local.supervisor import leftovers

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def test_what_an_earlier_supervisor_left_is_ended(
    sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    leftovers.remember(tmp_path / "pids", [sleeper.pid])
    assert leftovers.end(tmp_path / "pids") == 1
    assert sleeper.wait(10) < 0
    assert list(tmp_path.iterdir()) == []


def test_a_leftover_that_ignores_sigterm_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "PATIENCE", 0.5)
    process = subprocess.Popen([sys.executable, "-S", "-c", STUBBORN])
    leftovers.remember(tmp_path / "pids", [process.pid])
    assert leftovers.end(tmp_path / "pids") == 1
    assert process.wait(10) < 0


def test_another_process_with_the_same_id_is_left_alone(
    sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    (tmp_path / "pids").write_text(json.dumps({str(sleeper.pid): "12345"}))
    assert leftovers.end(tmp_path / "pids") == 0
    assert sleeper.poll() is None


@pytest.mark.parametrize("content", ["", "[1]", '{"a": "b"}', '{"1": ""}', '{"999999999": ""}'])
def test_a_file_that_names_no_process_ends_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "pids").write_text(content)
    assert leftovers.end(tmp_path / "pids") == 0


def test_without_a_file_nothing_is_ended(tmp_path: Path) -> None:
    assert leftovers.end(tmp_path / "pids") == 0


def test_a_process_is_told_by_its_start() -> None:
    assert leftovers.started_at(os.getpid())
    assert leftovers.started_at(999_999_999) == ""
