from __future__ import annotations

import pytest

from chalicelib.core.dynamo import Table
from chalicelib.webhooks.circuit_breaker import CircuitBreaker
from chalicelib.webhooks.store import circuit_breakers
from tests.fake_cloud import aws_requests

pytestmark = pytest.mark.usefixtures("cloud")

NOW = 1_769_850_000_000


def of(webhook_id: str = "w") -> CircuitBreaker:
    return circuit_breakers.of_all([webhook_id])[webhook_id]


def test_a_webhook_without_posts_has_a_closed_breaker() -> None:
    assert of() == CircuitBreaker()
    assert circuit_breakers.of_all([]) == {}


@pytest.mark.spec("2.10-t13")
def test_successes_are_written_once_a_minute() -> None:
    with aws_requests() as requests:
        for second in range(120):
            circuit_breakers.record_success("w", of(), NOW + second * 1000)
    writes = [each for each in requests if each.operation == "UpdateItem"]
    assert len(writes) == 2
    assert of() == CircuitBreaker(success_ms=NOW + 60_000)


def test_failures_are_written_once_a_minute_beside_successes() -> None:
    circuit_breakers.record_success("w", of(), NOW)
    for second in range(90):
        circuit_breakers.record_failure("w", of(), NOW + second * 1000)
    assert of() == CircuitBreaker(success_ms=NOW, failure_ms=NOW + 60_000)


def test_timeouts_are_counted_and_any_answer_closes_the_breaker() -> None:
    for unanswered in range(1, 4):
        circuit_breakers.open_until("w", of(), NOW, NOW + 5000)
        assert of() == CircuitBreaker(0, NOW, unanswered, NOW + 5000)
    circuit_breakers.record_failure("w", of(), NOW + 1)
    assert of() == CircuitBreaker(0, NOW + 1, 0, 0)


def test_only_one_worker_claims_the_post_of_a_half_open_breaker() -> None:
    circuit_breakers.open_until("w", of(), NOW, NOW + 5000)
    breaker = of()
    assert circuit_breakers.claim_half_open("w", breaker, NOW + 30_000)
    assert not circuit_breakers.claim_half_open("w", breaker, NOW + 30_001)
    assert of().open_until_ms == NOW + 30_000


def test_the_breaker_of_a_deleted_webhook_expires() -> None:
    circuit_breakers.expire("w", NOW)
    item = Table("webhooks").get(*circuit_breakers.key_of("w"))
    assert item is not None
    assert item["expires"] == NOW // 1000 + 3 * 86_400
