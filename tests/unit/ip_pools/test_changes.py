"""Changes of a fleet keep its rules, or are refused."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.errors import ApiError
from chalicelib.fleet.model import DEFAULT, SHARED, Fleet
from chalicelib.ip_pools import changes
from chalicelib.ip_pools.request import IpChange, PoolFields
from tests.unit.fleet.examples import an_ip, fleet_of, warming

TOMORROW = 5_000


def create(fleet: Fleet, overflow: str, *, enterprise: bool = False) -> str:
    fields = PoolFields("New", auto_warmup_overflow_pool=overflow)
    changed = changes.with_new_pool(fleet, "new", fields, enterprise=enterprise)
    return changed.pools[-1].auto_warmup_overflow_pool


def update(fleet: Fleet, pool_id: str, *, enterprise: bool = False, **fields: str) -> Fleet:
    pool_fields = PoolFields(**fields)
    return changes.with_changed_pool(fleet, pool_id, pool_fields, enterprise=enterprise)


def change_ip(fleet: Fleet, **fields: Any) -> Fleet:
    return changes.with_changed_ip(fleet, "192.0.2.1", IpChange(**fields), TOMORROW)


@pytest.mark.spec("2.8-t6")
@pytest.mark.parametrize("overflow", ["spare", "SPARE", DEFAULT, SHARED, "Shared Pool", ""])
def test_another_pool_of_the_account_or_the_shared_one_may_take_the_overflow(overflow: str) -> None:
    assert create(fleet_of(spare=""), overflow) == overflow.lower()


@pytest.mark.spec("2.8-t6")
@pytest.mark.parametrize(
    ("overflow", "reason"),
    [
        ("missing", "does not exist"),
        ("new", "does not exist"),
        ("spare_full", "has an overflow pool"),
    ],
)
def test_a_pool_that_cannot_take_the_overflow_is_refused(overflow: str, reason: str) -> None:
    with pytest.raises(ApiError, match=reason) as refusal:
        create(fleet_of(spare="", spare_full="spare"), overflow)
    assert refusal.value.status == 400


@pytest.mark.spec("2.8-t6")
def test_an_enterprise_account_cannot_overflow_into_the_shared_pool() -> None:
    with pytest.raises(ApiError, match="enterprise"):
        create(fleet_of(), SHARED, enterprise=True)
    assert create(fleet_of(spare=""), "spare", enterprise=True) == "spare"


def test_a_pool_cannot_overflow_into_itself() -> None:
    with pytest.raises(ApiError, match="its own overflow pool"):
        update(fleet_of(a=""), "a", auto_warmup_overflow_pool="A")


def test_a_pool_that_takes_overflow_cannot_have_an_overflow_pool() -> None:
    with pytest.raises(ApiError, match="is an overflow pool"):
        update(fleet_of(a="", b="a", c=""), "a", auto_warmup_overflow_pool="c")


def test_an_overflow_pool_may_be_set_again_and_replaced_and_removed() -> None:
    fleet = fleet_of(a="b", b="", c="")
    assert update(fleet, "a", auto_warmup_overflow_pool="b") == fleet
    assert update(fleet, "a", auto_warmup_overflow_pool="c").pools[0] != fleet.pools[0]
    without_overflow = update(fleet, "a", auto_warmup_overflow_pool="")
    assert without_overflow.pools[0].auto_warmup_overflow_pool == ""
    assert (
        update(without_overflow, "b", auto_warmup_overflow_pool="c").pools[1]
        != without_overflow.pools[1]
    )


def test_an_update_keeps_the_fields_that_it_does_not_name() -> None:
    before = fleet_of(a="b", b="")
    after = update(before, "A", name="Renamed")
    assert (after.pools[0].id, after.pools[0].name) == ("a", "Renamed")
    assert after.pools[0].auto_warmup_overflow_pool == "b"
    assert after.pools[1] == before.pools[1]


@pytest.mark.spec("4.7-t5")
def test_the_ips_of_a_deleted_pool_move_to_the_default_pool() -> None:
    fleet = fleet_of(an_ip(1, "a"), an_ip(2, "b"), an_ip(3), a="", b="")
    after = changes.without_pool(fleet, "A")
    assert [pool.id for pool in after.pools] == ["b"]
    assert [ip.ip_pool for ip in after.ips] == ["default", "b", "default"]


def test_the_default_pool_takes_the_overflow_that_a_deleted_pool_took() -> None:
    after = changes.without_pool(fleet_of(a="b", b="", c="shared pool"), "b")
    assert [pool.auto_warmup_overflow_pool for pool in after.pools] == [DEFAULT, SHARED]


@pytest.mark.parametrize("pool_id", ["default", "DEFAULT"])
def test_the_default_pool_is_reserved(pool_id: str) -> None:
    for attempt in (
        lambda: changes.without_pool(fleet_of(), pool_id),
        lambda: update(fleet_of(), pool_id, name="Mine"),
    ):
        with pytest.raises(ApiError, match="IP Pool default is reserved") as refusal:
            attempt()
        assert refusal.value.status == 400


def test_an_account_has_a_bounded_number_of_pools() -> None:
    full = fleet_of(**{f"p{number}": "" for number in range(changes.MOST_POOLS)})
    with pytest.raises(ApiError, match="at most 100"):
        changes.with_new_pool(full, "new", PoolFields("New"), enterprise=False)


def test_an_ip_moves_to_another_pool_and_the_rest_stays() -> None:
    fleet = fleet_of(an_ip(1), an_ip(2), a="")
    moved = change_ip(fleet, ip_pool="A")
    assert [ip.ip_pool for ip in moved.ips] == ["a", "default"]
    assert change_ip(moved, ip_pool="default") == fleet
    with pytest.raises(ApiError, match="IP Pool nowhere does not exist"):
        change_ip(fleet, ip_pool="nowhere")


def test_a_warm_up_begins_at_the_first_stage_and_advances_tomorrow() -> None:
    for past in (1, 5, 29):
        (ip,) = change_ip(fleet_of(an_ip(1, auto_warmup_stage=past)), auto_warmup_enabled=True).ips
        assert (ip.auto_warmup_enabled, ip.auto_warmup_stage, ip.advance_ms) == (True, 1, TOMORROW)


def test_a_warm_up_may_begin_at_the_stage_that_was_reached() -> None:
    stopped = fleet_of(an_ip(1, auto_warmup_stage=9))
    (ip,) = change_ip(stopped, auto_warmup_enabled=True, auto_warmup_stage=9).ips
    assert (ip.auto_warmup_stage, ip.advance_ms) == (9, TOMORROW)
    with pytest.raises(ApiError, match="at most 9"):
        change_ip(stopped, auto_warmup_enabled=True, auto_warmup_stage=10)


@pytest.mark.parametrize("stage", [1, 4, 5])
def test_a_stage_can_be_lowered_and_the_next_one_begins_when_it_was_due(stage: int) -> None:
    fleet = fleet_of(warming(1, stage=5, advance_ms=77))
    (ip,) = change_ip(fleet, auto_warmup_stage=stage).ips
    assert (ip.auto_warmup_stage, ip.advance_ms) == (stage, 77)


def test_a_stage_cannot_be_raised() -> None:
    with pytest.raises(ApiError, match="at most 5") as refusal:
        change_ip(fleet_of(warming(1, stage=5)), auto_warmup_stage=6)
    assert refusal.value.status == 400


@pytest.mark.parametrize(
    ("ip", "fields"),
    [
        (an_ip(1), {}),
        (an_ip(1), {"auto_warmup_enabled": False}),
        (warming(1), {"auto_warmup_enabled": False}),
    ],
)
def test_a_stage_needs_a_warm_up(ip: Any, fields: Any) -> None:
    with pytest.raises(ApiError, match="needs auto_warmup_enabled"):
        change_ip(fleet_of(ip), auto_warmup_stage=1, **fields)


def test_a_warm_up_that_is_turned_off_is_not_due_any_more_and_keeps_its_stage() -> None:
    fleet = fleet_of(warming(1, stage=5, advance_ms=77))
    (ip,) = change_ip(fleet, auto_warmup_enabled=False).ips
    assert (ip.auto_warmup_enabled, ip.auto_warmup_stage, ip.advance_ms) == (False, 5, 0)


def test_setting_the_present_values_changes_nothing() -> None:
    fleet = fleet_of(warming(1, stage=5, advance_ms=77))
    assert change_ip(fleet, auto_warmup_enabled=True, ip_pool="default") == fleet


def test_an_unknown_ip_is_not_found() -> None:
    with pytest.raises(ApiError, match="Sending IP does not exist") as refusal:
        change_ip(fleet_of(an_ip(2)))
    assert refusal.value.status == 404
