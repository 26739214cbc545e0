from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from infrastructure.local.supervisor import open_files
from infrastructure.local.supervisor.data_folder import ConfigError
from tests.unit.infrastructure.clouds import ROOT

UNLIMITED = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((256, UNLIMITED), [(4096, UNLIMITED)]),
        ((1024, 2048), [(2048, 2048)]),
        ((512, 512), []),
        ((65536, 65536), []),
        ((UNLIMITED, UNLIMITED), []),
    ],
)
def test_the_limit_is_raised_as_far_as_needed_and_allowed(
    before: tuple[int, int], after: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: before)
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: limits.append(limit))
    open_files.allow()
    assert limits == after


def test_too_few_files_are_refused_with_the_command_that_helps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    with pytest.raises(ConfigError, match=r"64 files .* 512: .*ulimit -n 4096"):
        open_files.allow()


def test_the_start_with_few_files_ends_with_one_line(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "infrastructure.local.run"],
        cwd=ROOT,
        env={**os.environ, "DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
        check=False,
    )
    assert process.returncode == 2
    assert process.stderr.count("\n") == 1
    assert "ulimit -n" in process.stderr
