from __future__ import annotations

import random
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

import pytest

from chalicelib.core import clock, ids
from chalicelib.core.errors import ApiError
from chalicelib.core.message_event import Event
from chalicelib.core.settings import settings
from chalicelib.events import query_plan
from chalicelib.events.message_search import search_messages
from chalicelib.events.pages import EventPage
from chalicelib.events.positions import position
from tests.fake_cloud import aws_requests
from tests.unit.events.examples import HOUR, NINE, TRANSMISSION, event_at, record

DAY = 24 * HOUR
NOW = NINE + HOUR // 2


@pytest.fixture(autouse=True)
def _at_half_past_nine(cloud: None) -> Iterator[None]:
    with clock.use(lambda: NOW / 1000):
        yield


def find(account: int = 1, **query: str) -> EventPage:
    return search_messages(account, query)


def ids_of(page: EventPage) -> list[str]:
    return [event["message_id"] for event in page.events]


def follow(page: EventPage, **changed: str) -> EventPage:
    """Follow the link as a client does."""
    parts = urlsplit(page.next_link)
    assert parts.path == "/api/v1/events/message"
    return find(**{**dict(parse_qsl(parts.query)), **changed})


@pytest.mark.spec("4.10-t1")
def test_events_are_shown_newest_first_with_their_count() -> None:
    record([event_at(NINE + n, n) for n in range(3)])
    page = find()
    stamps = [event["timestamp"] for event in page.events]
    assert stamps == [f"2026-01-31T09:00:00.00{n}Z" for n in (2, 1, 0)]
    assert (page.total, page.next_link) == (3, "")


def test_a_search_that_finds_nothing_has_no_next_page() -> None:
    assert find() == EventPage([], 0, "")
    record([event_at(NINE)])
    for query in (
        {"campaigns": "none"},
        {"recipients": "nobody@a.test"},
        {"transmissions": "17"},
        {"messages": "m"},
        {"event_ids": "1"},
        {"events": "ab_test_completed,success"},
    ):
        assert find(**query) == EventPage([], 0, ""), query


@pytest.mark.spec("4.10-t1")
def test_the_default_window_runs_from_a_day_ago_to_a_minute_ago(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVENTS_LAG", "60")
    settings.cache_clear()
    offsets = [-DAY - 1, -DAY, -60_001, -60_000, -1]
    record([event_at(NOW + offset, n) for n, offset in enumerate(offsets)])
    assert [event["message_id"][-1] for event in find().events] == ["2", "1"]


@pytest.mark.spec("4.10-t1")
def test_from_is_inclusive_and_to_is_exclusive() -> None:
    record([event_at(NINE + n * 1000, n) for n in range(4)])
    page = find(**{"from": "2026-01-31T09:00:01Z", "to": "2026-01-31T09:00:03Z"})
    assert [event["message_id"][-1] for event in page.events] == ["2", "1"]
    assert page.total == 2


@pytest.mark.spec("8-t12")
def test_events_older_than_ten_days_are_hidden_though_they_are_still_stored() -> None:
    record([event_at(NOW - 10 * DAY, 0), event_at(NOW - 10 * DAY - 1, 1)])
    page = find(**{"from": "2000-01-01T00:00:00Z"})
    assert [event["message_id"][-1] for event in page.events] == ["0"]
    assert find(recipients="ann@example.test", **{"from": "2000-01-01T00:00:00Z"}) == page


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
        ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"),
        ("2026-01-31T09:00:00Z", "2400-01-01T00:00:00Z"),
    ],
)
def test_a_search_accepts_any_window(begin: str, end: str) -> None:
    record([event_at(NINE)])
    page = find(**{"from": begin, "to": end})
    assert len(page.events) == (0 if end.startswith("2020") else 1)


@pytest.mark.spec("1-r5")
def test_unexpected_parameters_are_ignored() -> None:
    record([event_at(NINE)])
    assert find(colour="red").total == 1


@pytest.mark.spec("4.10-t1")
def test_a_page_that_holds_everything_exactly_is_the_last() -> None:
    record([event_at(NINE + n, n) for n in range(2)])
    assert find(per_page="2").next_link == ""
    assert find(per_page="1").next_link != ""


QUERIES = [{}, {"recipients": "ann@example.test"}, {"transmissions": TRANSMISSION}]


@pytest.mark.spec("4.10-t1")
@pytest.mark.parametrize("query", [*QUERIES, {"campaigns": "spring"}, {"subjects": "hello"}])
def test_pages_neither_repeat_nor_skip_while_events_arrive(query: dict[str, str]) -> None:
    fields = {"campaign_id": "spring-sale", "subject": "Hello Ann"}
    events = [event_at(NINE + n // 3, n, **fields) for n in range(11)]  # several events at one time
    record(events)
    page = find(per_page="3", cursor="initial", **query)
    message_ids = ids_of(page)
    late = 100
    while page.next_link and late < 150:
        with clock.use(lambda: NOW / 1000 + 60):
            new = [event_at(NOW + late, late), event_at(NINE - late, late + 1, **fields)]
            record(new)
            late += 2
            page = follow(page)
        assert page.total == 11
        message_ids += ids_of(page)
    assert len(message_ids) == len(set(message_ids))
    assert {event["message_id"] for event in events} <= set(message_ids)
    extra = set(message_ids) - {event["message_id"] for event in events}
    assert all(int(each[-8:], 16) % 2 for each in extra)  # none from outside the window


@pytest.mark.spec("4.10-t1")
def test_the_link_carries_the_filters_and_the_cursor() -> None:
    record([event_at(NINE + n, n, kind) for n in range(2) for kind in ("delay", "bounce")])
    query = {"events": "bounce,open", "recipients": "a+b@example.test,ann@example.test"}
    page = find(per_page="1", cursor="initial", **query)
    parameters = dict(parse_qsl(urlsplit(page.next_link).query))
    assert parameters.pop("cursor") not in ("", "initial")
    assert parameters == query | {"per_page": "1"}
    second = follow(page)
    assert [event["type"] for event in second.events] == ["bounce"]
    assert (second.total, second.next_link) == (2, "")


@pytest.mark.parametrize(
    "changed",
    [{"events": "delivery"}, {"recipients": "bob@example.test"}, {"delimiter": ";"}, {"to": ""}],
)
def test_a_cursor_is_valid_for_its_filters_only(changed: dict[str, str]) -> None:
    record([event_at(NINE + n, n) for n in range(3)])
    query = {"recipients": "ann@example.test,bob@example.test", "to": "2026-01-31T09:20:00Z"}
    first = find(per_page="1", **query)
    with pytest.raises(ApiError, match="other filters"):
        follow(first, **changed)
    assert len(follow(first, per_page="2", colour="red").events) == 2


def test_a_cursor_is_valid_for_its_account_and_subaccount_only() -> None:
    record([event_at(NINE + n, n) for n in range(3)])
    query = dict(parse_qsl(urlsplit(find(per_page="1").next_link).query))
    for account, confined_to in ((2, None), (1, 7)):
        with pytest.raises(ApiError, match="other filters"):
            search_messages(account, query, confined_to)


@pytest.mark.cost
@pytest.mark.parametrize("query", QUERIES)
def test_a_later_page_reads_only_the_events_that_it_shows(query: dict[str, str]) -> None:
    for n in range(50):
        record([event_at(NINE - n * 60_000, n)])
    first = find(per_page="2", **query)
    with aws_requests() as requests:
        follow(first)
    # All partitions but those of recipients have shards, which the day index names
    limits = [16] if "recipients" in query else [None, *[16] * settings().events_shards]
    assert [each.parameters.get("Limit") for each in requests] == limits


@pytest.mark.parametrize("name", ["transmissions", "campaigns", "messages"])
def test_events_are_found_whatever_the_number_of_shards_was(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [event_at(NINE - n, n, campaign_id="spring") for n in range(36)]
    for number, shards in enumerate(("1", "8", "2", "0")):
        monkeypatch.setenv("EVENTS_SHARDS", shards)
        settings.cache_clear()
        for event in events[number::4]:
            record([event])
    value = {"transmissions": TRANSMISSION, "campaigns": "spring"}.get(name) or ",".join(
        event["message_id"] for event in events
    )
    page = find(**{name: value})
    assert ids_of(page) == [event["message_id"] for event in events]
    assert page.total == 36


@pytest.mark.cost
def test_a_search_by_event_ids_stops_when_it_has_found_them() -> None:
    events = [event_at(NINE - n * DAY, n) for n in range(5)]
    for event in events:
        record([event])
    query = {"event_ids": events[1]["event_id"], "from": "2026-01-22T00:00:00Z"}
    with aws_requests() as requests:
        page = find(**query)
    assert (ids_of(page), page.total) == ([events[1]["message_id"]], 1)
    assert len(requests) <= 1 + 2


@pytest.mark.cost
@pytest.mark.parametrize("name", ["recipients", "transmissions", "messages"])
def test_a_value_that_is_longer_than_any_key_finds_nothing(name: str) -> None:
    with aws_requests() as requests:
        assert find(**{name: "x" * 3000}) == EventPage([], 0, "")
    # DynamoDB would refuse the key
    partitions = [each.parameters["ExpressionAttributeValues"][":pk"]["S"] for each in requests]
    assert set(partitions) <= {"1#days"}


def test_messages_are_found_by_their_ids_whoever_generated_them() -> None:
    foreign = event_at(NINE, 9) | {"message_id": "made-elsewhere"}
    record([event_at(NINE, n) for n in range(3)] + [foreign])
    message_ids = [ids.message_id(TRANSMISSION, 1), "made-elsewhere"]
    assert sorted(ids_of(find(messages=",".join(message_ids)))) == sorted(message_ids)


def test_a_keyword_finds_every_campaign_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["spring-sale", "spring_news", "springtime", "autumn sale"]
    record([event_at(NINE + n, n, campaign_id=name) for n, name in enumerate(names)])
    expected = {"spring": 2, "sale": 2, "spring sale": 1, "springtime,autumn": 2, "sprin": 0}
    assert {word: find(campaigns=word).total for word in expected} == expected
    monkeypatch.setattr(query_plan, "MOST_CAMPAIGNS", 1)
    assert {word: find(campaigns=word).total for word in expected} == expected


def test_hidden_campaigns_are_not_found() -> None:
    record([event_at(NINE, campaign_id="svc-performance-test-1"), event_at(NINE, 1)])
    assert find().total == find(recipients="ann@example.test").total == 1
    assert find(campaigns="performance").total == 0


def test_a_subaccounts_key_finds_only_its_events() -> None:
    record([event_at(NINE + n, n, subaccount_id=o) for n, o in enumerate(("7", "8"))])
    record([event_at(NINE + 5, 5)])
    assert search_messages(1, {}, 7).total == 1
    assert search_messages(1, {"subaccounts": "8"}, 7).total == 0
    assert find(subaccounts="0").total == 1
    assert find(subaccounts="0,8").total == 2


def test_a_search_result_has_the_fields_of_the_event() -> None:
    event = event_at(NINE, subject="Hello")
    record([event])
    (view,) = find().events
    assert view["display_name"] == "Delivery"
    assert {name: view[name] for name in event if name != "timestamp"} == {
        name: value for name, value in event.items() if name != "timestamp"
    }


def some_event(rng: random.Random, index: int) -> Event:
    who = rng.choice(["ann", "bob", "eve"])
    fields = {
        "campaign_id": rng.choice(["", "spring-sale", "spring news", "autumn"]),
        "subject": rng.choice(["Hello Ann", "Hello Bob", "Bye"]),
        "subaccount_id": rng.choice(["", "7"]),
    }
    return event_at(
        NINE + rng.randrange(20_000),
        index,
        rng.choice(["injection", "delivery", "bounce"]),
        f"{who}@{rng.choice('ab')}.test",
        **{name: value for name, value in fields.items() if value},
    )


@pytest.mark.parametrize("seed", range(3))
def test_exactly_the_events_that_pass_the_filters_are_found(seed: int) -> None:
    rng = random.Random(seed)
    events = [some_event(rng, index) for index in range(150)]
    for start in range(0, 150, 30):
        record(events[start : start + 30])
    filters = {
        "events": ("bounce,injection", lambda e: e["type"] != "delivery"),
        "recipients": (
            "ann@a.test,bob@b.test",
            lambda e: e["rcpt_to"] in ("ann@a.test", "bob@b.test"),
        ),
        "recipient_domains": ("b", lambda e: e["rcpt_to"].endswith("@b.test")),
        "campaigns": ("spring", lambda e: e.get("campaign_id", "").startswith("spring")),
        "subjects": ("hello", lambda e: e["subject"].startswith("Hello")),
        "subaccounts": ("0", lambda e: "subaccount_id" not in e),
        "transmissions": (TRANSMISSION, lambda e: True),
    }
    for _ in range(12):
        names = rng.sample(sorted(filters), rng.randint(0, 3))
        query = {name: filters[name][0] for name in names} | {"per_page": "20"}
        passing = (e for e in events if all(filters[name][1](e) for name in names))
        expected = [e["event_id"] for e in sorted(passing, key=position, reverse=True)]
        page = find(**query)
        assert page.total == len(expected)
        event_ids = [event["event_id"] for event in page.events]
        while page.next_link:
            page = follow(page)
            event_ids += [event["event_id"] for event in page.events]
        assert event_ids == expected
