from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.seeding.store import addresses
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account
from tests.unit.seeding.examples import SEEDS, START


@pytest.fixture
def time(cloud: None) -> Iterator[Clock]:
    """Make an account with seed addresses, at a time that the test moves."""
    with moving_clock(START / 1000) as moving:
        make_account()
        addresses.put(1, SEEDS)
        yield moving
