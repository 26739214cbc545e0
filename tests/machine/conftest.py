"""One machine and its surroundings, for the tests that leave it running."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.machine.machine import Machine
from tests.machine.outside import Outside, outside


@pytest.fixture(scope="package")
def place() -> Iterator[Outside]:
    with outside() as running:
        yield running


@pytest.fixture(scope="package")
def machine(place: Outside, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("machine")
    with Machine(folder, **place.environment()) as running:
        running.add_domain(place.zone)
        yield running
