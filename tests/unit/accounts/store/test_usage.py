from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.accounts.plan import Plan
from chalicelib.accounts.store import accounts, meter, sandbox, usage
from chalicelib.accounts.store.meter import Meter
from chalicelib.accounts.usage_window import UsageWindow
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
        limit(monthly=10**9)
        yield moving


def meter_of(process: int = 0) -> Meter:
    """Read the share of account 1 that a process uses, as acceptance does."""
    keys = [(f"usage#1#share#{process}", "usage"), *meter.keys_to_read(1)[1:]]
    items = config_cache.read([accounts.key_of(1)], uncached=keys)
    allowance = meter.allowance(accounts.from_item(items[accounts.key_of(1)]), keys, items)
    assert isinstance(allowance, Meter)
    return allowance


def reserve(recipients: int, process: int) -> bool:
    """Send to some recipients from a process; return whether the limits allow it."""
    try:
        meter_of(process).reserve(recipients, [])
    except ApiError:
        return False
    return True


def advance() -> int:
    """Return how many recipients shares hold that are counted in advance."""
    counter = CONFIG.get("usage#1#0", "usage") or {"shares": []}
    shares = [CONFIG.get(f"usage#1#share#{each}", "usage") for each in counter["shares"]]
    return sum(share["recipients"] for share in shares if share)


def record(name: str = "r") -> dynamo.Write:
    return dynamo.put(CONFIG, {"pk": name, "sk": "record"}, condition="attribute_not_exists(#pk)")


def exceeded(call: Any) -> str:
    """Return which limit refuses a call."""
    with pytest.raises(ApiError) as refusal:
        call()
    assert (refusal.value.status, refusal.value.code) == (420, "2101")
    return str(refusal.value.errors[0]["message"]).partition("(")[2].rstrip(")")


@pytest.mark.cost
@pytest.mark.parametrize("others", [[], ["other"]])
def test_an_account_without_limits_is_not_counted_when_it_sends(others: list[str]) -> None:
    limit()
    account = accounts.get_cached(1)
    assert meter.keys_to_read(1, account) == []
    allowance = meter.allowance(account, [], {})
    allowance.check(10**9)
    with aws_requests() as requests:
        allowance.reserve(3, [record(), *map(record, others)])
    assert [each.operation for each in requests] == ["TransactWriteItems" if others else "PutItem"]
    with pytest.raises(TransactionFailed) as failed:
        allowance.reserve(3, [record(), *map(record, others)])
    assert failed.value.failed[0] == 0
    assert usage.get(1)[0].day == 0


@pytest.mark.cost
def test_a_rollup_counts_recipients_in_their_hours_once(time: Clock) -> None:
    minute = int(time.now // 60)
    with aws_requests() as requests:
        usage.count(1, 7, {minute: 2, minute - 60: 3})
    assert [each.operation for each in requests] == ["GetItem", "UpdateItem"]
    for seq in (7, 5):  # repeated, and late
        usage.count(1, seq, {minute: 2, minute - 60: 3})
    window = usage.get(1)[0]
    assert (window.used, window.day, window.last) == (2, 5, minute * 60)
    time.now += 7200
    usage.count(1, 8, {minute: 1})
    usage.count(1, 9, {})
    assert (usage.get(1)[0].used, usage.get(1)[0].day) == (0, 6)


def test_a_rollup_and_a_request_that_count_at_once_are_both_counted(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = dynamo.write

    def after_another(write: dynamo.Write) -> None:
        monkeypatch.undo()
        meter_of().reserve(4, [])
        real(write)

    for seq in (1, 2):
        monkeypatch.setattr(dynamo, "write", after_another)
        usage.count(1, seq, {int(time.now // 60): 2})
        time.now += 3600
    assert usage.get(1)[0].day == 12


def test_an_account_that_gets_limits_is_limited_by_what_rollups_counted(time: Clock) -> None:
    limit()
    usage.count(1, 1, {int(time.now // 60): 30})
    limit(daily=32)
    meter_of().reserve(2, [])
    assert exceeded(lambda: meter_of().check(1)) == "daily"
    limit()
    usage.count(1, 2, {int(time.now // 60): 5})
    assert usage.get(1)[0].day == 37


def test_a_share_that_was_not_read_and_does_not_suffice_is_filled(time: Clock) -> None:
    def unread_meter() -> Meter:
        return Meter(1, 0, accounts.get_cached(1).limits(time.now), None)

    meter_of().reserve(2, [])
    for recipients in (meter.MOST_ADVANCE + 1, 5, 4 * meter.MOST_ADVANCE, 7):
        unread_meter().reserve(recipients, [record(str(recipients))])
        assert CONFIG.get(str(recipients), "record")
    with pytest.raises(TransactionFailed):
        unread_meter().reserve(2, [record("5")])
    time.now += 3600
    unread_meter().reserve(1, [])
    assert usage.get(1)[0].day == 2 + 5 * meter.MOST_ADVANCE + 1 + 5 + 7 + 1


@pytest.mark.cost
def test_recipients_are_counted_in_the_transaction_that_writes_the_records() -> None:
    meter_of().reserve(2, [])
    read = meter_of()
    with aws_requests() as requests:
        read.reserve(3, [record()])
    assert [request.operation for request in requests] == ["TransactWriteItems"]
    assert CONFIG.get("r", "record")
    assert usage.get(1)[0].day == 5


@pytest.mark.cost
@pytest.mark.spec("8-t2")
def test_a_request_over_a_limit_is_refused_as_a_whole_and_writes_nothing() -> None:
    limit(daily=10)
    meter_of().reserve(8, [record("first")])
    with aws_requests() as requests:
        assert exceeded(lambda: meter_of().reserve(3, [record("second")])) == "daily"
    assert "TransactWriteItems" not in [request.operation for request in requests]
    assert CONFIG.get("second", "record") is None
    meter_of().reserve(2, [record("third")])
    assert usage.get(1)[0].day == 10
    assert exceeded(lambda: meter_of().check(1)) == "daily"


@pytest.mark.parametrize("hours_since", [0, 1, 30])
def test_of_two_reservations_at_once_only_one_fits_under_a_limit(
    time: Clock, hours_since: int
) -> None:
    limit(daily=10)
    meter_of().reserve(4, [])
    time.now += hours_since * 3600
    room = 10 - usage.get(1)[0].day
    one, other = meter_of(), meter_of()
    one.reserve(room, [record("one")])
    assert exceeded(lambda: other.reserve(room, [record("other")])) == "daily"
    assert CONFIG.get("other", "record") is None
    assert usage.get(1)[0].day == 10


def test_of_two_first_reservations_at_once_only_one_fits_under_a_limit() -> None:
    limit(hourly=5)
    one, other = meter_of(), meter_of()
    one.reserve(5, [])
    assert exceeded(lambda: other.reserve(1, [])) == "hourly"


def test_two_reservations_at_once_that_both_fit_are_both_counted(time: Clock) -> None:
    limit(monthly=10)
    for hours in (0, 1, 0):
        time.now += hours * 3600
        one, other = meter_of(), meter_of()
        one.reserve(1, [])
        other.reserve(1, [])
    assert usage.get(1)[0].month == 6


def test_a_reservation_made_by_another_while_an_hour_ends_is_counted(time: Clock) -> None:
    limit(daily=100)
    meter_of().reserve(1, [])
    one, other = meter_of(), meter_of()
    other.reserve(2, [])
    time.now += 3600
    one.reserve(4, [])
    assert usage.get(1)[0].day == 7


def test_a_failed_condition_of_another_write_is_raised_and_counts_nothing() -> None:
    meter_of().reserve(1, [record()])
    with pytest.raises(TransactionFailed) as failed:
        meter_of().reserve(1, [record()])
    assert failed.value.failed == [0]
    assert usage.get(1)[0].day == 1


@pytest.mark.spec("8-t2")
def test_an_account_may_send_again_as_the_windows_of_its_limits_move_on(time: Clock) -> None:
    limit(hourly=2, daily=3, monthly=5)
    meter_of().reserve(2, [])
    assert exceeded(lambda: meter_of().check(1)) == "hourly"
    time.now += 3600  # 22:30
    meter_of().reserve(1, [])
    assert exceeded(lambda: meter_of().check(1)) == "daily"
    time.now += 23 * 3600  # 21:30 of 1 February: the hour of 21:30 the day before is over
    meter_of().reserve(2, [])
    assert usage.get(1)[0].month == 2
    time.now += 24 * 3600
    meter_of().reserve(2, [])
    time.now += 24 * 3600
    meter_of().reserve(1, [])
    assert exceeded(lambda: meter_of().check(1)) == "monthly"


@pytest.mark.cost
@pytest.mark.parametrize("limits", [{"monthly": 10**9}, {"daily": 10**7}])
def test_the_requests_of_many_processes_do_not_meet_in_one_item(limits: dict[str, int]) -> None:
    limit(**limits)
    for process in range(20):
        meter_of(process).reserve(1, [])
    for process in range(20):
        read = meter_of(process)
        with aws_requests() as requests:
            read.reserve(2, [])
        (transaction,) = requests
        (action,) = transaction.parameters["TransactItems"]
        assert action["Update"]["Key"]["pk"] == {"S": f"usage#1#share#{process}"}
    assert usage.get(1)[0].day == 60


@pytest.mark.spec("8-t2")
@pytest.mark.parametrize("seed", range(8))
def test_a_limit_is_exact_however_many_processes_count_and_hours_pass(
    time: Clock, seed: int
) -> None:
    rng = random.Random(seed)
    limit(hourly=3_000, daily=5_000)
    accepted = dict.fromkeys(range(-1, 30), 0)
    for hour in range(4):
        for _ in range(60):
            recipients, process = rng.choice([1, 3, 40, 400]), rng.randrange(6)
            room = min(3_000 - accepted[hour], 5_000 - sum(accepted.values()))
            assert reserve(recipients, process) == (recipients <= room)
            accepted[hour] += recipients if recipients <= room else 0
            assert usage.get(1)[0].used == accepted[hour]
        time.now += 3600
    assert usage.get(1)[0].day == sum(accepted.values()) == 5_000


def test_what_a_share_holds_is_counted_and_taken_back_when_another_process_needs_it() -> None:
    limit(hourly=100_000)
    for process in range(40):
        meter_of(process).reserve(1, [])
    assert advance() > 4_000
    used = usage.get(1)[0].used
    assert used == 40
    assert not reserve(100_000 - used + 1, 3)
    assert reserve(100_000 - used, 3)
    assert (usage.get(1)[0].used, advance()) == (100_000, 0)
    assert not reserve(1, 7)


@pytest.mark.cost
def test_a_request_over_a_used_up_limit_is_refused_after_one_read() -> None:
    limit(hourly=2_000)
    for process in range(5):
        meter_of(process).reserve(400, [])
    assert not reserve(1, 0)
    with aws_requests() as requests, pytest.raises(ApiError):
        meter_of(3).reserve(1, [])
    assert [request.operation for request in requests] == ["BatchGetItem"]


@pytest.mark.cost
@pytest.mark.parametrize(("recipients", "reads"), [(1, False), (2 * meter.MOST_ADVANCE, True)])
def test_a_new_process_reads_the_counter_only_if_its_share_does_not_suffice(
    recipients: int, reads: bool
) -> None:
    meter_of(0).reserve(1, [])
    meter.clear_cache()
    with aws_requests() as requests:
        allowance = meter_of(0)
        allowance.check(recipients)
        allowance.reserve(recipients, [])
    keys = str([request.parameters for request in requests if "Get" in request.operation])
    assert ("usage#1#0" in keys) == reads
    assert len(requests) == 2 + reads


def test_a_share_is_not_used_under_other_limits_than_it_was_taken_under() -> None:
    for process in range(3):
        meter_of(process).reserve(1, [])
    assert advance() == 3 * meter.MOST_ADVANCE
    limit(daily=10)
    assert [reserve(1, process % 3) for process in range(8)] == [True] * 7 + [False]


def test_a_share_that_was_taken_back_meanwhile_is_not_used() -> None:
    limit(hourly=100_000)
    meter_of(0).reserve(1, [])
    read = meter_of(0)
    assert reserve(99_999, 1)
    assert exceeded(lambda: read.reserve(1, [])) == "hourly"


def test_counters_from_before_there_were_shares_are_added_up(time: Clock) -> None:
    for number in (0, 3, 15):
        counts = UsageWindow(int(time.now // 3600), 5, (7,), 7, time.now)
        CONFIG.put({"pk": f"usage#1#{number}", "sk": "usage", **asdict(counts)})
    assert usage.get(1)[0].day == 36
    limit(daily=40)
    meter_of(9).reserve(2, [])
    assert usage.get(1)[0].day == 38
    assert CONFIG.get("usage#1#3", "usage") is None
    assert not reserve(3, 9)
    assert reserve(2, 5)


@pytest.mark.cost
def test_the_usage_takes_three_requests_however_many_processes_there_are() -> None:
    for process in range(30):
        meter_of(process).reserve(1, [])
    with aws_requests() as requests:
        usage.get(1)
    assert [request.operation for request in requests] == [
        "BatchGetItem",
        "BatchGetItem",
        "GetItem",
    ]


def test_an_account_with_new_limits_is_limited_by_what_it_has_already_sent(
    time: Clock,
) -> None:
    for _ in range(30):
        meter_of().reserve(1, [])
    time.now += 3600
    meter_of().reserve(1, [])
    before = usage.get(1)[0]
    limit(daily=32)
    assert usage.get(1)[0] == before
    meter_of().reserve(1, [])
    assert exceeded(lambda: meter_of().check(1)) == "daily"
    assert usage.get(1)[0].day == 32


def test_an_account_is_limited_as_soon_as_its_next_plan_has_limits(time: Clock) -> None:
    plan = Plan("next", "Next", time.now + 3600, daily=20)
    accounts.change(1, lambda account: replace(account, pending_subscription=plan))
    for _ in range(20):
        meter_of().reserve(1, [])
    meter_of().check(1)
    time.now += 3600
    assert exceeded(lambda: meter_of().check(1)) == "daily"


def test_each_account_has_its_own_counters() -> None:
    meter_of().reserve(1, [])
    assert usage.get(2)[0].day == 0


@pytest.mark.spec("8-t1")
@pytest.mark.spec("7-t9")
def test_the_sandbox_holds_five_messages_for_life(time: Clock) -> None:
    sandbox.reserve(1, 4, [record("first")])
    time.now += 10 * 365 * 86_400
    assert exceeded(lambda: sandbox.reserve(1, 2, [record("second")])) == "sandbox"
    assert CONFIG.get("second", "record") is None
    sandbox.reserve(1, 1, [record("third")])
    assert exceeded(lambda: sandbox.reserve(1, 1, [])) == "sandbox"
    assert usage.get(1)[1] == 5
    assert exceeded(lambda: sandbox.reserve(2, 6, [])) == "sandbox"
    sandbox.reserve(2, 5, [])


def test_a_failed_condition_beside_a_sandbox_reservation_is_raised() -> None:
    sandbox.reserve(1, 1, [record()])
    with pytest.raises(TransactionFailed):
        sandbox.reserve(1, 1, [record()])
    assert usage.get(1)[1] == 1


@pytest.mark.parametrize("hours_since", [0, 1, 22])
@pytest.mark.parametrize("is_limited", [True, False])
def test_recipients_that_are_given_back_are_not_counted(
    time: Clock, hours_since: int, is_limited: bool
) -> None:
    if is_limited:
        limit(hourly=10, daily=10)
    counted_at = time.now
    meter_of().reserve(10, [])
    time.now += hours_since * 3600
    usage.give_back(1, 4, counted_at, [record()])
    assert CONFIG.get("r", "record")
    assert usage.get(1)[0].day == 6
    meter_of().reserve(4, [])
    assert usage.get(1)[0].day == 10
    if is_limited:
        assert exceeded(lambda: meter_of().reserve(1, [])) in ("hourly", "daily")


def test_recipients_given_back_at_once_by_two_are_uncounted_twice(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(daily=10)
    counted_at = time.now
    meter_of().reserve(10, [])
    time.now += 3600
    meter_of().reserve(0, [])  # what is given back changes an earlier hour, not this one
    real = dynamo.transact

    def after_another(writes: Any) -> None:
        monkeypatch.undo()
        usage.give_back(1, 3, counted_at, [])
        real(writes)

    monkeypatch.setattr(dynamo, "transact", after_another)
    usage.give_back(1, 4, counted_at, [])
    assert usage.get(1)[0].day == 3


def test_a_failed_condition_of_another_write_gives_nothing_back(time: Clock) -> None:
    meter_of().reserve(5, [record()])
    sandbox.reserve(1, 2, [])
    with pytest.raises(TransactionFailed):
        usage.give_back(1, 3, time.now, [record()])
    with pytest.raises(TransactionFailed):
        sandbox.give_back(1, 1, [record()])
    window, in_sandbox = usage.get(1)
    assert (window.day, in_sandbox) == (5, 2)


def test_sandbox_messages_that_are_given_back_can_be_used() -> None:
    sandbox.reserve(1, 5, [])
    sandbox.give_back(1, 2, [])
    sandbox.reserve(1, 2, [])
    assert usage.get(1)[1] == 5
