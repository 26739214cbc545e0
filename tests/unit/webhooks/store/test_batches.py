from __future__ import annotations

import random
from dataclasses import replace

import pytest

from chalicelib.core import blobs, clock
from chalicelib.core.dynamo import Table
from chalicelib.webhooks.model import WebhookBatch
from chalicelib.webhooks.store import batches
from tests.fake_cloud import aws_requests, stored_objects

pytestmark = pytest.mark.usefixtures("cloud")

NINE = 1_769_850_000.0
BODY = b'[{"svc":{}}]'
FAILED = WebhookBatch("w", "b", 2, int(NINE * 1000), attempts=1, response_code=500, latency=7)
TAKEN = replace(FAILED, response_code=200, delivered=True)


@pytest.fixture(autouse=True)
def _at_nine() -> object:
    with clock.use(lambda: NINE):
        yield


def recorded() -> WebhookBatch:
    (batch,) = batches.newest("w", 10)
    return batch


@pytest.mark.spec("2.10-t14")
def test_a_later_attempt_replaces_an_earlier_one_and_never_the_reverse() -> None:
    second = replace(FAILED, attempts=2, response_code=503)
    assert batches.record(FAILED, BODY)
    assert batches.record(second, None)
    assert not batches.record(FAILED, None)
    assert recorded() == second


def test_a_recorded_delivery_is_not_replaced_by_a_duplicate() -> None:
    assert batches.record(FAILED, BODY)
    assert batches.record(TAKEN, None)
    assert not batches.record(replace(FAILED, attempts=5), None)
    assert not batches.record(replace(TAKEN, latency=1), None)
    assert recorded() == TAKEN


def test_a_delivery_replaces_the_failure_of_a_duplicate_with_more_attempts() -> None:
    assert batches.record(replace(FAILED, attempts=4), BODY)
    assert batches.record(TAKEN, None)
    assert recorded() == TAKEN


def test_a_new_round_goes_on_counting_attempts_and_has_the_same_bytes() -> None:
    assert batches.record(TAKEN, BODY)
    batch = batches.next_round(recorded())
    assert (batch.round, batch.attempts, batch.delivered) == (1, TAKEN.attempts, False)
    assert recorded() == TAKEN
    assert batches.record(batch, None)
    assert not batches.record(replace(FAILED, attempts=9), None)
    failed_again = replace(FAILED, attempts=TAKEN.attempts + 1, round=1)
    assert batches.record(failed_again, None)
    assert recorded() == failed_again
    assert batches.find("w", "b") == (failed_again, BODY)


def test_only_large_payloads_are_stored_in_the_bucket() -> None:
    noise = random.Random(1).randbytes(6000)
    batches.record(TAKEN, BODY)
    assert stored_objects("webhooks/") == []
    batches.record(replace(TAKEN, batch_id="c"), noise)
    assert stored_objects("webhooks/") == ["webhooks/w/c"]
    for batch_id, body in (("b", BODY), ("c", noise)):
        stored_batch = batches.find("w", batch_id)
        assert stored_batch is not None
        assert stored_batch[1] == body


@pytest.mark.spec("6-r4")
def test_a_batch_is_kept_for_a_day_after_its_last_attempt() -> None:
    batches.record(TAKEN, BODY)
    with clock.use(lambda: NINE + 86_399):
        assert batches.newest("w", 10) == [TAKEN]
        assert batches.find("w", "b") == (TAKEN, BODY)
    with clock.use(lambda: NINE + 2 * 86_400):
        assert batches.newest("w", 10) == []
        assert batches.find("w", "b") is None


@pytest.mark.spec("6-r4")
def test_the_day_that_a_batch_is_kept_starts_with_its_last_attempt() -> None:
    batches.record(replace(FAILED, batch_id="a"), BODY)
    batches.record(TAKEN, BODY)
    late = replace(FAILED, batch_id="a", at_ms=FAILED.at_ms + 8 * 3_600_000, attempts=12)
    batches.record(late, None)
    with clock.use(lambda: NINE + 25 * 3600):
        assert batches.newest("w", 10) == [late]


def test_a_batch_whose_bytes_are_gone_is_not_found() -> None:
    batches.record(TAKEN, random.Random(1).randbytes(6000))
    blobs.delete("webhooks/w/b")
    assert batches.find("w", "b") is None


@pytest.mark.cost
def test_a_batch_that_is_accepted_at_once_stores_nothing_but_its_status() -> None:
    batches.record(TAKEN, BODY)
    item = Table("webhooks").get(*batches.key_of("w", "b"))
    assert item is not None
    attributes = {*WebhookBatch.__slots__, "data", "expires", "pk", "sk"}
    assert item.keys() == attributes - {"answer", "earlier"}


def test_an_attempt_without_an_answer_replaces_the_answer_of_the_one_before() -> None:
    batches.record(replace(FAILED, answer="busy"), BODY)
    batches.record(replace(TAKEN, earlier=b"x"), None)
    assert recorded() == replace(TAKEN, earlier=b"x")


@pytest.mark.cost
def test_the_newest_batches_are_read_in_one_request() -> None:
    for n in range(30):
        batches.record(replace(TAKEN, batch_id=f"{n:04d}"), BODY)
    batches.record(replace(TAKEN, webhook_id="other"), BODY)
    with aws_requests() as requests:
        newest = batches.newest("w", 3)
    assert [batch.batch_id for batch in newest] == ["0029", "0028", "0027"]
    assert len(requests) == 1
