"""The retry schedule: 20, 40, 80, ... minutes, and the end after 72 hours."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.delivery.outcome import Retry
from chalicelib.delivery.schedule import RetryPolicy, expired, next_delay

EXACT = RetryPolicy(jitter=0.0)
HOUR = 3600.0


def test_delays_double_from_twenty_minutes_up_to_the_cap() -> None:
    minutes = [(next_delay(n, 0, EXACT, "m") or 0) / 60 for n in range(1, 9)]
    assert minutes == [20, 40, 80, 160, 320, 640, 720, 720]


def test_a_message_expires_when_its_time_is_over() -> None:
    assert next_delay(9, 72 * HOUR, EXACT, "m") is None
    assert next_delay(1, 100 * HOUR, EXACT, "m") is None


def test_the_last_attempt_falls_on_the_expiry() -> None:
    assert next_delay(8, 71 * HOUR, EXACT, "m") == HOUR


def test_the_whole_schedule_ends_at_72_hours() -> None:
    policy, elapsed, attempt = RetryPolicy(), 0.0, 1
    while (delay := next_delay(attempt, elapsed, policy, "message-1")) is not None:
        assert delay > 0
        elapsed, attempt = elapsed + delay, attempt + 1
    assert elapsed == pytest.approx(72 * HOUR)
    assert attempt == pytest.approx(12, abs=1)


def test_a_delay_computed_again_is_the_same() -> None:
    policy = RetryPolicy()
    assert next_delay(3, 0, policy, "a") == next_delay(3, 0, policy, "a")


def test_messages_and_attempts_move_by_different_amounts() -> None:
    policy = RetryPolicy(factor=1.0)
    delays = {next_delay(n, 0, policy, seed) for n in (1, 2, 3) for seed in ("a", "b", "c")}
    assert len(delays) == 9


@settings(max_examples=200)
@given(st.integers(1, 10_000), st.text(max_size=20))
def test_jitter_stays_within_its_share(attempt: int, seed: str) -> None:
    policy = RetryPolicy(expiry_seconds=1e9)
    plain = next_delay(attempt, 0, RetryPolicy(jitter=0.0, expiry_seconds=1e9), seed)
    moved = next_delay(attempt, 0, policy, seed)
    assert plain is not None
    assert moved is not None
    assert 0.9 * plain <= moved <= 1.1 * plain


def test_jitter_uses_its_whole_share() -> None:
    shares = sorted((next_delay(1, 0, RetryPolicy(), str(n)) or 0) / 1200 for n in range(1000))
    assert shares[0] < 0.91
    assert shares[-1] > 1.09
    assert sum(shares) / 1000 == pytest.approx(1.0, abs=0.01)
    assert max(b - a for a, b in pairwise(shares)) < 0.01


def test_attempts_are_counted_from_one() -> None:
    with pytest.raises(ValueError, match="from 1"):
        next_delay(0, 0, EXACT, "m")


def test_an_expired_message_fails_as_a_message_timeout() -> None:
    failed = expired(Retry(451, "4.7.1 later", 70, "192.0.2.1", "TLSv1.3"))
    assert failed.code == 554
    assert failed.bounce_class == 24
    assert failed.reply == "5.4.7 [internal] message timeout, last reply: 451 4.7.1 later"
    assert (failed.ip_address, failed.tls) == ("192.0.2.1", "TLSv1.3")
