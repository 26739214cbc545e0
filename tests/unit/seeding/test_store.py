from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.accounts import store as accounts
from chalicelib.core.settings import settings
from chalicelib.seeding import store
from chalicelib.seeding.model import Config
from tests.fake_cloud import aws_requests
from tests.unit.people import make_account
from tests.unit.seeding.examples import SEEDS, Time


def test_a_config_is_an_accounts(time: Time) -> None:
    config = Config(2000, 40, 48, exclude=("a", "b*"))
    assert store.config(1) is None
    assert store.acting_config(1) is None
    store.put_config(1, config)
    assert store.config(1) == store.acting_config(1) == config
    assert store.config(2) is None


def test_options_are_an_owners_and_off_at_first(time: Time) -> None:
    assert store.enabled(1) == set()
    assert not store.is_enabled(1, 7)
    store.set_enabled(1, 7, enabled=True)
    store.set_enabled(1, 0, enabled=True)
    store.set_enabled(1, 8, enabled=False)
    store.set_enabled(2, 9, enabled=True)
    assert store.enabled(1) == {0, 7}
    assert [store.is_enabled(1, part) for part in (0, 7, 8, 9)] == [True, True, False, False]
    assert store.acting_owners(1, [None, 7, 8, 9]) == {None, 7}


def test_the_accounts_option_wins(time: Time) -> None:
    store.set_enabled(1, 0, enabled=True)
    accounts.change(1, lambda account: replace(account, options={"inline_seeds": False}))
    assert store.acting_owners(1, [None]) == set()
    accounts.change(1, lambda account: replace(account, options={"inline_seeds": True}))
    assert store.acting_owners(1, [None]) == {None}


def test_what_counting_asks_for_is_remembered(time: Time) -> None:
    with aws_requests() as made:
        for _ in range(3):
            store.acting_config(1)
            store.acting_owners(1, [None, 7])
    assert len(made) == 2


def test_an_accounts_own_addresses_win_over_those_of_all(
    time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEED_ADDRESSES", "x@seeds.test, y@seeds.test")
    settings.cache_clear()
    make_account(2)
    assert store.addresses(1) == SEEDS
    assert store.addresses(2) == store.addresses(None) == ["x@seeds.test", "y@seeds.test"]
    store.put_addresses(None, ["all@seeds.test"])
    assert store.addresses(1) == SEEDS
    assert store.addresses(2) == store.addresses(None) == ["all@seeds.test"]
    store.put_addresses(1, [])
    assert store.addresses(1) == ["all@seeds.test"]


def test_without_addresses_there_are_none(cloud: None) -> None:
    assert store.addresses(1) == []
