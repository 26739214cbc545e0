from __future__ import annotations

import random
from dataclasses import replace

import pytest

from chalicelib.webhooks.attempts import MOST_ATTEMPTS, Attempt, history, pack, unpack
from chalicelib.webhooks.model import WebhookBatch
from chalicelib.webhooks.posting import LONGEST_ACCEPTANCE, LONGEST_REFUSAL, PostResult

FAILURE = Attempt(1_769_850_000_000, 503, "", 87, "busy")
BATCH = WebhookBatch("w", "b", 1, FAILURE.at_ms, 1, 503, "", 87, answer="busy")


def test_the_latest_attempt_is_the_status_itself() -> None:
    assert history(BATCH) == (FAILURE,)
    assert history(replace(BATCH, earlier=pack((FAILURE, FAILURE)))) == (FAILURE,) * 3


def test_a_redelivery_that_is_not_yet_posted_is_no_attempt() -> None:
    queued_batch = WebhookBatch("w", "b", 1, FAILURE.at_ms, round=1, earlier=pack((FAILURE,)))
    assert history(queued_batch) == (FAILURE,)


def test_only_the_latest_attempts_are_kept() -> None:
    attempts = tuple(replace(FAILURE, at_ms=n) for n in range(MOST_ATTEMPTS + 3))
    assert unpack(pack(attempts)) == attempts[3:]


def test_the_same_refusal_twelve_times_takes_little_more_than_once() -> None:
    page = random.Random(1).randbytes(LONGEST_REFUSAL // 2).hex()
    attempts = tuple(replace(FAILURE, at_ms=n * 1000, answer=page) for n in range(12))
    assert len(pack(attempts)) < 1.5 * len(pack(attempts[:1]))


@pytest.mark.parametrize(("status", "most"), [(200, LONGEST_ACCEPTANCE), (500, LONGEST_REFUSAL)])
def test_the_beginning_of_an_answer_is_kept_as_text(status: int, most: int) -> None:
    assert PostResult(status, body=b"ok").answer == "ok"
    assert PostResult(status, body="€".encode() * 5000).answer == "€" * most
    assert PostResult(status, body="\U0001f600".encode() * most).answer == "\U0001f600" * most
    assert PostResult(status, body=b"a\xff\xe2\x82").answer == "a"


def test_without_a_response_the_answer_is_the_reason() -> None:
    assert PostResult(None, reason="x" * 5000).answer == "x" * LONGEST_REFUSAL
