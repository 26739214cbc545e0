from __future__ import annotations

import pytest

from chalicelib.core.settings import settings
from chalicelib.seeding.store import addresses
from tests.unit.moving_clock import Clock
from tests.unit.people import make_account
from tests.unit.seeding.examples import SEEDS


def test_an_accounts_own_addresses_win_over_those_of_all(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEED_ADDRESSES", "x@seeds.test, y@seeds.test")
    settings.cache_clear()
    make_account(2)
    assert addresses.of_account(1) == SEEDS
    assert addresses.of_account(2) == addresses.of_account(None) == ["x@seeds.test", "y@seeds.test"]
    addresses.put(None, ["all@seeds.test"])
    assert addresses.of_account(1) == SEEDS
    assert addresses.of_account(2) == addresses.of_account(None) == ["all@seeds.test"]
    addresses.put(1, [])
    assert addresses.of_account(1) == ["all@seeds.test"]


def test_an_account_has_no_addresses_by_default(cloud: None) -> None:
    assert addresses.of_account(1) == []
