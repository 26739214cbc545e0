from __future__ import annotations

import os
from pathlib import Path

import pytest

from relay.cores import usable_cores


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("max 100000", 4),
        ("50000 100000", 1),
        ("150000 100000", 2),
        ("900000 100000", 4),
        ("", 4),
    ],
)
def test_a_quota_bounds_the_cores(
    quota: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    assert usable_cores(tmp_path / "cpu.max") == cores
    assert usable_cores(tmp_path / "none") == 4
