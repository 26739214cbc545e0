from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core import clock
from chalicelib.seeding.store import configs
from tests.unit.people import make_account
from tests.unit.seeding.examples import SEEDS, Time


@pytest.fixture
def time(cloud: None) -> Iterator[Time]:
    """An account with seed addresses, at a time that the test moves."""
    moving = Time()
    with clock.use(moving):
        make_account()
        configs.put_addresses(1, SEEDS)
        yield moving
