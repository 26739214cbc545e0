from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.time_zones import moment, time_zone


@pytest.mark.parametrize("name", ["UTC", "utc", "Utc"])
def test_utc_is_found_in_any_case(name: str) -> None:
    assert time_zone(name) is UTC


def test_a_time_zone_has_its_name() -> None:
    assert time_zone("Asia/Kolkata") == ZoneInfo("Asia/Kolkata")


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "../../etc/passwd", "America", "a\0b"])
def test_no_other_name_is_a_time_zone(name: str) -> None:
    assert time_zone(name) is None


def iso_moment(text: str, zone: str) -> str:
    name = ZoneInfo(zone)
    at = moment(datetime.fromisoformat(text).replace(tzinfo=name))
    return datetime.fromtimestamp(at, name).isoformat(timespec="minutes")


@pytest.mark.parametrize(
    ("zone", "skipped", "meaning"),
    [
        ("America/Santiago", "2026-09-06T00:00", "2026-09-06T01:00-03:00"),
        ("America/Santiago", "2026-09-06T00:59", "2026-09-06T01:00-03:00"),
        ("America/New_York", "2026-03-08T02:00", "2026-03-08T03:00-04:00"),
        ("America/New_York", "2026-03-08T02:30", "2026-03-08T03:00-04:00"),
        ("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-04T02:30+11:00"),
    ],
)
def test_a_time_that_clocks_skip_is_the_moment_of_the_change(
    zone: str, skipped: str, meaning: str
) -> None:
    assert iso_moment(skipped, zone) == meaning


@pytest.mark.parametrize(
    ("zone", "time", "meaning"),
    [
        ("America/Havana", "2026-11-01T00:00", "2026-11-01T00:00-04:00"),
        ("America/New_York", "2026-11-01T01:30", "2026-11-01T01:30-04:00"),
        ("America/New_York", "2026-11-01T02:00", "2026-11-01T02:00-05:00"),
        ("Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-05T01:45+11:00"),
        ("Asia/Kathmandu", "2026-04-05T01:45", "2026-04-05T01:45+05:45"),
    ],
)
def test_a_time_that_clocks_show_twice_is_the_first_of_both(
    zone: str, time: str, meaning: str
) -> None:
    assert iso_moment(time, zone) == meaning


@given(
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)),
    st.integers(0, 2 * 86_400),
    st.sampled_from(["America/Santiago", "America/Havana", "Australia/Lord_Howe", "UTC"]),
)
def test_later_times_are_never_earlier_moments(local: datetime, later: int, zone: str) -> None:
    local = local.replace(tzinfo=ZoneInfo(zone))
    assert moment(local) <= moment(local + timedelta(seconds=later))


@given(
    st.integers(1_767_225_600, 1_798_761_600),
    st.sampled_from(["America/Santiago", "Africa/Cairo", "Australia/Lord_Howe"]),
)
def test_a_moment_is_found_by_what_clocks_show_then(second: int, zone: str) -> None:
    clock_time = datetime.fromtimestamp(second, ZoneInfo(zone))
    assert moment(clock_time) == second or clock_time.fold
