from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.ab_tests import decisions, service
from chalicelib.ab_tests.decisions import decide_due, winner
from chalicelib.ab_tests.model import CHECK_EVERY_MS, HOUR_MS, AbTest, Counts
from chalicelib.ab_tests.store import sample, versions
from chalicelib.core import clock, due
from chalicelib.core.dynamo import Table
from chalicelib.core.scope import Scope
from tests.fake_cloud import aws_requests
from tests.unit.ab_tests.examples import (
    DAY,
    START,
    again,
    by_percent,
    by_size,
    engaged,
    stored,
)

pytestmark = pytest.mark.usefixtures("cloud")

END = START + DAY + 2 * HOUR_MS
"""When the tests of these examples complete at the latest."""
ENOUGH = 12


@pytest.fixture(autouse=True)
def _few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make twelve messages enough to end a test early: counting hundreds takes seconds here."""
    monkeypatch.setattr(decisions, "FEWEST_ACCEPTED", ENOUGH)


class Emitted:
    """Collects the events that were emitted."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def __call__(self, events: list[dict[str, Any]]) -> None:
        self.events += events


def decided(test: AbTest, now_ms: int = END) -> AbTest:
    decide_due(now_ms, Emitted())
    return again(test)


def pending() -> list[int]:
    return [entry.at_ms for entry in due.find(versions.CONCERN, START * 2)]


def test_the_winner_is_certain_enough_to_be_the_best() -> None:
    test = by_percent(50, 50, confidence_level=0.95)
    assert winner(test, {"t0": Counts(1000, 50), "t1": Counts(1000, 100)}) == "t1"
    assert winner(test, {"t0": Counts(1000, 100), "t1": Counts(1000, 50)}) == "t0"
    assert winner(test, {"t0": Counts(1000, 50), "t1": Counts(1000, 55)}) is None
    assert winner(test, {}) is None


def test_the_confidence_level_decides_whether_a_winner_is_certain() -> None:
    counts = {"t0": Counts(500, 50), "t1": Counts(500, 65)}  # 93 % certain
    assert winner(by_percent(50, 50, confidence_level=0.9), counts) == "t1"
    assert winner(by_percent(50, 50, confidence_level=0.95), counts) is None


def test_the_metric_decides_which_rates_are_compared() -> None:
    counts = {"t0": Counts(900, clicked=90, opened=100), "t1": Counts(900, clicked=10, opened=300)}
    assert winner(by_percent(50, 50), counts) == "t0"
    assert winner(by_percent(50, 50, metric="count_unique_confirmed_opened"), counts) == "t1"


def test_a_test_completes_when_the_time_for_engagement_after_its_end_is_over() -> None:
    test = stored(by_percent(50, 50))
    engaged(test, "t0", 10, 1)
    engaged(test, "t1", 10, 9)
    assert decided(test, END - 1).state == "scheduled"
    completed = decided(test, END)
    assert (completed.state, completed.winning_template_id) == ("completed", "t1")
    assert (completed.ended_ms, completed.updated_ms, completed.due_ms) == (END, END, None)
    assert completed.counts == {"t0": Counts(10, 1, 1), "t1": Counts(10, 9, 9)}


def test_when_nothing_is_certain_the_default_template_wins() -> None:
    test = stored(by_percent(50, 50))
    engaged(test, "t1", 3, 1)
    assert decided(test).winning_template_id == "t0"


def test_in_learning_mode_nobody_wins() -> None:
    test = stored(by_percent(50, 50, test_mode="learning"))
    engaged(test, "t0", 20, 0)
    engaged(test, "t1", 20, 20)
    completed = decided(test)
    assert (completed.state, completed.winning_template_id) == ("completed", None)
    assert completed.settled_template(END) == "t0"


def test_a_test_whose_sample_is_used_up_completes_after_the_time_for_engagement() -> None:
    test = stored(by_size(5, 5, test_mode="learning"))
    with clock.use(lambda: (START + 1000) / 1000):
        for number in range(10):
            assert sample.take(test, f"m{number}", test.shares)
    assert decided(test, START + 1000 + 2 * HOUR_MS - 1).state == "scheduled"
    assert decided(test, START + 1000 + 2 * HOUR_MS).state == "completed"


def test_a_bayesian_test_ends_as_soon_as_it_is_certain() -> None:
    test = stored(by_percent(50, 50))
    engaged(test, "t0", ENOUGH, 1)
    engaged(test, "t1", ENOUGH, 12)
    assert decided(test, START + CHECK_EVERY_MS - 1).state == "scheduled"
    completed = decided(test, START + CHECK_EVERY_MS)
    assert (completed.state, completed.winning_template_id) == ("completed", "t1")


def test_a_few_early_messages_do_not_end_a_test() -> None:
    test = stored(by_percent(50, 50))
    engaged(test, "t0", ENOUGH, 0)
    engaged(test, "t1", ENOUGH - 1, 11)
    assert decided(test, START + CHECK_EVERY_MS).state == "scheduled"


def test_a_running_test_is_checked_every_few_minutes() -> None:
    test = stored(by_percent(50, 50))
    now = START + CHECK_EVERY_MS + 3000
    assert decided(test, now).due_ms == now + CHECK_EVERY_MS
    assert pending() == [now + CHECK_EVERY_MS]


def test_a_learning_test_does_not_end_early() -> None:
    test = stored(by_percent(50, 50, test_mode="learning"))
    engaged(test, "t0", ENOUGH, 0)
    engaged(test, "t1", ENOUGH, 12)
    assert decided(test, START + DAY).state == "scheduled"


def test_the_event_of_the_end_is_emitted_once() -> None:
    test = stored(by_percent(50, 50))
    emitted = Emitted()
    assert decide_due(END, emitted) == 2
    assert decide_due(END + 1, emitted) == 0
    assert [event["type"] for event in emitted.events] == ["ab_test_completed"]
    assert emitted.events[0]["ab_test"]["winning_template_id"] == "t0"
    assert pending() == []
    assert again(test).state == "completed"


def test_the_next_tick_emits_the_event_of_a_cancellation() -> None:
    stored(by_percent(50, 50))
    emitted = Emitted()
    with clock.use(lambda: START / 1000):
        service.cancel(Scope(1, 0), "welcome")
    decide_due(START, emitted)
    assert [event["type"] for event in emitted.events] == ["ab_test_cancelled"]
    decide_due(END, emitted)
    assert len(emitted.events) == 1
    assert pending() == []


def test_the_event_of_a_deleted_test_is_still_emitted() -> None:
    test = stored(by_percent(50, 50))
    emitted = Emitted()
    with clock.use(lambda: START / 1000):
        service.cancel(Scope(1, 0), "welcome")
        service.delete(Scope(1, 0), "welcome", None)
    decide_due(END, emitted)
    assert [event["ab_test"]["id"] for event in emitted.events] == [test.id]


def test_the_same_event_is_emitted_again_after_a_crash() -> None:
    stored(by_percent(50, 50))
    emitted = Emitted()

    def tell_and_crash(events: list[dict[str, Any]]) -> None:
        emitted(events)
        raise ConnectionError

    decide_due(END, tell_and_crash)
    decide_due(END + 60_000, emitted)
    assert len(emitted.events) == 2
    assert emitted.events[0] == emitted.events[1]
    assert pending() == []


def test_a_crash_after_the_decision_does_not_lose_its_event(monkeypatch: Any) -> None:
    test = stored(by_percent(50, 50))
    emitted = Emitted()
    with monkeypatch.context() as patch:
        patch.setattr(due, "remove", _crash)
        decide_due(END, Emitted())
    assert again(test).state == "completed"
    decide_due(END + 1000, emitted)
    assert [event["type"] for event in emitted.events] == ["ab_test_completed"]
    assert pending() == []


def _crash(*_: Any) -> None:
    raise ConnectionError


def test_a_version_that_was_changed_meanwhile_is_not_completed(monkeypatch: Any) -> None:
    test = stored(by_percent(50, 50))
    find = versions.version

    def cancelled_meanwhile(*arguments: Any) -> AbTest | None:
        test = find(*arguments)
        monkeypatch.setattr(versions, "version", find)
        with clock.use(lambda: END / 1000):
            service.cancel(Scope(1, 0), "welcome")
        return test

    monkeypatch.setattr(versions, "version", cancelled_meanwhile)
    emitted = Emitted()
    decide_due(END, emitted)
    assert again(test).state == "cancelled"
    assert [event["type"] for event in emitted.events] == ["ab_test_cancelled"]


def test_a_check_that_fails_stops_no_other_and_stays_due() -> None:
    broken = stored(by_percent(50, 50, id="broken"))
    stored(by_percent(50, 50))
    pk, sk = versions.key(broken)
    Table("config").update(pk, sk, "SET #variants = :bad", values={"bad": "no list"})
    emitted = Emitted()
    decide_due(END, emitted)
    assert [event["ab_test"]["id"] for event in emitted.events] == ["welcome"]
    assert len(pending()) == 1


def test_a_stale_entry_is_removed() -> None:
    test = stored(by_percent(50, 50))
    later = replace(test, start_ms=START + DAY, end_ms=START + 2 * DAY)
    versions.update(test, replace(later, due_ms=later.next_check_ms(0)))
    assert len(pending()) == 2
    decided(test, START + CHECK_EVERY_MS)
    assert pending() == [START + DAY + CHECK_EVERY_MS]


def test_an_entry_that_was_done_before_changes_nothing() -> None:
    test = stored(by_percent(50, 50))
    now = START + CHECK_EVERY_MS
    decided(test, now)
    due.add(versions.due_entry(test))
    decided(test, now + 1000)
    assert pending() == [now + CHECK_EVERY_MS]


@pytest.mark.cost
def test_a_tick_with_nothing_to_do_costs_one_request_whatever_exists() -> None:
    for number in range(5):
        stored(by_percent(50, 50, id=f"test-{number}"))
    with aws_requests() as requests:
        assert decide_due(START, Emitted()) == 0
    assert [request.operation for request in requests] == ["Query"]
