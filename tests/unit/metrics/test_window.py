from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from chalicelib.core import clock
from chalicelib.core.errors import ApiError
from chalicelib.core.settings import settings
from chalicelib.metrics.precision import PRECISIONS, SERIES
from chalicelib.metrics.window import MetricsWindow, read_window

NOW = datetime(2026, 11, 20, 9, 30, 20, tzinfo=UTC).timestamp()


@pytest.fixture(autouse=True)
def _now() -> Iterator[None]:
    with clock.use(lambda: NOW):
        yield


def read(start: str, end: str = "", **query: str) -> MetricsWindow:
    return read_window({"from": start, **({"to": end} if end else {}), **query}, SERIES)


def bounds_of(window: MetricsWindow) -> tuple[str, str]:
    return window.iso_time(window.start), window.iso_time(window.end)


@pytest.mark.parametrize(
    ("precision", "start", "end"),
    [
        ("1min", "2026-11-19T04:22", "2026-11-19T06:37"),
        ("5min", "2026-11-19T04:20", "2026-11-19T06:40"),
        ("15min", "2026-11-19T04:15", "2026-11-19T06:45"),
        ("hour", "2026-11-19T04:00", "2026-11-19T07:00"),
        ("day", "2026-11-19T00:00", "2026-11-20T00:00"),
    ],
)
@pytest.mark.spec("4.11-t1")
@pytest.mark.spec("4.11-t2")
@pytest.mark.spec("4.11-t6")
def test_a_window_is_rounded_outward(precision: str, start: str, end: str) -> None:
    window = read("2026-11-19T04:22", "2026-11-19T06:37", precision=precision)
    assert bounds_of(window) == (f"{start}:00+00:00", f"{end}:00+00:00")


@pytest.mark.spec("4.11-t2")
def test_a_window_without_an_end_ends_with_the_current_minute() -> None:
    assert bounds_of(read("2026-11-20T09:00"))[1] == "2026-11-20T09:31:00+00:00"


@pytest.mark.parametrize(
    ("precision", "longest", "too_long"),
    [
        ("1min", "2026-11-02T00:00", "2026-11-02T00:01"),
        ("5min", "2026-11-02T00:00", "2026-11-02T00:01"),
        ("15min", "2026-11-03T00:00", "2026-11-03T00:01"),
        ("hour", "2026-12-02T00:00", "2026-12-02T00:01"),
    ],
)
@pytest.mark.spec("4.11-t24")
@pytest.mark.spec("4.11-t25")
@pytest.mark.spec("4.11-t26")
@pytest.mark.spec("4.11-t27")
@pytest.mark.spec("8-t13")
def test_a_window_too_long_for_its_precision_is_refused(
    precision: str, longest: str, too_long: str
) -> None:
    assert read("2026-11-01T00:00", longest, precision=precision).precision is SERIES[precision]
    with pytest.raises(ApiError, match="the window of precision") as error:
        read("2026-11-01T00:00", too_long, precision=precision)
    assert error.value.status == 400


@pytest.mark.spec("4.11-t28")
def test_windows_of_12_hour_and_coarser_precisions_may_be_long() -> None:
    for precision in ("day", "week", "month", "12hr"):
        read("2026-06-01T00:00", precision=precision)


@pytest.mark.parametrize(
    ("end", "precision"),
    [
        ("2026-11-02T00:00", "1min"),
        ("2026-11-03T00:00", "15min"),
        ("2026-11-10T00:00", "hour"),
        ("2026-12-10T00:00", "day"),
    ],
)
@pytest.mark.spec("4.11-t6")
def test_the_default_precision_is_the_finest_that_allows_the_window(
    end: str, precision: str
) -> None:
    assert read("2026-11-01T00:00", end).precision is SERIES[precision]


@pytest.mark.spec("4.11-t8")
@pytest.mark.parametrize("name", ["utc", "Utc"])
def test_utc_may_be_in_any_case(name: str) -> None:
    bounds = ("2026-11-19T09:10", "2026-11-19T10:10")
    assert read(*bounds, timezone=name) == read(*bounds, timezone="UTC") == read(*bounds)


def test_times_are_read_in_the_requested_time_zone() -> None:
    window = read("2026-11-19T09:10", "2026-11-19T10:10", timezone="Asia/Kolkata", precision="hour")
    assert bounds_of(window) == ("2026-11-19T09:00:00+05:30", "2026-11-19T11:00:00+05:30")
    assert window.start % 60 == 30


@pytest.mark.parametrize("precision", ["day", "week", "month"])
@pytest.mark.spec("4.11-t8")
def test_days_weeks_and_months_are_in_utc_for_every_time_zone(precision: str) -> None:
    bounds = ("2026-11-02T00:00", "2026-11-30T00:00")
    in_zone = read(*bounds, timezone="America/New_York", precision=precision)
    assert bounds_of(in_zone) == bounds_of(read(*bounds, precision=precision))
    window = read_window(
        {"from": bounds[0], "to": "2027-01-30T00:00", "timezone": "America/New_York"}
    )
    assert window.iso_time(window.start) == "2026-11-02T00:00:00+00:00"


def test_a_day_of_25_hours_is_within_a_limit_of_one_day() -> None:
    day = ("2026-11-01T00:00", "2026-11-02T00:00")
    window = read(*day, timezone="America/New_York", precision="1min")
    assert window.end - window.start == 25 * 60


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("America/Santiago", "2026-09-06", 23),
        ("America/Santiago", "2026-04-04", 25),
        ("America/Havana", "2026-03-08", 23),
        ("America/Havana", "2026-11-01", 25),
        ("Africa/Cairo", "2026-04-24", 23),
        ("America/New_York", "2026-03-08", 23),
        ("America/New_York", "2026-11-01", 25),
        ("Australia/Lord_Howe", "2026-04-05", 25),  # 24.5, and one bucket is longer
    ],
)
@pytest.mark.parametrize("precision", ["hour", "1min", "12hr"])
def test_days_that_follow_each_other_share_no_bucket_and_leave_none_out(
    zone: str, day: str, hours: int, precision: str
) -> None:
    first = datetime.fromisoformat(day) - timedelta(days=1)
    days = [(first + timedelta(days=n)).strftime("%Y-%m-%dT00:00") for n in range(4)]
    with clock.use(lambda: datetime.fromisoformat(day).timestamp() + 5 * 86_400):
        windows = [read(*bounds, timezone=zone, precision=precision) for bounds in pairwise(days)]
    assert windows[0].end == windows[1].start
    assert windows[1].end == windows[2].start
    if precision == "hour":
        assert [len(window.buckets()) for window in windows] == [24, hours, 24]
    elif precision == "12hr":
        assert [len(window.buckets()) for window in windows] == [2, 2, 2]


def test_bounds_that_clocks_skip_are_the_moment_of_the_change() -> None:
    day, zone = "2026-03-08", {"timezone": "America/New_York"}
    with clock.use(lambda: datetime(2026, 3, 9, tzinfo=UTC).timestamp()):
        end_skipped = read(f"{day}T00:00", f"{day}T02:30", **zone)
        start_skipped = read(f"{day}T02:30", f"{day}T04:00", **zone)
        both_skipped = read(f"{day}T02:15", f"{day}T02:45", **zone)
    change = f"{day}T03:00:00-04:00"
    assert bounds_of(end_skipped) == (f"{day}T00:00:00-05:00", change)
    assert bounds_of(start_skipped) == (change, f"{day}T04:00:00-04:00")
    assert bounds_of(both_skipped) == (change, change)


def test_a_bound_that_clocks_show_twice_is_the_first_of_both() -> None:
    day, zone = "2026-11-01", {"timezone": "America/New_York"}
    assert bounds_of(read(f"{day}T01:00", f"{day}T01:30", **zone)) == (
        f"{day}T01:00:00-04:00",
        f"{day}T01:30:00-04:00",
    )
    assert bounds_of(read(f"{day}T01:30", f"{day}T02:00", **zone)) == (
        f"{day}T01:30:00-04:00",
        f"{day}T02:00:00-05:00",
    )


def test_a_window_may_begin_before_clocks_go_back_and_end_now() -> None:
    with clock.use(lambda: datetime(2026, 11, 1, 6, 10, tzinfo=UTC).timestamp()):
        window = read("2026-11-01T01:50", timezone="America/New_York")
    assert bounds_of(window) == ("2026-11-01T01:50:00-04:00", "2026-11-01T01:10:00-05:00")


@pytest.mark.spec("8-t13")
def test_a_window_leaves_out_times_before_the_metrics_retention() -> None:
    window = read("2001-01-01T00:00", precision="day")
    assert window.start * 60 >= NOW - settings().metrics_retention - 86_400
    assert len(window.buckets()) == 187
    expired = read("2001-01-01T00:00", "2001-01-02T00:00", precision="hour")
    assert expired.buckets() == []


@pytest.mark.spec("4.11-t1")
def test_from_is_required() -> None:
    with pytest.raises(ApiError) as error:
        read_window({})
    assert (error.value.status, error.value.code) == (400, "1401")
    assert error.value.errors[0]["param"] == "from"


@pytest.mark.parametrize(
    "query",
    [
        {"from": "yesterday"},
        {"from": "2026-02-30T00:00"},
        {"from": "2026-11-19"},
        {"from": "2026-11-19T09:00:00Z"},
        {"from": "0001-01-01T00:00"},
        {"from": "9999-12-31T23:59"},
        {"from": "2026-11-19T09:00", "to": "soon"},
        {"from": "2026-11-19T09:00", "to": "2026-11-19T08:00"},
        {"from": "2026-11-19T09:00", "precision": "2min"},
        {"from": "2026-11-19T09:00", "precision": "week"},
        {"from": "2026-11-19T09:00", "timezone": "Mars/Olympus"},
        {"from": "2026-11-19T09:00", "timezone": "../../etc/passwd"},
        {"from": "2026-11-19T09:00", "timezone": "America"},
        {"from": "2026-11-19T09:00", "timezone": "a\0b"},
    ],
)
@pytest.mark.spec("4.11-t1")
def test_an_invalid_window_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(ApiError) as error:
        read_window(query, PRECISIONS)
    assert (error.value.status, error.value.code) == (400, "1200")


@pytest.mark.parametrize("start", ["1900-01-01T00:00", "1970-01-01T00:00", "2999-12-31T23:59"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Los_Angeles"])
@pytest.mark.parametrize("precision", ["day", "12hr", "week", "month"])
def test_distant_times_cause_no_error(start: str, zone: str, precision: str) -> None:
    window = read(start, "2999-12-31T23:59", timezone=zone, precision=precision)
    assert len(window.buckets()) < 2 * 190


def test_a_window_leaves_out_times_more_than_a_day_ahead() -> None:
    window = read("2026-11-20T00:00", "2999-01-01T00:00", precision="day")
    assert bounds_of(window) == ("2026-11-20T00:00:00+00:00", "2026-11-22T00:00:00+00:00")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"from": "now"}, "from"),
        ({"from": "2026-11-02T00:00", "to": "2026-11-31T00:00"}, "to"),
        ({"from": "2026-11-02T00:00", "to": "2026-11-01T00:00"}, "from"),
        ({"from": "2026-11-02T00:00", "timezone": "Mars/Olympus"}, "timezone"),
        ({"from": "2026-11-02T00:00", "precision": "second"}, "precision"),
        ({"from": "2026-11-02T00:00", "precision": "1min"}, "precision"),
    ],
)
def test_an_error_names_the_parameter_that_it_is_about(query: dict[str, str], field: str) -> None:
    with pytest.raises(ApiError) as error:
        read_window(query, SERIES)
    assert error.value.errors[0]["param"] == field
