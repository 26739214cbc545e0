"""Test the health of the delivery container."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from outbound import health


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_container_that_has_not_started_is_not_healthy() -> None:
    assert health.silent_processes() == [0]


def test_each_process_must_have_had_an_answer_lately(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    health.expect(2)
    assert health.silent_processes() == [0, 1]
    health.beat(0)
    health.beat(1)
    assert health.main() == 0
    (file,) = directory.glob("*/process-1")
    past = time.time() - health.LONGEST_SILENCE - 1
    os.utime(file, (past, past))
    assert health.main() == 1
    assert capsys.readouterr().err == "delivery process 1 does not get messages from SQS\n"


def test_a_new_start_forgets_earlier_processes() -> None:
    health.expect(1)
    health.beat(0)
    health.expect(1)
    assert health.silent_processes() == [0]


def test_a_container_with_a_wrong_setting_ends_with_one_line() -> None:
    command = [sys.executable, "-m", "outbound"]
    environment = os.environ | {"DELIVERY_PROCESSES": "-1"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "DELIVERY_PROCESSES='-1' is not allowed: it must be a whole number, 0 or more"
    ]
