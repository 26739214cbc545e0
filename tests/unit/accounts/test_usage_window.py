from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.accounts.plan import Limits
from chalicelib.accounts.usage_window import HOUR, UsageWindow, hour_of, month_bounds
from chalicelib.core.errors import ApiError

# Noon of the last day of a month
NOON = hour_of(datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp())


def window_after(history: list[tuple[int, int]]) -> UsageWindow:
    """Return the counts after ``(hour, recipients)`` were accepted, in this order."""
    window = UsageWindow()
    for hour, recipients in history:
        now = window.at(hour)
        window = UsageWindow(now.hour, now.used + recipients, now.past, now.earlier)
    return window


HISTORY = st.lists(
    st.tuples(st.integers(NOON - 80, NOON + 80), st.integers(1, 50)), max_size=40
).map(sorted)


@given(HISTORY.filter(len), st.integers(0, 100), st.data())
def test_a_window_without_some_recipients_counts_as_if_they_had_never_been(
    history: list[tuple[int, int]], later: int, data: st.DataObject
) -> None:
    hour = history[-1][0] + later
    at, recipients = removed = data.draw(st.sampled_from(history))
    window = window_after(history).at(hour).without(recipients, at)
    history.remove(removed)
    start, _ = month_bounds(hour)
    assert window.used == sum(n for at, n in history if at == hour)
    assert window.day == sum(n for at, n in history if hour - 24 < at <= hour)
    assert window.month == sum(n for at, n in history if at * HOUR >= start)
    assert window.at(hour + 5).day == sum(n for at, n in history if hour - 19 < at <= hour)


@given(HISTORY, st.integers(0, 100))
def test_a_window_counts_as_the_full_history_does(
    history: list[tuple[int, int]], later: int
) -> None:
    hour = (history[-1][0] if history else NOON) + later
    window = window_after(history).at(hour)
    start, _ = month_bounds(hour)
    assert window.used == sum(n for at, n in history if at == hour)
    assert window.day == sum(n for at, n in history if hour - 24 < at <= hour)
    assert window.month == sum(n for at, n in history if at * HOUR >= start)


@given(HISTORY, HISTORY)
def test_the_sum_of_two_windows_is_the_window_of_both_histories(
    one: list[tuple[int, int]], two: list[tuple[int, int]]
) -> None:
    hour = NOON + 90
    both = window_after(sorted(one + two)).at(hour)
    total = window_after(one).plus(window_after(two)).at(hour)
    assert (total.used, total.day, total.month) == (both.used, both.day, both.month)
    assert len(total.past) <= 23


@given(HISTORY, st.integers(1, 200), st.integers(1, 300), st.integers(1, 500), st.integers(1, 60))
def test_the_most_of_an_hour_is_where_refusals_begin(
    history: list[tuple[int, int]], hourly: int, daily: int, monthly: int, more: int
) -> None:
    window, limits = window_after(history), Limits(hourly, daily, monthly)
    most = window.most(limits)
    assert most is not None
    try:
        window.check(more, limits)
        is_refused = False
    except ApiError:
        is_refused = True
    assert is_refused is (window.used + more > most)


@pytest.mark.spec("7-t9")
@pytest.mark.spec("7-t23")
@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(hourly=10), "hourly"),
        (Limits(daily=40), "daily"),
        (Limits(monthly=60), "monthly"),
    ],
)
def test_the_error_names_the_exceeded_limit_under_one_code(limits: Limits, name: str) -> None:
    # 5 in this hour, 30 more in the day, 20 more in the month
    window = window_after([(NOON - 40, 20), (NOON - 3, 30), (NOON, 5)])
    window.check(5, limits)
    with pytest.raises(ApiError) as refusal:
        window.check(6, limits)
    assert (refusal.value.status, refusal.value.code) == (420, "2101")
    assert refusal.value.errors[0]["message"] == f"Exceed Sending Limit ({name})"


def test_a_day_is_twenty_four_clock_hours() -> None:
    window = window_after([(NOON, 5)])
    assert window.at(NOON + 23).day == 5
    assert window.at(NOON + 24).day == 0


def test_a_clock_that_is_behind_counts_into_the_later_hour() -> None:
    window = UsageWindow(NOON, 5)
    assert window.at(NOON - 1) is window


def test_a_month_ends_where_the_next_begins() -> None:
    january, february = month_bounds(NOON), month_bounds(NOON + 24)
    assert january[1] == february[0] == datetime(2026, 2, 1, tzinfo=UTC).timestamp()
    december = hour_of(datetime(2026, 12, 31, 23, tzinfo=UTC).timestamp())
    assert month_bounds(december)[1] == datetime(2027, 1, 1, tzinfo=UTC).timestamp()


def test_without_limits_nothing_is_refused() -> None:
    assert UsageWindow(NOON, 5).most(Limits()) is None
    UsageWindow(NOON, 5).check(10**9, Limits())
