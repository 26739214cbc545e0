from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core import clock, due
from chalicelib.core.dynamo import Table
from chalicelib.fleet import sending_ips, store, warmup
from chalicelib.fleet.model import LAST_STAGE, SendingIp
from chalicelib.fleet.warmup import DAILY_VOLUMES, advance_due, daily_volume
from tests.fake_cloud import aws_requests
from tests.unit.fleet.examples import DAY, NOON, add, warming

NEVER = 9 * 10**12


def reserved_count(ip: SendingIp, now: float) -> int:
    item = Table("config").get(f"warmup#{ip.external_ip}", str(int(now // DAY)))
    return item["given"] if item else 0


def reserve(ip: SendingIp, now: float, count: int) -> int:
    return warmup.reserve(1, ip, now, count)


def stored_ip(last: int = 1) -> SendingIp:
    ip = store.get(1).ip(f"192.0.2.{last}")
    assert ip
    return ip


@pytest.fixture
def ip(cloud: None) -> SendingIp:
    """An IP whose warm-up began at noon."""
    with clock.use(lambda: NOON):
        add(warming(1))
    return stored_ip()


def test_volumes_grow_with_every_stage_and_tenfold_in_a_week() -> None:
    assert len(DAILY_VOLUMES) == LAST_STAGE == 29
    assert (daily_volume(1), daily_volume(29)) == (200, 2_000_000)
    steps = [after / before for before, after in pairwise(DAILY_VOLUMES)]
    assert all(1.3 < step < 1.5 for step in steps)
    for stage in range(1, 23):
        assert daily_volume(stage + 7) == 10 * daily_volume(stage)


def test_the_documentation_shows_the_volumes_in_force() -> None:
    assert warmup.__doc__
    rows = [line for line in warmup.__doc__.splitlines() if line.startswith("    stage")]
    words = [word for row in rows for word in row.replace(",", "").split() if len(word) >= 3]
    assert [int(word) for word in words if word.isdigit()] == list(DAILY_VOLUMES)


@pytest.mark.usefixtures("cloud")
def test_units_take_at_most_the_rest_of_the_days_volume() -> None:
    ip = warming(1)
    assert [reserve(ip, NOON, count) for count in (100, 60, 100, 100)] == [100, 60, 40, 0]
    assert reserve(ip, NOON + DAY, 100) == 100


@pytest.mark.usefixtures("cloud")
@settings(max_examples=20)
@given(st.lists(st.integers(1, 100), min_size=1, max_size=8), st.integers(1, 10_000))
def test_reservations_add_up_to_the_volume(counts: list[int], day: int) -> None:
    warmup.clear_cache()
    now = day * DAY + 1.0
    Table("config").delete("warmup#192.0.2.1", str(day))
    granted = [reserve(warming(1), now, count) for count in counts]
    assert sum(granted) == min(200, sum(counts))
    assert all(0 <= got <= count for got, count in zip(granted, counts, strict=True))


@pytest.mark.cost
@pytest.mark.usefixtures("cloud")
def test_a_reservation_costs_one_request_and_none_once_the_volume_is_used_up() -> None:
    with aws_requests() as requests:
        reserve(warming(1), NOON, 200)
        reserve(warming(1), NOON, 10)
        reserve(warming(1), NOON, 10)
        reserve(warming(1), NOON, 10)
    assert [each.operation for each in requests] == ["UpdateItem", "UpdateItem"]
    assert reserved_count(warming(1), NOON) == 200
    assert reserve(warming(1, stage=2), NOON, 100) == 80
    assert reserve(warming(2), NOON, 100) == 100
    assert reserve(warming(1), NOON + DAY, 100) == 100


def test_the_next_stage_begins_with_the_next_day(ip: SendingIp) -> None:
    midnight = NOON + DAY / 2
    assert ip.advance_ms == midnight * 1000
    reserve(ip, NOON, 1)
    assert advance_due(midnight - 1) == {}
    assert advance_due(midnight) == {"advanced": 1}
    assert (stored_ip().auto_warmup_stage, stored_ip().advance_ms) == (2, (midnight + DAY) * 1000)


def test_advancing_again_does_nothing(ip: SendingIp) -> None:
    reserve(ip, NOON, 1)
    midnight = NOON + DAY / 2
    entry = due.find(store.CONCERN, NEVER)[0]
    advance_due(midnight)
    after = stored_ip()
    due.add(entry)
    assert advance_due(midnight) == {"stale": 1}
    assert advance_due(midnight) == {}
    assert stored_ip() == after


@pytest.mark.cost
def test_nothing_due_costs_one_request(ip: SendingIp) -> None:
    with aws_requests() as requests:
        advance_due(NOON)
    assert [each.operation for each in requests] == ["Query"]


def test_a_day_on_which_nothing_was_sent_does_not_count(ip: SendingIp) -> None:
    midnight = NOON + DAY / 2
    assert advance_due(midnight) == {"held": 1}
    assert (stored_ip().auto_warmup_stage, stored_ip().advance_ms) == (1, (midnight + DAY) * 1000)
    reserve(stored_ip(), midnight + 60, 1)
    assert advance_due(midnight + DAY) == {"advanced": 1}


def test_an_ip_advances_one_stage_however_many_days_no_schedule_ran(ip: SendingIp) -> None:
    reserve(ip, NOON, 1)
    assert advance_due(NOON + 5 * DAY) == {"advanced": 1}
    assert (stored_ip().auto_warmup_stage, stored_ip().advance_ms) == (2, (NOON + 5.5 * DAY) * 1000)


def test_after_the_last_stage_the_ip_is_warm(cloud: None) -> None:
    with clock.use(lambda: NOON):
        add(warming(1, stage=LAST_STAGE))
    reserve(stored_ip(), NOON, 1)
    assert advance_due(NOON + DAY) == {"completed": 1}
    ip = stored_ip()
    assert (ip.auto_warmup_enabled, ip.auto_warmup_stage, ip.advance_ms) == (False, 29, 0)
    assert due.find(store.CONCERN, NEVER) == []


def test_an_ip_warms_up_in_29_days(ip: SendingIp) -> None:
    stages = []
    for day in range(40):
        now = NOON + day * DAY
        advance_due(now)
        if stored_ip().auto_warmup_enabled:
            stages.append(stored_ip().auto_warmup_stage)
            reserve(stored_ip(), now, 1)
    assert stages == list(range(1, 30))


def test_a_removed_ip_is_not_due_any_more(ip: SendingIp) -> None:
    entry = due.find(store.CONCERN, NEVER)[0]
    sending_ips.remove(1, "192.0.2.1")
    due.add(entry)
    assert advance_due(NOON + DAY) == {"stale": 1}
    assert due.find(store.CONCERN, NEVER) == []


def test_a_failure_leaves_the_others_and_is_tried_again(
    ip: SendingIp, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clock.use(lambda: NOON):
        add(warming(2))
    for last in (1, 2):
        reserve(stored_ip(last), NOON, 1)
    change = store.change

    def failing(account_id: int, edit: object) -> object:
        monkeypatch.setattr(store, "change", change)
        raise OSError("no cloud")

    monkeypatch.setattr(store, "change", failing)
    assert advance_due(NOON + DAY) == {"failed": 1, "advanced": 1}
    assert advance_due(NOON + DAY) == {}
    assert advance_due(NOON + DAY + 1) == {"advanced": 1}
    assert [stored_ip(last).auto_warmup_stage for last in (1, 2)] == [2, 2]
    assert advance_due(NOON + DAY + 1) == {"stale": 1}
