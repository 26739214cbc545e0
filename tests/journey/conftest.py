"""Start the service once for all journeys, on free ports and in a temporary directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journey.service import Service


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running service that all journeys share; each uses different addresses.

    It ends before tests of other directories run: a service takes a few percent of a processor.
    """
    with Service(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def own_service(tmp_path: Path) -> Iterator[Service]:
    """A service that is not running yet, for a journey that stops or kills parts of it."""
    service = Service(tmp_path)
    yield service
    service.stop()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Service]:
    """A service on another machine, whose data directory does not exist yet."""
    service = Service(tmp_path / "elsewhere")
    yield service
    service.stop()
