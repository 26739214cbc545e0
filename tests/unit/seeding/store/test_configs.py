from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.accounts import store as accounts
from chalicelib.core.errors import Unavailable
from chalicelib.core.settings import settings
from chalicelib.seeding.model import Config
from chalicelib.seeding.store import configs
from tests.fake_cloud import aws_requests
from tests.unit.moving_clock import Clock
from tests.unit.people import make_account
from tests.unit.seeding.examples import SEEDS


def test_a_config_is_an_accounts(time: Clock) -> None:
    config = Config(2000, 40, 48, exclude=("a", "b*"))
    assert configs.config(1) is None
    assert configs.acting_config(1) is None
    configs.put_config(1, config)
    assert configs.config(1) == configs.acting_config(1) == config
    assert configs.config(2) is None


def test_of_two_changes_at_once_none_is_lost(time: Clock) -> None:
    for known in (None, Config(match=("a",))):
        came_between = []

        def change(
            old: Config | None, known: Config | None = known, came_between: list[int] = came_between
        ) -> Config:
            if not came_between:
                came_between.append(1)
                configs.change_config(1, lambda it: replace(it or Config(), threshold=2000))
                assert old == known
            return replace(old or Config(), duration=40)

        assert configs.change_config(1, change) == configs.config(1)
        changed = configs.config(1)
        assert changed is not None
        assert (changed.threshold, changed.duration) == (2000, 40)
        configs.put_config(1, Config(match=("a",)))


def test_a_config_that_replaces_another_while_that_is_changed_is_not_overwritten(
    time: Clock,
) -> None:
    configs.put_config(1, Config(match=("a",)))
    other = Config(match=("b",))

    def change(old: Config | None) -> Config:
        if old != other:
            configs.put_config(1, other)
        return replace(old or Config(), duration=40)

    assert configs.change_config(1, change) == replace(other, duration=40)


def test_a_change_that_others_overtake_again_and_again_is_refused(time: Clock) -> None:
    def change(old: Config | None) -> Config:
        configs.put_config(1, Config())
        return Config()

    with pytest.raises(Unavailable):
        configs.change_config(1, change)


def test_options_are_an_owners_and_off_at_first(time: Clock) -> None:
    assert configs.enabled(1) == set()
    assert not configs.is_enabled(1, 7)
    configs.set_enabled(1, 7, enabled=True)
    configs.set_enabled(1, 0, enabled=True)
    configs.set_enabled(1, 8, enabled=False)
    configs.set_enabled(2, 9, enabled=True)
    assert configs.enabled(1) == {0, 7}
    assert [configs.is_enabled(1, part) for part in (0, 7, 8, 9)] == [True, True, False, False]
    assert configs.acting_owners(1, [None, 7, 8, 9]) == {None, 7}


def test_the_accounts_option_wins(time: Clock) -> None:
    configs.set_enabled(1, 0, enabled=True)
    accounts.change(1, lambda account: replace(account, options={"inline_seeds": False}))
    assert configs.acting_owners(1, [None]) == set()
    accounts.change(1, lambda account: replace(account, options={"inline_seeds": True}))
    assert configs.acting_owners(1, [None]) == {None}


def test_what_counting_asks_for_is_remembered(time: Clock) -> None:
    with aws_requests() as made:
        for _ in range(3):
            configs.acting_config(1)
            configs.acting_owners(1, [None, 7])
    assert len(made) == 2


def test_an_accounts_own_addresses_win_over_those_of_all(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEED_ADDRESSES", "x@seeds.test, y@seeds.test")
    settings.cache_clear()
    make_account(2)
    assert configs.addresses(1) == SEEDS
    assert configs.addresses(2) == configs.addresses(None) == ["x@seeds.test", "y@seeds.test"]
    configs.put_addresses(None, ["all@seeds.test"])
    assert configs.addresses(1) == SEEDS
    assert configs.addresses(2) == configs.addresses(None) == ["all@seeds.test"]
    configs.put_addresses(1, [])
    assert configs.addresses(1) == ["all@seeds.test"]


def test_without_addresses_there_are_none(cloud: None) -> None:
    assert configs.addresses(1) == []
