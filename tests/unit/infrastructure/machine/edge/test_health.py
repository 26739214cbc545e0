from __future__ import annotations

import json

import pytest

from infrastructure.machine.edge import health
from infrastructure.machine.edge.health import SECONDS_KEPT, Health


class Time:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr(health, "time", time)
    return time


@pytest.mark.usefixtures("time")
def test_all_parts_must_work() -> None:
    status, kind, body = Health({"storage": lambda: True, "smtp": lambda: False}).answer(None)
    assert (status, kind) == (503, "application/json")
    parts = {"storage": "ok", "smtp": "failing"}
    assert json.loads(body) == {"status": "failing", "parts": parts}
    status, _, body = Health({"storage": lambda: True}).answer(None)
    assert (status, json.loads(body)["status"]) == (200, "ok")


def test_questions_in_a_row_cost_one_look(time: Time) -> None:
    looks: list[float] = []

    def check() -> bool:
        looks.append(time.now)
        return True

    checked = Health({"storage": check})
    for _ in range(3):
        checked.parts()
    time.now += SECONDS_KEPT
    checked.parts()
    assert looks == [100.0, 100.0 + SECONDS_KEPT]
