from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.local.sink.server import SinkOptions
from tests.unit.infrastructure.local.running import RunningSink, Web, running_sink, running_web


@pytest.fixture
def web() -> Iterator[Web]:
    with running_web() as web:
        yield web


@pytest.fixture
def inbound(tmp_path: Path) -> Iterator[RunningSink]:
    """A second sink, to which the first one mails its reports."""
    with running_sink(tmp_path / "inbound") as inbound:
        yield inbound


@pytest.fixture
def sink(tmp_path: Path, inbound: RunningSink) -> Iterator[RunningSink]:
    options = SinkOptions(
        inbound=("127.0.0.1", inbound.port), behaviour_delay=0.02, slow_seconds=1.0
    )
    with running_sink(tmp_path / "sink", options) as sink:
        yield sink
