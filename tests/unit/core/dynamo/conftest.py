"""Pauses that no test has to wait for."""

from __future__ import annotations

import time

import pytest


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let no test wait; return the pauses that would have been made."""
    made: list[float] = []
    monkeypatch.setattr(time, "sleep", made.append)
    return made
