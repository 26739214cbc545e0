from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.accounts.store import accounts
from chalicelib.core.errors import Unavailable
from chalicelib.seeding.model import Config
from chalicelib.seeding.store import configs
from tests.fake_cloud import aws_requests
from tests.unit.moving_clock import Clock


def test_a_config_belongs_to_one_account(time: Clock) -> None:
    config = Config(2000, 40, 48, exclude=("a", "b*"))
    assert configs.config(1) is None
    assert configs.cached_config(1) is None
    configs.put_config(1, config)
    assert configs.config(1) == configs.cached_config(1) == config
    assert configs.config(2) is None


def test_two_changes_at_once_are_both_kept(time: Clock) -> None:
    for expected in (None, Config(match=("a",))):
        other_changes = []

        def change(
            old: Config | None,
            expected: Config | None = expected,
            other_changes: list[int] = other_changes,
        ) -> Config:
            if not other_changes:
                other_changes.append(1)
                configs.change_config(1, lambda config: replace(config or Config(), threshold=2000))
                assert old == expected
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


def test_options_belong_to_one_owner_and_are_off_by_default(time: Clock) -> None:
    assert configs.enabled(1) == set()
    assert not configs.is_enabled(1, 7)
    configs.set_enabled(1, 7, enabled=True)
    configs.set_enabled(1, 0, enabled=True)
    configs.set_enabled(1, 8, enabled=False)
    configs.set_enabled(2, 9, enabled=True)
    assert configs.enabled(1) == {0, 7}
    assert [configs.is_enabled(1, part) for part in (0, 7, 8, 9)] == [True, True, False, False]
    assert configs.cached_enabled_owners(1, [None, 7, 8, 9]) == {None, 7}


def test_the_option_of_the_account_wins(time: Clock) -> None:
    configs.set_enabled(1, 0, enabled=True)
    accounts.change(1, lambda account: replace(account, options={"inline_seeds": False}))
    assert configs.cached_enabled_owners(1, [None]) == set()
    accounts.change(1, lambda account: replace(account, options={"inline_seeds": True}))
    assert configs.cached_enabled_owners(1, [None]) == {None}


@pytest.mark.cost
def test_counting_reads_config_and_options_from_the_cache(time: Clock) -> None:
    with aws_requests() as requests:
        for _ in range(3):
            configs.cached_config(1)
            configs.cached_enabled_owners(1, [None, 7])
    assert len(requests) == 2
