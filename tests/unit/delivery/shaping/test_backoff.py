"""A provider that asks to wait pauses the path, longer each time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry
from chalicelib.delivery.shaping import backoff
from chalicelib.delivery.shaping.backoff import next_pause, pause_of, rate_in_force
from chalicelib.delivery.shaping.store import Pause
from tests.unit.moving_clock import Clock, moving_clock

NOW = 1_700_000_000.0
PATH = "google.com|192.0.2.1"
BUSY = Retry(421, "4.7.28 [192.0.2.1] Gmail has detected an unusual rate of mail", 20)


@pytest.fixture(autouse=True)
def time() -> Iterator[Clock]:
    with moving_clock(NOW) as moving:
        yield moving


@pytest.mark.parametrize(
    ("group", "outcome", "seconds"),
    [
        ("google.com", BUSY, 600),
        ("google.com", Retry(421, "4.7.0 Try again later, closing connection. - gsmtp", 20), 600),
        ("google.com", Retry(421, "4.7.26 This mail has been rate limited", 20), 900),
        ("outlook.com", Retry(451, "4.7.650 The mail server [192.0.2.1] has been temporarily"
            " rate limited due to IP reputation.", 20), 900),
        ("office365", Retry(451, "4.7.500 Server busy. Please try again later", 20), 300),
        ("yahoodns.net", Retry(421, "4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred"
            " due to unexpected volume or user complaints", 20), 1800),
        ("example.net", Retry(421, "4.7.0 Too many connections from your host", 20), 60),
        ("google.com", Retry(421, "4.7.28 an unusual rate of mail to this recipient", 20), 600),
        ("google.com", Retry(450, "4.2.1 The user gets mail at a rate that is too fast", 20), None),
        ("example.net", Retry(421, "4.7.0 Try again later", 20), 60),
        ("example.net", Retry(421, "4.7.1 Service refused, too much spam", 20), 60),
        ("example.net", Retry(421, "4.7.0 Greylisted, try again later", 20), None),
        ("example.net", Retry(452, "4.2.2 user has exceeded the limit of storage", 22), None),
        ("example.net", Retry(450, "4.2.0 Greylisted, see our rate limit page", 20), None),
        ("example.net", Retry(452, "4.2.2 The mailbox is over quota", 22), None),
        ("example.net", Retry(421, "4.4.2 [internal] too many connections to it", 24), None),
        ("example.net", Retry(451, "4.3.0 Temporary lookup failure", 20), None),
        ("example.net", Failed(550, "5.7.1 rate limit exceeded", 50), None),
        ("example.net", Delivered(250, "rate limit of you: 17"), None),
    ],
)  # fmt: skip
def test_only_answers_about_all_mail_ask_for_a_pause(
    group: str, outcome: Outcome, seconds: float | None
) -> None:
    assert pause_of(group, outcome) == seconds


def test_each_pause_is_twice_as_long(time: Clock) -> None:
    pause = next_pause(PATH, None, BUSY, 600)
    assert pause.until_ms == (NOW + 600) * 1000
    time.passes(601)
    second = next_pause(PATH, pause, BUSY, 600)
    assert (second.failures, second.until_ms) == (2, (NOW + 601 + 1_200) * 1000)
    time.passes(1_300)
    for _ in range(5):
        second = next_pause(PATH, second, BUSY, 600)
        time.passes(4_000)
    assert second.until_ms - (NOW * 1000) <= (5 * 4_000 + 2_000 + backoff.LONGEST_PAUSE) * 1000


def test_a_path_that_is_refused_for_months_is_asked_each_hour(time: Clock) -> None:
    before = Pause(PATH, int(NOW * 1000) - 1, 5_000)
    assert next_pause(PATH, before, BUSY, 600).until_ms == (NOW + backoff.LONGEST_PAUSE) * 1000


def test_answers_during_a_pause_do_not_prolong_it(time: Clock) -> None:
    pause = next_pause(PATH, None, BUSY, 600)
    other = Retry(421, "4.7.0 Try again later, closing connection", 20)
    again = next_pause(PATH, pause, other, 600)
    assert (again.until_ms, again.failures) == (pause.until_ms, 1)
    assert len(again.answers) == 2


def test_the_rate_is_halved_for_an_hour_after_a_pause(time: Clock) -> None:
    pause = next_pause(PATH, None, BUSY, 600)
    assert rate_in_force(10, pause) == 5
    assert rate_in_force(0, pause) == backoff.RATE_AFTER_PAUSE / 2
    time.passes(600 + backoff.SLOW_SECONDS + 1)
    assert rate_in_force(10, pause) == 10
    assert rate_in_force(0, None) == 0
