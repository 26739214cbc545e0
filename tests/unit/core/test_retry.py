"""Growing delays, and the age at which work is given up."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core.retry import Backoff, RetryPolicy

HOUR = 3600.0
EXACT = Backoff(1200, cap_seconds=12 * HOUR)
POLICY = RetryPolicy(Backoff(1200, cap_seconds=12 * HOUR, jitter=0.1), 72 * HOUR)


def test_delays_double_up_to_the_cap() -> None:
    minutes = [EXACT.delay(n) / 60 for n in range(1, 9)]
    assert minutes == [20, 40, 80, 160, 320, 640, 720, 720]


def test_delays_grow_by_the_factor() -> None:
    assert [Backoff(30, 4.0).delay(n) for n in (1, 2, 3)] == [30, 120, 480]


def test_a_delay_computed_again_is_the_same() -> None:
    assert POLICY.backoff.delay(3, "a") == POLICY.backoff.delay(3, "a")


def test_jitter_differs_by_seed_and_by_number_of_failures() -> None:
    backoff = Backoff(1200, factor=1.0, jitter=0.1)
    assert len({backoff.delay(n, seed) for n in (1, 2, 3) for seed in ("a", "b", "c")}) == 9


@settings(max_examples=200)
@given(st.integers(1, 10_000), st.text(max_size=20))
def test_jitter_stays_within_its_share(failures: int, seed: str) -> None:
    plain, moved = EXACT.delay(failures), POLICY.backoff.delay(failures, seed)
    assert 0.9 * plain <= moved <= 1.1 * plain


def test_jitter_uses_its_whole_share() -> None:
    shares = sorted(POLICY.backoff.delay(1, str(n)) / 1200 for n in range(1000))
    assert shares[0] < 0.91
    assert shares[-1] > 1.09
    assert sum(shares) / 1000 == pytest.approx(1.0, abs=0.01)
    assert max(b - a for a, b in pairwise(shares)) < 0.01


def test_failures_are_counted_from_one() -> None:
    with pytest.raises(ValueError, match="from 1"):
        EXACT.delay(0)


def test_pauses_grow_and_are_moved_at_random() -> None:
    pauses = list(Backoff(0.025, jitter=0.5).pauses(8))
    assert len(pauses) == 8
    for power, pause in enumerate(pauses):
        assert 0.5 <= pause / (0.025 * 2**power) <= 1.5
    assert pauses != list(Backoff(0.025, jitter=0.5).pauses(8))


def test_work_expires_at_its_age() -> None:
    assert POLICY.next_delay(9, 72 * HOUR, "m") is None
    assert POLICY.next_delay(1, 100 * HOUR, "m") is None


def test_the_last_attempt_falls_on_the_expiry() -> None:
    assert POLICY.next_delay(8, 71 * HOUR, "m") == HOUR


def test_the_attempts_of_a_policy_end_at_its_expiry() -> None:
    age, failures = 0.0, 1
    while (delay := POLICY.next_delay(failures, age, "message-1")) is not None:
        assert delay > 0
        age, failures = age + delay, failures + 1
    assert age == pytest.approx(72 * HOUR)
    assert failures == pytest.approx(12, abs=1)
