"""One machine and its surroundings, for the tests that leave it running."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.machine.machine import Machine, SecureMachine
from tests.machine.outside import Outside, outside
from tests.machine.stranger import Stranger, can_have_networks, network


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


@pytest.fixture(scope="package")
def stranger(place: Outside, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stranger]:
    """A client in another network, and the machine under TLS that it attacks."""
    if not can_have_networks():
        pytest.skip("needs root, iproute2 and network namespaces")
    folder = tmp_path_factory.mktemp("attacked")
    with network() as joined, SecureMachine(folder, **place.environment()) as running:
        running.add_domain(place.zone)
        yield Stranger(joined, running)
