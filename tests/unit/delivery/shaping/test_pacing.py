"""Slots are evenly spaced, and nobody's backlog takes all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.delivery.shaping import pacing
from chalicelib.delivery.shaping.pacing import (
    ACCOUNT_MS,
    BULK_MS,
    MOST_SHARES,
    TRANSMISSION_MS,
    Lane,
    Pace,
)

BULK = Lane("1", "million")
OTHER = Lane("2", "reset")
SAME_ACCOUNT = Lane("1", "reset")
NOW = 1_000_000.0


def test_slots_are_a_constant_time_apart() -> None:
    _, slots = pacing.reserve(Pace(), 5, BULK, 3, NOW)
    assert slots == [NOW, NOW + 200, NOW + 400]


def test_the_next_reservation_goes_on_behind_the_last_slot() -> None:
    pace, _ = pacing.reserve(Pace(), 5, BULK, 3, NOW)
    _, slots = pacing.reserve(pace, 5, OTHER, 1, NOW + 10)
    assert slots == [NOW + 600]


def test_bulk_mail_reserves_no_further_than_its_horizon() -> None:
    pace, slots = pacing.reserve(Pace(), 5, BULK, 1_000, NOW)
    assert slots[-1] <= NOW + BULK_MS
    assert len(slots) == BULK_MS / 200 + 1
    assert pacing.reserve(pace, 5, BULK, 1_000, NOW)[1] == []
    assert pacing.wait_ms(pace, 5, NOW) == 200


@pytest.mark.parametrize("rate", [50, 0.5])
def test_the_next_slot_is_as_far_behind_the_last_one_as_the_rate_in_force_says(rate: float) -> None:
    pace, (last,) = pacing.reserve(Pace(), 1 / 600, BULK, 1, NOW)
    pace, _ = pacing.reserve(pace, 1 / 600, BULK, 1, NOW + 1)
    assert pacing.wait_ms(pace, 1 / 600, NOW) == 600_000 - BULK_MS
    assert pacing.reserve(pace, rate, BULK, 1, NOW)[1] == [pytest.approx(last + 1000 / rate)]


def test_another_account_finds_a_slot_behind_a_backlog() -> None:
    pace, _ = pacing.reserve(Pace(), 5, BULK, 1_000_000, NOW)
    _, slots = pacing.reserve(pace, 5, OTHER, 1, NOW)
    assert NOW < slots[0] <= NOW + ACCOUNT_MS


def test_another_transmission_of_the_account_finds_a_slot_too() -> None:
    pace, _ = pacing.reserve(Pace(), 5, BULK, 1_000_000, NOW)
    _, slots = pacing.reserve(pace, 5, SAME_ACCOUNT, 1, NOW)
    assert NOW < slots[0] <= NOW + TRANSMISSION_MS


def test_an_account_that_sends_nothing_any_more_takes_no_share() -> None:
    pace, _ = pacing.reserve(Pace(), 5, OTHER, 1, NOW)
    pace, _ = pacing.reserve(pace, 5, BULK, 1, NOW + 30_000)
    assert set(pace.shares) == {"1"}


@given(
    st.lists(
        st.tuples(
            st.sampled_from([BULK, OTHER, SAME_ACCOUNT]),
            st.integers(1, 200),
            st.integers(0, 3_000),
        ),
        max_size=60,
    ),
    st.sampled_from([0.5, 1.0, 5.0, 50.0]),
)
def test_no_ten_seconds_have_more_slots_than_the_rate(
    questions: list[tuple[Lane, int, int]], rate: float
) -> None:
    pace, now, times = Pace(), NOW, []
    for lane, count, pause in questions:
        now += pause
        pace, slots = pacing.reserve(pace, rate, lane, count, now)
        assert all(slot >= now for slot in slots)
        times += slots
    assert times == sorted(times)
    for start in times:
        assert sum(start <= each < start + 10_000 for each in times) <= rate * 10 + 1


def test_two_backlogs_get_equal_shares() -> None:
    pace, now, counts = Pace(), NOW, {BULK: 0, OTHER: 0}
    while now < NOW + 100_000:
        for lane in (BULK, BULK, BULK, OTHER):
            pace, slots = pacing.reserve(pace, 5, lane, 1_000, now)
            counts[lane] += len(slots)
        now += 500
    assert sum(counts.values()) >= 490
    assert counts[OTHER] > 0.8 * counts[BULK]


def test_the_state_does_not_grow_with_the_number_of_senders() -> None:
    pace = Pace()
    for number in range(3 * MOST_SHARES):
        transmission = Lane("1", f"transmission-{number}")
        pace, _ = pacing.reserve(pace, 1_000, transmission, 1, NOW)
        pace, _ = pacing.reserve(pace, 1_000, Lane(f"account-{number}", "1"), 1, NOW)
    assert len(pace.shares) == MOST_SHARES + 1
    assert len(pace.shares["1"]) == MOST_SHARES + 1
    assert (
        sum(used for each in pace.shares.values() for _, used in each.values()) == 6 * MOST_SHARES
    )
