from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.accounts.plan import Plan
from chalicelib.accounts.store import accounts, usage
from chalicelib.accounts.store.usage import Meter
from chalicelib.core import config_cache, dynamo
from chalicelib.core.dynamo import Table, TransactionFailed
from chalicelib.core.errors import ApiError
from tests.fake_cloud import aws_requests
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import limit, make_account

pytestmark = pytest.mark.usefixtures("cloud")

CONFIG = Table("config")


@pytest.fixture(autouse=True)
def time(cloud: None) -> Iterator[Clock]:
    with moving_clock(datetime(2026, 1, 31, 21, 30, tzinfo=UTC).timestamp()) as moving:
        make_account()
        yield moving


def meter() -> Meter:
    """Read the counter of account 1, as acceptance does."""
    counters = usage.counters_to_read(1)
    items = config_cache.read([accounts.key_of(1)], uncached=counters)
    return usage.meter(accounts.from_item(items[accounts.key_of(1)]), counters, items)


def record(name: str = "r") -> dynamo.Write:
    return dynamo.put(CONFIG, {"pk": name, "sk": "record"}, condition="attribute_not_exists(#pk)")


def exceeded(call: Any) -> str:
    """Return which limit refuses a call."""
    with pytest.raises(ApiError) as refusal:
        call()
    assert (refusal.value.status, refusal.value.code) == (420, "2101")
    return str(refusal.value.errors[0]["message"]).partition("(")[2].rstrip(")")


@pytest.mark.cost
def test_recipients_are_counted_in_the_transaction_that_writes_the_records() -> None:
    read = meter()
    with aws_requests() as requests:
        read.reserve(3, [record()])
    assert [request.operation for request in requests] == ["TransactWriteItems"]
    assert CONFIG.get("r", "record")
    assert usage.get(1)[0].day == 3


@pytest.mark.cost
@pytest.mark.spec("8-t2")
def test_a_request_over_a_limit_is_refused_as_a_whole_and_writes_nothing() -> None:
    limit(daily=10)
    meter().reserve(8, [record("first")])
    with aws_requests() as requests:
        assert exceeded(lambda: meter().reserve(3, [record("second")])) == "daily"
    assert "TransactWriteItems" not in [request.operation for request in requests]
    assert CONFIG.get("second", "record") is None
    meter().reserve(2, [record("third")])
    assert usage.get(1)[0].day == 10
    assert exceeded(lambda: meter().check(1)) == "daily"


@pytest.mark.parametrize("hours_since", [0, 1, 30])
def test_of_two_reservations_at_once_only_one_fits_under_a_limit(
    time: Clock, hours_since: int
) -> None:
    limit(daily=10)
    meter().reserve(4, [])
    time.now += hours_since * 3600
    room = 10 - usage.get(1)[0].day
    one, other = meter(), meter()
    one.reserve(room, [record("one")])
    assert exceeded(lambda: other.reserve(room, [record("other")])) == "daily"
    assert CONFIG.get("other", "record") is None
    assert usage.get(1)[0].day == 10


def test_of_two_first_reservations_at_once_only_one_fits_under_a_limit() -> None:
    limit(hourly=5)
    one, other = meter(), meter()
    one.reserve(5, [])
    assert exceeded(lambda: other.reserve(1, [])) == "hourly"


def test_two_reservations_at_once_that_both_fit_are_both_counted(time: Clock) -> None:
    limit(monthly=10)
    for hours in (0, 1, 0):
        time.now += hours * 3600
        one, other = meter(), meter()
        one.reserve(1, [])
        other.reserve(1, [])
    assert usage.get(1)[0].month == 6


def test_a_reservation_made_by_another_while_an_hour_ends_is_counted(time: Clock) -> None:
    limit(daily=100)
    meter().reserve(1, [])
    one, other = meter(), meter()
    other.reserve(2, [])
    time.now += 3600
    one.reserve(4, [])
    assert usage.get(1)[0].day == 7


def test_a_failed_condition_of_another_write_is_raised_and_counts_nothing() -> None:
    meter().reserve(1, [record()])
    with pytest.raises(TransactionFailed) as failed:
        meter().reserve(1, [record()])
    assert failed.value.failed == [0]
    assert usage.get(1)[0].day == 1


@pytest.mark.spec("8-t2")
def test_an_account_may_send_again_as_the_windows_of_its_limits_move_on(time: Clock) -> None:
    limit(hourly=2, daily=3, monthly=5)
    meter().reserve(2, [])
    assert exceeded(lambda: meter().check(1)) == "hourly"
    time.now += 3600  # 22:30
    meter().reserve(1, [])
    assert exceeded(lambda: meter().check(1)) == "daily"
    time.now += 23 * 3600  # 21:30 of 1 February: the hour of 21:30 the day before is over
    meter().reserve(2, [])
    assert usage.get(1)[0].month == 2
    time.now += 24 * 3600
    meter().reserve(2, [])
    time.now += 24 * 3600
    meter().reserve(1, [])
    assert exceeded(lambda: meter().check(1)) == "monthly"


def test_without_limits_counts_spread_over_counters_and_add_up() -> None:
    for _ in range(60):
        meter().reserve(2, [])
    items = [CONFIG.get(f"usage#1#{number}", "usage") for number in range(usage.COUNTERS)]
    assert len([item for item in items if item]) > usage.COUNTERS / 2
    assert usage.get(1)[0].day == 120


@pytest.mark.cost
def test_counters_are_read_in_one_request_however_many() -> None:
    for _ in range(5):
        meter().reserve(1, [])
    with aws_requests() as requests:
        usage.get(1)
    assert [request.operation for request in requests] == ["BatchGetItem"]


def test_an_account_that_gets_limits_is_limited_by_what_it_has_already_sent(time: Clock) -> None:
    for _ in range(30):
        meter().reserve(1, [])
    time.now += 3600
    meter().reserve(1, [])
    before = usage.get(1)[0]
    limit(daily=32)
    usage.gather(1)
    assert usage.get(1)[0] == before
    meter().reserve(1, [])
    assert exceeded(lambda: meter().check(1)) == "daily"
    usage.gather(1)
    assert usage.get(1)[0].day == 32


def test_an_account_whose_next_plan_has_limits_counts_in_one_counter(time: Clock) -> None:
    plan = Plan("next", "Next", time.now + 3600, daily=20)
    accounts.change(1, lambda account: replace(account, pending_subscription=plan))
    for _ in range(20):
        meter().reserve(1, [])
    meter().check(1)
    time.now += 3600
    assert exceeded(lambda: meter().check(1)) == "daily"


def test_each_account_has_its_own_counters() -> None:
    meter().reserve(1, [])
    assert usage.get(2)[0].day == 0


@pytest.mark.spec("8-t1")
@pytest.mark.spec("7-t9")
def test_the_sandbox_holds_five_messages_for_life(time: Clock) -> None:
    usage.reserve_sandbox(1, 4, [record("first")])
    time.now += 10 * 365 * 86_400
    assert exceeded(lambda: usage.reserve_sandbox(1, 2, [record("second")])) == "sandbox"
    assert CONFIG.get("second", "record") is None
    usage.reserve_sandbox(1, 1, [record("third")])
    assert exceeded(lambda: usage.reserve_sandbox(1, 1, [])) == "sandbox"
    assert usage.get(1)[1] == 5
    assert exceeded(lambda: usage.reserve_sandbox(2, 6, [])) == "sandbox"
    usage.reserve_sandbox(2, 5, [])


def test_a_failed_condition_beside_a_sandbox_reservation_is_raised() -> None:
    usage.reserve_sandbox(1, 1, [record()])
    with pytest.raises(TransactionFailed):
        usage.reserve_sandbox(1, 1, [record()])
    assert usage.get(1)[1] == 1


@pytest.mark.parametrize("hours_since", [0, 1, 22])
@pytest.mark.parametrize("is_limited", [True, False])
def test_recipients_that_are_given_back_are_not_counted(
    time: Clock, hours_since: int, is_limited: bool
) -> None:
    if is_limited:
        limit(hourly=10, daily=10)
    counted_at = time.now
    meter().reserve(10, [])
    time.now += hours_since * 3600
    usage.give_back(1, 4, counted_at, [record()])
    assert CONFIG.get("r", "record")
    assert usage.get(1)[0].day == 6
    meter().reserve(4, [])
    assert usage.get(1)[0].day == 10
    if is_limited:
        assert exceeded(lambda: meter().reserve(1, [])) in ("hourly", "daily")


def test_recipients_given_back_at_once_by_two_are_uncounted_twice(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(daily=10)
    counted_at = time.now
    meter().reserve(10, [])
    time.now += 3600
    meter().reserve(0, [])  # what is given back changes an earlier hour, not this one
    real = dynamo.transact

    def after_another(writes: Any) -> None:
        monkeypatch.undo()
        usage.give_back(1, 3, counted_at, [])
        real(writes)

    monkeypatch.setattr(dynamo, "transact", after_another)
    usage.give_back(1, 4, counted_at, [])
    assert usage.get(1)[0].day == 3


def test_a_failed_condition_of_another_write_gives_nothing_back(time: Clock) -> None:
    meter().reserve(5, [record()])
    usage.reserve_sandbox(1, 2, [])
    with pytest.raises(TransactionFailed):
        usage.give_back(1, 3, time.now, [record()])
    with pytest.raises(TransactionFailed):
        usage.give_back_sandbox(1, 1, [record()])
    window, sandbox = usage.get(1)
    assert (window.day, sandbox) == (5, 2)


def test_sandbox_messages_that_are_given_back_can_be_used() -> None:
    usage.reserve_sandbox(1, 5, [])
    usage.give_back_sandbox(1, 2, [])
    usage.reserve_sandbox(1, 2, [])
    assert usage.get(1)[1] == 5
