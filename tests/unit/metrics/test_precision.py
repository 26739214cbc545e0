from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.metrics.precision import PRECISIONS, SERIES, Precision, buckets, ceiling

NEW_YORK = ZoneInfo("America/New_York")
KATHMANDU = ZoneInfo("Asia/Kathmandu")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
UTC = ZoneInfo("UTC")


def minute(text: str, zone: ZoneInfo = UTC) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()) // 60


def iso_time(at: int, zone: ZoneInfo = UTC) -> str:
    return datetime.fromtimestamp(at * 60, zone).isoformat(timespec="minutes")


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("1min", "04:22", "06:37"),
        ("5min", "04:20", "06:40"),
        ("15min", "04:15", "06:45"),
        ("hour", "04:00", "07:00"),
        ("12hr", "00:00", "12:00"),
    ],
)
@pytest.mark.spec("4.11-t24")
@pytest.mark.spec("4.11-t25")
def test_the_bounds_of_a_window_are_rounded_outward(name: str, start: str, end: str) -> None:
    first, last = minute("2026-03-04T04:22"), minute("2026-03-04T06:37")
    assert iso_time(SERIES[name].floor(first, UTC)) == f"2026-03-04T{start}+00:00"
    assert iso_time(ceiling(SERIES[name], last, UTC)) == f"2026-03-04T{end}+00:00"


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("day", "2026-03-04", "2026-03-05"),
        ("week", "2026-03-02", "2026-03-09"),
        ("month", "2026-03-01", "2026-04-01"),
    ],
)
def test_bounds_are_rounded_to_whole_days_weeks_and_months(name: str, start: str, end: str) -> None:
    at = minute("2026-03-04T06:37")
    assert iso_time(SERIES[name].floor(at, UTC)) == f"{start}T00:00+00:00"
    assert iso_time(ceiling(SERIES[name], at, UTC)) == f"{end}T00:00+00:00"


def test_a_bound_on_a_bucket_boundary_is_not_moved() -> None:
    at = minute("2026-06-01T00:00")
    for precision in PRECISIONS.values():
        assert precision.floor(at, UTC) == ceiling(precision, at, UTC) == at


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-08", 23), ("2026-11-01", 25), ("2026-07-01", 24)]
)
def test_a_local_day_has_23_to_25_hours(day: str, hours: int) -> None:
    start = minute(f"{day}T00:00", NEW_YORK)
    end = minute(f"{day[:8]}{int(day[8:]) + 1:02}T00:00", NEW_YORK)
    begins = list(buckets(SERIES["hour"], start, end, NEW_YORK))
    assert len(begins) == hours
    assert len({iso_time(at, NEW_YORK) for at in begins}) == hours
    assert {iso_time(at, NEW_YORK)[14:16] for at in begins} == {"00"}


def test_half_days_begin_at_midnight_and_noon_even_when_clocks_change() -> None:
    start, end = minute("2026-03-08T00:00", NEW_YORK), minute("2026-03-09T00:00", NEW_YORK)
    begins = list(buckets(SERIES["12hr"], start, end, NEW_YORK))
    assert [iso_time(at, NEW_YORK) for at in begins] == [
        "2026-03-08T00:00-05:00",
        "2026-03-08T12:00-04:00",
    ]


def test_hours_begin_at_full_hours_of_the_time_zone() -> None:
    at = minute("2026-03-04T06:10", KATHMANDU)
    assert iso_time(SERIES["hour"].floor(at, KATHMANDU), KATHMANDU) == "2026-03-04T06:00+05:45"
    assert iso_time(SERIES["hour"].floor(at, KATHMANDU)) == "2026-03-04T00:15+00:00"


@given(
    st.integers(0, 366 * 1440),
    st.integers(1, 3 * 1440),
    st.sampled_from(sorted(SERIES)),
    st.sampled_from([UTC, NEW_YORK, KATHMANDU, LORD_HOWE]),
)
def test_buckets_follow_each_other_without_a_gap(
    offset: int, length: int, name: str, zone: ZoneInfo
) -> None:
    precision: Precision = SERIES[name]
    zone = UTC if precision.is_utc else zone
    start = minute("2026-01-01T00:00") + offset
    first, last = precision.floor(start, zone), ceiling(precision, start + length, zone)
    begins = list(buckets(precision, first, last, zone))
    assert first <= start < start + length <= last
    assert begins[0] == first
    assert precision.after(begins[-1], zone) == last
    for begin, end in zip(begins, [*begins[1:], last], strict=True):
        assert begin < end
        if (
            zone is not LORD_HOWE
        ):  # its clocks change by half an hour, so a bucket may hold two local hours
            assert precision.floor(begin, zone) == precision.floor(end - 1, zone) == begin
