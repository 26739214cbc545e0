"""Replace `time.sleep`, so that no test waits."""

from __future__ import annotations

import time

import pytest


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Skip all pauses; return the list in which they are noted, in seconds."""
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    return pauses
