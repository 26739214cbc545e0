from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.message_event import Event
from chalicelib.core.scope import Scope
from chalicelib.events import filters, service, totals
from chalicelib.events.message_search import search_messages
from chalicelib.events.positions import EventWindow
from chalicelib.events.query_plan import QueryPlan
from chalicelib.metrics.rollup import roll_up_pending
from chalicelib.metrics.totals import Unsettled
from tests.fake_cloud import aws_requests
from tests.unit.events.examples import HOUR, NINE, event_at, record

NOW = NINE + HOUR
QUERIES: list[dict[str, str]] = [
    {},
    {"events": "bounce,open"},
    {"events": "rejection"},
    {"campaigns": "spring"},
    {"campaigns": "sale", "events": "delivery"},
    {"subaccounts": "0"},
    {"subaccounts": "7,8", "events": "bounce"},
    {"sending_ips": "192.0.2.1"},
]


@pytest.fixture(autouse=True)
def _at_ten(cloud: None) -> Iterator[None]:
    with clock.use(lambda: NOW / 1000):
        yield


def some_events(rng: random.Random, count: int, first: int = 0) -> list[Event]:
    events = []
    for index in range(first, first + count):
        fields = {
            "campaign_id": rng.choice(["", "spring-sale", "spring", "autumn sale"]),
            "subaccount_id": rng.choice(["", "7", "8"]),
            "sending_ip": rng.choice(["192.0.2.1", "192.0.2.2"]),
        }
        kind = rng.choice(["injection", "delivery", "bounce", "policy_rejection", "open"])
        who = rng.choice(["ann@a.test", "bob@b.test"])
        nonempty_fields = {name: value for name, value in fields.items() if value}
        events.append(
            event_at(NINE + rng.randrange(20 * 60_000), index, kind, who, **nonempty_fields)
        )
    return events


def plan(query: dict[str, str], window: EventWindow, confined_to: int | None = None) -> QueryPlan:
    return QueryPlan(1, filters.read(query, confined_to), window)


def count_from_counters(
    query: dict[str, str], window: EventWindow, confined_to: int | None = None
) -> int:
    """Return the count from the counters; fail if all events were read."""
    query_plan = plan(query, window, confined_to)
    positions = (match.position for match in query_plan.find(window))
    total = totals.count(query_plan, positions)
    assert next(positions, None) is not None, "everything was gone through"
    return total


def count_by_reading(
    query: dict[str, str], window: EventWindow, confined_to: int | None = None
) -> int:
    return sum(1 for _ in plan(query, window, confined_to).find(window))


@pytest.mark.spec("4.10-t1")
@pytest.mark.parametrize("query", QUERIES)
def test_counters_give_the_same_count_as_reading_all_events(query: dict[str, str]) -> None:
    record(some_events(random.Random(str(query)), 200))
    for bounds in ((0, 20), (0.4, 19.7), (3, 9.5), (1.01, 3.99)):
        window = EventWindow(NINE + int(bounds[0] * 60_000), NINE + int(bounds[1] * 60_000))
        assert count_from_counters(query, window) == count_by_reading(query, window)


def test_a_subaccounts_key_counts_only_its_events() -> None:
    record(some_events(random.Random(5), 200))
    window = EventWindow(NINE, NOW)
    assert (
        count_from_counters({}, window, 7)
        == count_by_reading({}, window, 7)
        < count_by_reading({}, window)
    )
    assert count_from_counters({"events": "open"}, window, 7) == count_by_reading(
        {"events": "open"}, window, 7
    )
    for query in ({"subaccounts": "7"}, {"campaigns": "spring"}, {"sending_ips": "192.0.2.1"}):
        assert reads_all_events(query, window, 7), query


@pytest.mark.parametrize("query", QUERIES)
def test_erased_events_are_subtracted(query: dict[str, str]) -> None:
    record(some_events(random.Random(6), 60))
    window = EventWindow(NINE + 20_500, NINE + 19 * 60_000 + 1)
    before = count_from_counters(query, window)
    for _ in range(2):
        service.erase_recipient(Scope(1, None), "ann@a.test")
    assert count_from_counters(query, window) == count_by_reading(query, window) < before


@pytest.mark.parametrize("query", [{}, {"campaigns": "spring"}, {"events": "bounce"}])
def test_events_of_hidden_campaigns_are_subtracted(query: dict[str, str]) -> None:
    events = some_events(random.Random(7), 200)
    for event in events[::3]:
        event["campaign_id"] = f"svc-performance-test-{event['event_id'][0]}"
    record(events)
    window = EventWindow(NINE + 500, NOW)
    assert count_from_counters(query, window) == count_by_reading(query, window) > 0


def reads_all_events(
    query: dict[str, str], window: EventWindow, confined_to: int | None = None
) -> bool:
    query_plan = plan(query, window, confined_to)
    positions = (match.position for match in query_plan.find(window))
    total = totals.count(query_plan, positions)
    assert total == count_by_reading(query, window, confined_to)
    return next(positions, None) is None


def test_events_are_read_for_searches_that_counters_cannot_count() -> None:
    events = some_events(random.Random(8), 100)
    events[0]["campaign_id"] = "svc-performance-test-1"
    record(events)
    window = EventWindow(NINE, NOW)
    for query in (
        {"subjects": "hello"},
        {"ip_pools": "default"},
        {"templates": "x"},
        {"recipients": "ann@a.test"},
        {"campaigns": "spring", "subaccounts": "7"},
        {"subaccounts": "7"},  # the hidden campaign may belong to it
    ):
        assert reads_all_events(query, window), query
    assert reads_all_events({"subaccounts": "7"}, window, 7)
    assert reads_all_events({}, EventWindow(NINE + 100, NINE + 59_900))


def test_all_events_are_read_if_rollups_keep_interfering(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unsettled(*_: Any) -> int:
        raise Unsettled

    record(some_events(random.Random(9), 30))
    monkeypatch.setattr(totals, "totals", unsettled)
    assert reads_all_events({}, EventWindow(NINE, NOW))


def test_the_last_minute_is_read_because_its_events_may_not_be_counted_yet() -> None:
    record(some_events(random.Random(2), 20))
    service.put_all([event_at(NOW - 60_000 + n * 1000, 100 + n) for n in range(30)])
    assert search_messages(1, {"per_page": "10"}).total == 50
    assert search_messages(1, {"per_page": "10", "campaigns": "spring"}).total == sum(
        "spring" in event.get("campaign_id", "") for event in some_events(random.Random(2), 20)
    )


def test_events_that_are_not_counted_yet_are_shown() -> None:
    service.put_all(some_events(random.Random(1), 20))
    page = search_messages(1, {"per_page": "10"})
    assert len(page.events) == 10
    assert page.total >= 11


@pytest.mark.cost
def test_counters_and_pending_deltas_are_counted() -> None:
    record(some_events(random.Random(2), 2))
    roll_up_pending()
    record(some_events(random.Random(3), 12, 2))
    with aws_requests() as requests:
        page = search_messages(1, {"per_page": "10"})
    assert page.total == 14
    assert len(requests) <= 1 + 2 + 12
