from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.ab_tests.model import (
    CHECK_EVERY_MS,
    HOUR_MS,
    LONGEST_MS,
    AbTest,
    id_from_name,
    is_test_id,
)
from tests.unit.ab_tests.examples import DAY, START, by_percent, by_size


def test_a_scheduled_test_runs_from_its_start_on() -> None:
    test = by_size(5, 5)
    assert [test.status(START + later) for later in (-1, 0, DAY, 9 * DAY)] == [
        "scheduled",
        "running",
        "running",
        "running",
    ]


@pytest.mark.parametrize("state", ["completed", "cancelled"])
def test_the_status_follows_from_the_time(state: str) -> None:
    test = by_size(5, 5, state=state, ended_ms=START + 100)
    assert [test.status(START + later) for later in (-1, 99, 100)] == [
        "scheduled",
        "running",
        state,
    ]


def test_a_draft_is_a_draft_at_any_time() -> None:
    assert by_size(5, 5, state="draft").status(START + DAY) == "draft"


def tried(test: AbTest, *offsets: int) -> list[bool]:
    return [test.tries(START + offset) for offset in offsets]


def test_templates_are_tried_from_the_start_to_the_end() -> None:
    assert tried(by_size(5, 5), -1, 0, DAY - 1, DAY) == [False, True, True, False]


def test_templates_are_tried_until_the_sample_is_used_up() -> None:
    test = by_size(5, 5, sampled_ms=START + 50)
    assert tried(test, 0, 49, 50) == [True, True, False]
    assert tried(replace(test, sampled_ms=START + 2 * DAY), DAY - 1, DAY) == [True, False]


@pytest.mark.parametrize("state", ["completed", "cancelled"])
def test_a_time_before_the_end_tries_templates_after_the_end_too(state: str) -> None:
    assert tried(by_size(5, 5, state=state, ended_ms=START + 50), 49, 50) == [True, False]


def test_a_draft_tries_nothing() -> None:
    assert tried(by_size(5, 5, state="draft"), 10) == [False]


@pytest.mark.parametrize(
    ("state", "winner", "settled"),
    [
        ("draft", None, "t0"),
        ("scheduled", None, "t0"),
        ("cancelled", None, "t0"),
        ("completed", "t1", "t1"),
        ("completed", None, "t0"),
    ],
)
def test_the_winner_is_settled_only_when_the_test_is_completed(
    state: str, winner: str | None, settled: str
) -> None:
    ended = START + 9 if state in ("completed", "cancelled") else None
    test = by_size(5, 5, state=state, winning_template_id=winner, ended_ms=ended)
    assert test.settled_template(START + 9) == settled
    assert test.settled_template(START + 8) == "t0"


def test_a_test_without_an_end_takes_thirty_days_with_its_time_for_engagement() -> None:
    test = by_size(5, 5, end_ms=None, engagement_timeout=24)
    assert test.ends_ms == START + 29 * DAY
    assert test.completes_ms == START + LONGEST_MS


def test_the_time_for_engagement_begins_with_the_end_or_with_the_last_of_the_sample() -> None:
    assert by_size(5, 5).completes_ms == START + DAY + 2 * HOUR_MS
    assert by_size(5, 5, sampled_ms=START + 7).completes_ms == START + 7 + 2 * HOUR_MS


def test_the_sample_is_the_total_sample_size_or_the_sum_of_the_sizes() -> None:
    assert by_size(5, 6).sample == 11
    assert by_size(5, 6, total_sample_size=12).sample == 12
    assert by_percent(50, 50).sample is None
    assert by_percent(50, 50, total_sample_size=12).sample == 12


def test_a_bayesian_test_is_checked_while_it_runs() -> None:
    test = by_size(5, 5)
    assert test.next_check_ms(START - DAY) == START + CHECK_EVERY_MS
    assert test.next_check_ms(START + 7) == START + 7 + CHECK_EVERY_MS
    assert test.next_check_ms(test.completes_ms - 1) == test.completes_ms


def test_a_learning_test_is_checked_at_its_end_only() -> None:
    test = by_size(5, 5, test_mode="learning")
    assert test.next_check_ms(START - DAY) == test.completes_ms


@pytest.mark.parametrize(
    ("name", "derived"),
    [("Payment Confirmation", "payment-confirmation"), ("  A/B: 50% off!", "a-b-50-off")],
)
def test_an_id_is_derived_from_the_name(name: str, derived: str) -> None:
    assert id_from_name(name) == derived


@pytest.mark.parametrize("name", ["Draft", "日本語", "...", "x" * 100, "a" * 63 + " b"])
def test_a_derived_id_may_always_be_used(name: str) -> None:
    assert is_test_id(id_from_name(name))


def test_an_id_has_letters_digits_and_some_signs() -> None:
    assert all(map(is_test_id, ["a", "A-b_c.9", "x" * 64, "drafts"]))
    assert not any(map(is_test_id, ["", "draft", ".", "..", "x" * 65, "a b", "a/b", "é", "a#b"]))
