"""Fixtures for webhook dispatch: a simulation, and a target on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core.settings import settings
from tests.http_target import Target, serving
from tests.unit.webhook_dispatch.simulation import Simulation


@pytest.fixture
def world(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Simulation]:
    """A simulation in which targets on this machine are allowed."""
    monkeypatch.setenv("ALLOW_PRIVATE_ADDRESSES", "true")
    monkeypatch.setenv("WEBHOOK_TIMEOUT", "5")
    settings.cache_clear()
    with Simulation().running() as simulation:
        yield simulation


@pytest.fixture
def target() -> Iterator[Target]:
    """A target that answers every post with 200 unless the test changes that."""
    with serving() as running:
        yield running
