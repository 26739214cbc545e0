from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chalicelib.core import clock
from chalicelib.core.settings import settings
from chalicelib.events import cursors, request
from chalicelib.events.cursors import Cursor
from chalicelib.events.positions import EventWindow
from chalicelib.events.request import PageRequest
from tests.unit.events.examples import HOUR, NINE
from tests.unit.refusals import refusal

DAY = 24 * HOUR
NOW = NINE + HOUR // 2
PATH = "/api/v1/events/message"
BINDING = [1, {"events": ["open"]}]


@pytest.fixture(autouse=True)
def _at_half_past_nine() -> Iterator[None]:
    settings.cache_clear()
    with clock.use(lambda: NOW / 1000):
        yield
    settings.cache_clear()


@pytest.fixture
def lag_of_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENTS_LAG", "60")
    settings.cache_clear()


def read(**query: str) -> PageRequest:
    return request.read(PATH, query, BINDING)


def refused_page(status: int = 400, **query: str) -> str:
    error = refusal(read, **query)
    assert error.status == status
    return str(error)


@pytest.mark.spec("4.10-t1")
@pytest.mark.usefixtures("lag_of_a_minute")
def test_the_default_window_runs_from_a_day_ago_to_a_minute_ago() -> None:
    assert read().window == EventWindow(NOW - DAY, NOW - 60_000)
    assert read(**{"from": "2026-01-30T00:00:00Z"}).window.end == NOW - 60_000
    assert read(to="2026-01-31T00:00:00Z").window.start == NOW - DAY


def test_without_a_lag_the_default_window_ends_now() -> None:
    assert read().window.end == NOW + 1  # the tests' lag is a millisecond ahead


@pytest.mark.usefixtures("lag_of_a_minute")
def test_a_window_that_begins_within_the_last_minute_is_empty_and_not_refused() -> None:
    window = read(**{"from": "2026-01-31T09:29:30Z"}).window
    assert window.start == window.end


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("2026-01-31T09:05:00Z", 300_000),
        ("2026-01-31T09:05:00", 300_000),
        ("2026-01-31T09:05:00.007Z", 300_007),
        ("2026-01-31T10:05:00+01:00", 300_000),
        ("2026-01-31T10:05:00 01:00", 300_000),  # a plus sign that was not encoded in the query
        ("2026-01-31T09:05", 300_000),
        ("2026-01-31", -9 * HOUR),
    ],
)
def test_times_are_read_with_and_without_an_offset(text: str, offset: int) -> None:
    assert read(**{"from": text}).window.start == NINE + offset


@given(st.integers(NOW - 10 * DAY, NOW - 1))
@hypothesis_settings(max_examples=50)
def test_times_are_read_to_the_millisecond(moment: int) -> None:
    with clock.use(lambda: NOW / 1000):
        assert read(**{"from": clock.iso_ms(moment)}).window.start == moment


@pytest.mark.parametrize("name", ["from", "to"])
@pytest.mark.parametrize("text", ["yesterday", "2026-13-01T00:00:00Z", "1769850000", "2026-01-31T"])
def test_a_bound_that_is_not_a_time_is_refused_with_its_name(name: str, text: str) -> None:
    assert name in refused_page(**{name: text})


@pytest.mark.parametrize(
    "query",
    [
        {"from": "2026-01-31T09:00:01Z", "to": "2026-01-31T09:00:00Z"},
        {"to": "2026-01-29T00:00:00Z"},
    ],
)
def test_a_window_that_ends_before_it_begins_is_refused(query: dict[str, str]) -> None:
    assert "from must be before to" in refused_page(**query)


@pytest.mark.spec("8-t12")
def test_a_window_reaches_back_ten_days_at_most() -> None:
    assert read(**{"from": "2000-01-01T00:00:00Z"}).window.start == NOW - 10 * DAY


@pytest.mark.parametrize("text", ["0", "10001", "-1", "many", "1.5", ""])
@pytest.mark.spec("8-t12")
def test_a_page_size_out_of_its_limits_is_refused(text: str) -> None:
    assert "per_page" in refused_page(per_page=text)


@pytest.mark.spec("8-t12")
@pytest.mark.spec("4.10-t1")
def test_a_page_has_1000_events_unless_asked_for_1_to_10000() -> None:
    assert read().per_page == 1000
    assert read(per_page="1").per_page == 1
    assert read(per_page="10000").per_page == 10_000


def encode_cursor(cursor: Cursor, **bounds: str) -> str:
    return cursors.encode(cursor, [PATH, BINDING, [bounds.get("from", ""), bounds.get("to", "")]])


def test_a_cursor_continues_in_its_window() -> None:
    cursor = Cursor(EventWindow(NOW - 500, NOW - 100), "0017#9", 77)
    request = read(cursor=encode_cursor(cursor))
    assert (request.window, request.before, request.total) == cursor
    assert read(cursor="initial").before == ""


@pytest.mark.spec("8-t12")
def test_later_pages_do_not_show_events_that_became_too_old() -> None:
    text = encode_cursor(Cursor(EventWindow(NOW - 10 * DAY, NOW), "0017#9", 77))
    with clock.use(lambda: (NOW + DAY) / 1000):
        assert read(cursor=text).window == EventWindow(NOW - 9 * DAY, NOW)


def test_a_cursor_with_other_bounds_is_refused() -> None:
    begin = {"from": "2026-01-31T00:00:00Z"}
    text = encode_cursor(Cursor(EventWindow(NOW - 500, NOW - 100), "0017#9", 77), **begin)
    assert read(cursor=text, **begin).total == 77
    assert "other filters" in refused_page(cursor=text)
    assert "other filters" in refused_page(cursor=text, **{"from": "2026-01-31T00:00:01Z"})


def test_the_page_size_may_change_from_page_to_page() -> None:
    text = encode_cursor(Cursor(EventWindow(NOW - 500, NOW - 100), "0017#9", 77))
    assert read(cursor=text, per_page="3").per_page == 3


@pytest.mark.spec("8-t12")
def test_a_uri_over_4096_characters_is_refused() -> None:
    room = 4096 - len(PATH) - len("?subjects=")
    assert read(subjects="x" * room)
    assert "4097 characters" in refused_page(413, subjects="x" * (room + 1))
    # the cursor in the link of the page before does not count
    text = encode_cursor(Cursor(EventWindow(NOW - 500, NOW - 100), "0017#9", 77))
    assert read(subjects="x" * room, cursor=text)
