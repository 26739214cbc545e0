from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chalicelib.core import clock, signing
from chalicelib.core.errors import ApiError
from chalicelib.core.settings import settings
from chalicelib.events import search, store
from chalicelib.events.search import Found, read_search
from chalicelib.events.store import Window
from tests.fake_cloud import aws_requests
from tests.unit.events.examples import HOUR, NINE, event_at

DAY = 24 * HOUR
NOW = NINE + HOUR // 2


@pytest.fixture(autouse=True)
def _at_half_past_nine(cloud: None) -> Iterator[None]:
    with clock.use(lambda: NOW / 1000):
        yield


def find(account: int = 1, **query: str) -> Found:
    return search.run(account, read_search(query), query)


def ids_of(found: Found) -> list[str]:
    return [event["message_id"] for event in found.events]


def followed(found: Found) -> Found:
    """Follow the link as a client does."""
    parts = urlsplit(found.next_link)
    assert parts.path == "/api/v1/events/message"
    return find(**dict(parse_qsl(parts.query)))


def refusal(**query: str) -> ApiError:
    with pytest.raises(ApiError) as refused:
        read_search(query)
    assert refused.value.status == 400
    assert refused.value.code == "1200"
    return refused.value


@pytest.mark.spec("4.10-t1")
def test_events_are_shown_newest_first_with_their_count() -> None:
    store.put_all([event_at(NINE + n, n) for n in range(3)])
    found = find()
    stamps = [event["timestamp"] for event in found.events]
    assert stamps == [f"2026-01-31T09:00:00.00{n}Z" for n in (2, 1, 0)]
    assert (found.total, found.next_link) == (3, "")


def test_a_search_that_finds_nothing_has_no_next_page() -> None:
    assert find() == Found([], 0, "")


@pytest.mark.spec("4.10-t1")
def test_the_default_window_runs_from_a_day_ago_to_a_minute_ago(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVENTS_LAG", "60")
    settings.cache_clear()
    assert read_search({}).window == Window(NOW - DAY, NOW - 60_000)
    offsets = [-DAY - 1, -DAY, -60_001, -60_000, -1]
    store.put_all([event_at(NOW + offset, n) for n, offset in enumerate(offsets)])
    assert [event["message_id"][-1] for event in find().events] == ["2", "1"]


@pytest.mark.spec("4.10-t1")
def test_from_is_inclusive_and_to_is_exclusive() -> None:
    store.put_all([event_at(NINE + n * 1000, n) for n in range(4)])
    found = find(**{"from": "2026-01-31T09:00:01Z", "to": "2026-01-31T09:00:03Z"})
    assert [event["message_id"][-1] for event in found.events] == ["2", "1"]
    assert found.total == 2


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("2026-01-31T09:05:00Z", 300_000),
        ("2026-01-31T09:05:00", 300_000),
        ("2026-01-31T09:05:00.007Z", 300_007),
        ("2026-01-31T10:05:00+01:00", 300_000),
        ("2026-01-31T10:05:00 01:00", 300_000),  # a plus that was not encoded in the query
        ("2026-01-31T09:05", 300_000),
        ("2026-01-31", -9 * HOUR),
    ],
)
def test_times_are_read_with_and_without_an_offset(text: str, offset: int) -> None:
    assert read_search({"from": text}).window.start == NINE + offset


@given(st.integers(NOW - 10 * DAY, NOW - 1))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_time_with_milliseconds_loses_none(moment: int) -> None:
    assert read_search({"from": clock.iso_ms(moment)}).window.start == moment


@pytest.mark.parametrize("name", ["from", "to"])
@pytest.mark.parametrize("text", ["yesterday", "2026-13-01T00:00:00Z", "1769850000", "2026-01-31T"])
def test_what_is_no_time_is_refused_by_its_name(name: str, text: str) -> None:
    assert name in str(refusal(**{name: text}))


def test_a_window_that_ends_before_it_begins_is_refused() -> None:
    query = {"from": "2026-01-31T09:00:01Z", "to": "2026-01-31T09:00:00Z"}
    assert "from must be before to" in str(refusal(**query))


def test_a_window_that_begins_within_the_last_minute_is_empty_and_not_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EVENTS_LAG", "60")
    settings.cache_clear()
    store.put_all([event_at(NOW - 20_000)])
    assert find(**{"from": "2026-01-31T09:29:30Z"}) == Found([], 0, "")


@pytest.mark.spec("8-t12")
def test_a_window_reaches_back_ten_days_at_most() -> None:
    store.put_all([event_at(NOW - 10 * DAY, 0), event_at(NOW - 10 * DAY - 1, 1)])
    found = find(**{"from": "2000-01-01T00:00:00Z"})
    assert [event["message_id"][-1] for event in found.events] == ["0"]


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
        ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"),
        ("2026-01-31T09:00:00Z", "2400-01-01T00:00:00Z"),
    ],
)
def test_no_window_makes_a_search_fail(begin: str, end: str) -> None:
    store.put_all([event_at(NINE)])
    found = find(**{"from": begin, "to": end})
    assert len(found.events) == (0 if end.startswith("2020") else 1)


def test_types_are_filtered_by_a_comma_list() -> None:
    kinds = ["injection", "delivery", "bounce", "delay"]
    store.put_all([event_at(NINE + n, n, kind) for n, kind in enumerate(kinds)])
    found = find(events="bounce, delivery,unknown")
    assert [event["type"] for event in found.events] == ["bounce", "delivery"]
    assert found.total == 2
    assert find(events="unknown").total == 0


def test_recipients_are_filtered_by_a_comma_list_in_any_case() -> None:
    names = ["ann", "bob", "eve", "ann"]
    store.put_all([event_at(NINE + n, n, recipient=f"{x}@b.test") for n, x in enumerate(names)])
    found = find(recipients="ANN@b.test,bob@b.test")
    assert [event["rcpt_to"][:3] for event in found.events] == ["ann", "bob", "ann"]
    assert found.total == 3
    assert find(recipients="ann@b.test,Ann@b.test").total == 2
    assert find(recipients="ann@b.test", events="bounce").total == 0


@pytest.mark.parametrize("text", ["0", "10001", "-1", "many", "1.5", ""])
@pytest.mark.spec("8-t12")
def test_a_page_size_out_of_its_limits_is_refused(text: str) -> None:
    assert "per_page" in str(refusal(per_page=text))


@pytest.mark.spec("8-t12")
def test_a_page_has_1000_events_unless_asked_for_1_to_10000() -> None:
    assert read_search({}).per_page == 1000
    assert read_search({"per_page": "1"}).per_page == 1
    assert read_search({"per_page": "10000"}).per_page == 10_000


@pytest.mark.spec("1-r5")
def test_unexpected_parameters_are_ignored() -> None:
    store.put_all([event_at(NINE)])
    assert find(colour="red").total == 1


def test_a_page_that_holds_everything_exactly_is_the_last() -> None:
    store.put_all([event_at(NINE + n, n) for n in range(2)])
    assert find(per_page="2").next_link == ""
    assert find(per_page="1").next_link != ""


@pytest.mark.spec("4.10-t1")
@pytest.mark.parametrize("query", [{}, {"recipients": "ann@example.test"}])
def test_pages_neither_repeat_nor_skip_while_events_arrive(query: dict[str, str]) -> None:
    events = [event_at(NINE + n // 3, n) for n in range(11)]  # several at one moment
    store.put_all(events)
    page = find(per_page="3", cursor="initial", **query)
    shown = ids_of(page)
    late = 100
    while page.next_link and late < 150:
        with clock.use(lambda: NOW / 1000 + 60):
            store.put_all([event_at(NOW + late, late), event_at(NINE - late, late + 1)])
            late += 2
            page = followed(page)
        assert page.total == 11
        shown += ids_of(page)
    assert len(shown) == len(set(shown))
    assert {event["message_id"] for event in events} <= set(shown)
    extra = set(shown) - {event["message_id"] for event in events}
    assert all(int(each[-8:], 16) % 2 for each in extra)  # none from beyond the window


def test_the_link_carries_the_filters_and_the_cursor() -> None:
    store.put_all([event_at(NINE + n, n, kind) for n in range(2) for kind in ("delay", "bounce")])
    query = {"events": "bounce,open", "recipients": "a+b@example.test,ann@example.test"}
    found = find(per_page="1", cursor="initial", **query)
    carried = dict(parse_qsl(urlsplit(found.next_link).query))
    assert carried.pop("cursor") not in ("", "initial")
    assert carried == query | {"per_page": "1"}
    second = followed(found)
    assert [event["type"] for event in second.events] == ["bounce"]
    assert (second.total, second.next_link) == (2, "")


def test_the_window_of_a_cursor_stays_though_the_clock_goes_on() -> None:
    store.put_all([event_at(NINE + n, n) for n in range(4)])
    first = find(per_page="2", **{"from": "2026-01-31T09:00:00Z"})
    with clock.use(lambda: NOW / 1000 + 3 * 86_400):
        second = followed(first)
    assert len(second.events) == 2


def test_counting_and_the_first_page_are_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    store.put_all([event_at(NINE + n, n) for n in range(6)])
    with aws_requests() as made:
        found = find(per_page="2")
    assert found.total == 6
    assert len(made) == 1 + settings().events_shards


def test_a_later_page_reads_no_further_than_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    store.put_all([event_at(NINE - n * HOUR, n) for n in range(10)])
    first = find(per_page="2")
    with aws_requests() as made:
        followed(first)
    # the page and one more event; the hour of the position is looked into again
    assert len(made) == 1 + 4 * settings().events_shards


def test_another_account_finds_nothing_with_the_cursor() -> None:
    store.put_all([event_at(NINE + n, n) for n in range(3)])
    first = find(per_page="1")
    query = dict(parse_qsl(urlsplit(first.next_link).query))
    assert search.run(2, read_search(query), query).events == []


@given(cut=st.integers(0, 200), junk=st.text(max_size=8), appended=st.booleans())
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_cursor_that_was_forged_or_cut_is_refused(cut: int, junk: str, appended: bool) -> None:
    genuine = signing.to_token([0, NOW, "1769850000000#1", 5], "events cursor")
    forged = genuine[: cut % len(genuine)] + junk if not appended else genuine + "A" + junk
    if forged not in (genuine, "initial"):
        assert "cursor" in str(refusal(cursor=forged))


@pytest.mark.parametrize("purpose", ["link", "return path"])
def test_what_was_signed_for_another_purpose_is_no_cursor(purpose: str) -> None:
    token = signing.to_token([0, NOW, "", 5], purpose)
    assert "cursor" in str(refusal(cursor=token))


def test_a_search_result_has_the_fields_of_the_event() -> None:
    event: dict[str, Any] = event_at(NINE, subject="Hello")
    store.put_all([event])
    (shown,) = find().events
    assert shown["display_name"] == "Delivery"
    assert {name: shown[name] for name in event if name != "timestamp"} == {
        name: value for name, value in event.items() if name != "timestamp"
    }
