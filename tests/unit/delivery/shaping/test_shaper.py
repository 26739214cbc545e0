"""Processes share what they know of a path, and ask no more than they must."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.delivery.outcome import Retry
from chalicelib.delivery.shaping import store
from chalicelib.delivery.shaping.pacing import Lane
from chalicelib.delivery.shaping.providers import Limits
from chalicelib.delivery.shaping.shaper import Shaper
from chalicelib.delivery.shaping.store import Backlog
from tests.fake_cloud import aws_requests
from tests.unit.moving_clock import Clock, moving_clock

pytestmark = pytest.mark.usefixtures("cloud")

NOW = 1_700_000_000.0
FIVE = Limits(2, 20, per_second=5)
BULK, OTHER = Lane("1", "a"), Lane("2", "b")
BUSY = Retry(421, "4.7.0 Too many connections from you", 20)


@pytest.fixture(autouse=True)
def time() -> Iterator[Clock]:
    with moving_clock(NOW) as moving:
        yield moving


@pytest.fixture
def path() -> str:
    limit("slow.test", FIVE)
    return "slow.test|192.0.2.1"


def limit(group: str, limits: Limits) -> None:
    store.change_overrides(lambda before: before | {group: limits})


@pytest.mark.cost
def test_a_group_without_a_rate_costs_one_request_for_all_pauses_and_one_for_limits() -> None:
    shaper = Shaper()
    with aws_requests() as requests:
        for number in range(5):
            grant = shaper.ask(f"group{number}.test|", BULK, 100)
            assert grant.hold is None
            assert grant.times == [0.0] * 100
    assert [each.operation for each in requests] == ["Query", "GetItem"]


@pytest.mark.cost
def test_slots_of_a_unit_are_reserved_in_one_request(path: str) -> None:
    shaper = Shaper()
    shaper.ask(path, BULK, 1)
    with aws_requests() as requests:
        assert len(shaper.ask(path, BULK, 3).times) == 3
    assert [each.operation for each in requests] == ["PutItem"]


def test_two_processes_never_reserve_the_same_slot(path: str) -> None:
    one, two = Shaper(), Shaper()
    times = []
    for _ in range(4):
        times += one.ask(path, BULK, 2).times
        times += two.ask(path, OTHER, 2).times
    assert len(times) == len({round(each, 3) for each in times}) == 16
    assert max(times) - min(times) == pytest.approx(3.0)


def test_what_finds_no_slot_is_held_back_with_the_reason(path: str) -> None:
    grant = Shaper().ask(path, BULK, 100)
    assert len(grant.times) == 21
    assert grant.hold is not None
    assert grant.hold.lasts
    assert grant.hold.reason == "4.4.5 [internal] 5 messages a second may leave for slow.test"
    assert grant.hold.seconds >= 1


def test_a_short_wait_is_not_worth_an_event(path: str) -> None:
    grant = Shaper().ask(path, BULK, 30)
    assert grant.hold is not None
    assert not grant.hold.lasts


def test_units_of_a_long_backlog_ask_seldom_but_often_enough_together(path: str) -> None:
    for number in range(100):
        store.hold(path, Backlog("1", f"unit-{number}", 100, 0, ""))
    shaper = Shaper()
    shaper.ask(path, BULK, 100)
    holds = [shaper.ask(path, BULK, 100).hold for _ in range(200)]
    seconds = [hold.seconds for hold in holds if hold]
    # 200 units on average, for each of which one question a second is enough
    assert 140 < sum(seconds) / len(seconds) < 260


def test_a_small_send_asks_again_soon(path: str) -> None:
    for number in range(100):
        store.hold(path, Backlog("1", f"unit-{number}", 100, 0, ""))
    shaper = Shaper()
    shaper.ask(path, BULK, 100)
    shaper.ask(path, OTHER, 40, small=True)
    hold = shaper.ask(path, OTHER, 40, small=True).hold
    assert hold is not None
    assert hold.seconds < 12


def test_small_sends_that_wait_in_great_number_ask_seldom(path: str) -> None:
    for number in range(1_000):
        store.hold(path, Backlog("1", f"send-{number}", 1, 0, "", is_small=True))
    shaper = Shaper()
    shaper.ask(path, BULK, 100)
    shaper.ask(path, OTHER, 40, small=True)
    holds = [shaper.ask(path, OTHER, 40, small=True).hold for _ in range(200)]
    seconds = [hold.seconds for hold in holds if hold]
    assert len(seconds) == 200
    assert sum(seconds) / len(seconds) > 80
    assert max(seconds) <= 900


def test_the_state_of_a_path_does_not_grow_with_the_number_of_small_sends(path: str) -> None:
    shaper = Shaper()
    for number in range(15):
        shaper.ask(path, Lane("1", f"send-{number}"), 1, small=True)
    assert list(store.pace_of(path).shares) == ["1"]
    assert len(store.pace_of(path).shares["1"]) == 1


def test_an_answer_pauses_the_path_for_all_processes(time: Clock) -> None:
    one, two = Shaper(), Shaper()
    one.learn("slow.test|192.0.2.1", BUSY)
    for each in (one, two):
        grant = each.ask("slow.test|192.0.2.1", BULK, 3)
        assert grant.times == []
        assert grant.hold is not None
        assert "Too many connections from you" in grant.hold.reason
        assert 60 <= grant.hold.seconds <= 66
        assert each.wait_of("slow.test|192.0.2.1") >= 60
        assert each.is_paused("slow.test|192.0.2.1")
        assert each.ask("slow.test|192.0.2.2", BULK, 3).hold is None
    time.passes(61)
    assert len(two.ask("slow.test|192.0.2.1", BULK, 3).times) == 3


def test_an_answer_does_not_shorten_a_pause_that_others_have_lengthened(time: Clock) -> None:
    path = "slow.test|192.0.2.1"
    one, two, three = Shaper(), Shaper(), Shaper()
    for each in (two, three):
        each.ask(path, BULK, 1)
    for _ in range(3):
        one.learn(path, BUSY)
        time.passes(600)
    one.learn(path, BUSY)
    before = store.pauses()[path]
    two.learn(path, BUSY)
    assert store.pauses()[path].until_ms == before.until_ms
    assert store.pauses()[path].failures == 4
    # Even if it has asked just now, before the other's answer came
    three._pauses_until = 1e12
    three.learn(path, BUSY)
    assert store.pauses()[path].until_ms == before.until_ms
    (hold,) = [three.ask(path, BULK, 1).hold]
    assert hold is not None
    assert hold.seconds > 400


def test_a_slot_does_not_move_while_it_is_reserved(
    path: str, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of another process would otherwise leave at the same time."""
    replace_pace = store.replace_pace

    def be_slow(*arguments: Any) -> Any:
        time.passes(2)
        return replace_pace(*arguments)

    began = clock.monotonic()
    with monkeypatch.context() as slow:
        slow.setattr(store, "replace_pace", be_slow)
        times = Shaper().ask(path, BULK, 3).times
    times += Shaper().ask(path, OTHER, 3).times
    assert [at - began for at in times] == pytest.approx([0, 0.2, 0.4, 2, 2.2, 2.4], abs=1e-3)


def test_shared_limits_count_for_all_source_addresses_together(time: Clock) -> None:
    limit("slow.test", Limits(2, 20, per_second=5, is_shared=True))
    shaper = Shaper()
    one, two = "slow.test|192.0.2.1", "slow.test|192.0.2.2"
    assert len(shaper.ask(one, BULK, 100).times) == 21
    grant = shaper.ask(two, BULK, 100)
    assert grant.times == []
    assert grant.hold is not None
    assert grant.hold.path == two
    assert shaper.wait_of(two) > 0
    time.passes(30)
    shaper.learn(one, BUSY)
    assert shaper.ask(one, BULK, 1).times == []
    assert len(shaper.ask(two, BULK, 1).times) == 1, "a pause is that of one address"


@pytest.mark.cost
def test_a_path_that_is_full_is_known_without_a_request(path: str) -> None:
    shaper = Shaper()
    assert shaper.wait_of(path) == 0
    shaper.ask(path, BULK, 100)
    shaper.wait_of(path)
    with aws_requests() as requests:
        assert shaper.wait_of(path) >= 0.2
    assert requests == []


def test_backlogs_are_listed_by_path_and_account(path: str) -> None:
    store.hold(path, Backlog("1", "u1", 10, 5, "why"))
    store.hold(path, Backlog("2", "u2", 7, 6, "why"))
    assert store.held_paths() == [path]
    assert store.backlogs_of(path, "1") == [Backlog("1", "u1", 10, 5, "why")]
    assert sum(each.messages for each in store.backlogs_of(path)) == 17
    store.release(path, "1", "u1")
    assert [each.account for each in store.backlogs_of(path)] == ["2"]
