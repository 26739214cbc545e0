"""Replace `time.sleep`, so that no test waits."""

from __future__ import annotations

import threading
import time

import pytest


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Skip all pauses of the test; return the list in which they are noted, in seconds.

    Threads that other tests left, such as one of MiniStack's that wakes up each minute, do sleep.
    """
    pauses: list[float] = []
    sleep = time.sleep
    others = {each.ident for each in threading.enumerate()} - {threading.get_ident()}

    def pause(seconds: float) -> None:
        if threading.get_ident() in others:
            sleep(seconds)
        else:
            pauses.append(seconds)

    monkeypatch.setattr(time, "sleep", pause)
    return pauses
