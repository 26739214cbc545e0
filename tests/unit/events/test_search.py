from __future__ import annotations

import random

import pytest

from chalicelib.core.message_event import Event
from chalicelib.core.settings import settings
from chalicelib.events import search, service
from chalicelib.events.event_blocks import SPAN_MS
from chalicelib.events.positions import EventWindow, position
from chalicelib.events.store import blocks, day_index, partitions
from tests.fake_cloud import aws_requests
from tests.unit.events.examples import HOUR, NINE, TRANSMISSION, event_at

pytestmark = pytest.mark.usefixtures("cloud")

DAY = 24 * HOUR
EVER = EventWindow(0, 10**14)
OURS = list(partitions.in_shards([partitions.transmission(1, TRANSMISSION)], (0, 1)))


def by_time(window: EventWindow = EVER, before: str = "") -> list[Event]:
    return [match.event() for match in search.by_time(1, window, before=before)]


def newest(events: list[Event]) -> list[Event]:
    return sorted(events, key=position, reverse=True)


@pytest.mark.parametrize("seed", range(6))
def test_overlapping_blocks_are_read_in_order_and_from_any_position(seed: int) -> None:
    rng = random.Random(seed)
    events = [event_at(NINE + rng.randrange(30_000), n) for n in range(120)]
    rest = events[:]
    rng.shuffle(rest)
    while rest:  # as several workers store them
        size = rng.randint(1, 25)
        service.put_all(rest[:size])
        rest = rest[size:]
    assert by_time() == newest(events)
    assert [m.event() for m in search.in_partitions(OURS, EVER)] == newest(events)
    for event in rng.sample(events, 5):
        before = position(event)
        older = [each for each in newest(events) if position(each) < before]
        assert by_time(before=before) == older
        begin, end = event["timestamp"] - 7000, event["timestamp"]
        inside = [each for each in newest(events) if begin <= each["timestamp"] < end]
        assert by_time(EventWindow(begin, end)) == inside


def test_an_event_that_was_stored_again_in_other_blocks_is_read_once() -> None:
    events = [event_at(NINE + n // 4, n) for n in range(30)]
    for size in (30, 7, 1):
        for start in range(0, 30, size):
            service.put_all(events[start : start + size])
    assert by_time() == newest(events)
    matches = search.in_partitions(OURS, EVER, {"type": "delivery".__eq__})
    assert [match.event() for match in matches] == newest(events)


def test_a_block_may_extend_beyond_the_bounds_of_a_window() -> None:
    events = [event_at(NINE + offset, n) for n, offset in enumerate((0, 2500, SPAN_MS))]
    service.put_all(events)
    assert by_time(EventWindow(NINE, NINE + 1)) == events[:1]
    assert by_time(EventWindow(NINE + 1, NINE + SPAN_MS)) == events[1:2]
    assert by_time(EventWindow(NINE + SPAN_MS, NINE + 2 * SPAN_MS)) == events[2:]


@pytest.mark.cost
def test_days_without_events_are_not_read() -> None:
    service.put_all([event_at(NINE)])
    service.put_all([event_at(NINE + 7 * DAY, 1)])
    with aws_requests() as requests:
        assert len(by_time(EventWindow(NINE - 20 * DAY, NINE + 20 * DAY))) == 2
    assert len(requests) == 1 + 2


@pytest.mark.cost
def test_blocks_are_read_only_when_the_caller_needs_them() -> None:
    for n in range(40):
        service.put_all([event_at(NINE + n * 10_000, n)])
    with aws_requests() as requests:
        matches = search.in_partitions([partitions.recipient(1, "ann@example.test")], EVER)
        assert requests == []
        next(matches)
        assert [each.parameters["Limit"] for each in requests] == [16]
        assert len(list(matches)) == 39
    assert [each.parameters["Limit"] for each in requests] == [16, 64]


def test_a_long_search_reads_more_blocks_in_each_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocks, "FIRST_PAGE", 2)
    for day in range(3):
        for n in range(6):
            service.put_all([event_at(NINE - day * DAY - n * 10_000, day * 6 + n)])
    with aws_requests() as requests:
        assert len(by_time(EventWindow(NINE - 5 * DAY, NINE + 1))) == 18
    limits = [each.parameters["Limit"] for each in requests[1:]]
    assert set(limits) == {2, 8, 32}
    assert limits[-settings().events_shards :] == [32] * settings().events_shards


def test_all_events_are_found_after_the_number_of_shards_was_reduced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVENTS_SHARDS", "8")
    settings.cache_clear()
    events = [event_at(NINE + n * 6000, n) for n in range(40)]
    for event in events:
        service.put_all([event])
    (day,) = day_index.days(1, NINE, NINE)
    assert (day.name, len(day.shards) > 4) == ("20260131", True)
    monkeypatch.setenv("EVENTS_SHARDS", "1")
    settings.cache_clear()
    service.put_all([event_at(NINE + HOUR, 40)])
    assert len(by_time()) == 41


@pytest.mark.cost
@pytest.mark.parametrize(
    "window",
    [
        EventWindow(NINE + 1, NINE),
        EventWindow(NINE, NINE),
        EventWindow(10**13, 10**14),
        EventWindow(-5, -1),
        EventWindow(10**15, 0),
    ],
)
def test_an_empty_window_takes_no_request(window: EventWindow) -> None:
    # DynamoDB refuses a range that ends before it begins
    service.put_all([event_at(NINE)])
    with aws_requests() as requests:
        assert by_time(window) == []
        assert list(search.in_partitions(OURS, window)) == []
    assert requests == []


def test_a_window_may_have_any_date_as_a_bound() -> None:
    service.put_all([event_at(NINE)])
    assert len(by_time(EventWindow(NINE, 16_725_225_600_000))) == 1  # the year 2500
    assert len(by_time(EventWindow(-62_135_596_800_000, NINE + 1))) == 1  # the year 1


def test_a_range_that_crosses_midnight_is_read_completely() -> None:
    midnight = NINE - 9 * HOUR
    events = [event_at(midnight + offset, n) for n, offset in enumerate((-2, -1, 0, 1))]
    service.put_all(events)
    assert by_time() == newest(events)
    assert by_time(EventWindow(midnight - 1, midnight + 1)) == [events[2], events[1]]
