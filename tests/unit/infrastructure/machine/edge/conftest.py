"""An event loop whose time tests set."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.unit.infrastructure.machine.edge.connections import SetLoop


@pytest.fixture
def loop() -> Iterator[SetLoop]:
    loop = SetLoop()
    asyncio.set_event_loop(loop)
    yield loop
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.turn()
    asyncio.set_event_loop(None)
    loop.close()
