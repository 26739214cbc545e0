from __future__ import annotations

from itertools import pairwise

import pytest

from chalicelib.core.settings import local_values, settings
from chalicelib.webhook_dispatch.kinds import EVENTS
from chalicelib.webhook_dispatch.schedule import retry_after

EIGHT_HOURS = 8 * 3600.0


def waits(seed: str) -> list[float]:
    delays: list[float] = []
    while (wait := EVENTS.schedule().next_wait(len(delays) + 1, sum(delays), seed)) is not None:
        delays.append(wait)
    return delays


@pytest.mark.spec("6-r3")
@pytest.mark.spec("8-t11")
@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_twelve_attempts_span_eight_hours_with_growing_delays(seed: str) -> None:
    delays = waits(seed)
    assert len(delays) == 11
    assert sum(delays) == pytest.approx(EIGHT_HOURS)
    assert 12.6 <= delays[0] <= 15.4
    assert all(1.5 < later / earlier < 2.6 for earlier, later in pairwise(delays))


def test_the_delays_of_two_batches_differ_and_those_of_one_do_not() -> None:
    assert waits("a") == waits("a")
    assert waits("a")[:-1] != waits("b")[:-1]


def test_local_settings_retry_a_batch_often_and_after_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("WEBHOOK_RETRY_BASE", "WEBHOOK_ATTEMPTS"):
        monkeypatch.setenv(name, local_values()[name])
    settings.cache_clear()
    try:
        delays = waits("a")
    finally:
        settings.cache_clear()
    assert delays[0] == 1
    assert sum(delays[:8]) < 45  # by then, a target that fails half the time accepted nearly all
    assert sum(delays) == pytest.approx(EIGHT_HOURS)


@pytest.mark.spec("6-r3")
def test_there_is_no_attempt_after_eight_hours() -> None:
    assert EVENTS.schedule().next_wait(3, EIGHT_HOURS, "a") is None
    assert EVENTS.schedule().next_wait(3, EIGHT_HOURS - 5, "a") == 5
    assert EVENTS.schedule().next_wait(12, 60, "a") is None


def test_a_target_may_ask_for_more_time_within_bounds() -> None:
    assert EVENTS.schedule().next_wait(1, 0, "a", retry_after=100) == 100
    assert EVENTS.schedule().next_wait(1, 0, "a", retry_after=1) > 10  # type: ignore[operator]
    assert EVENTS.schedule().next_wait(1, 0, "a", retry_after=10**9) == 3600
    assert EVENTS.schedule().next_wait(1, EIGHT_HOURS - 50, "a", retry_after=3000) == 50


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        (" 120 ", 120),
        ("99999999999999999999", 999_999_999),
        ("Sat, 31 Jan 2026 09:02:00 GMT", 120),
        ("Sat, 31 Jan 2026 08:00:00 GMT", 0),
        ("Saturday, 31-Jan-26 09:02:00 GMT", 120),
        ("", 0),
        ("-5", 0),
        ("1.5", 0),
        ("soon", 0),
        ("١٢٠", 0),
        ("Sat, 99 Jan 2026 09:02:00 GMT", 0),
        ("Sat, 31 Jan 2026 09:02:00 +99999999999999", 0),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(text: str, seconds: float) -> None:
    assert retry_after({"retry-after": text}, 1_769_850_000.0) == seconds
    assert retry_after({}, 1_769_850_000.0) == 0
