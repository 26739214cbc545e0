"""Seeding adds few requests to the generation of a campaign's messages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core import config_cache
from chalicelib.generation_queue import generate_batch
from chalicelib.transmissions.submit import submit
from tests.fake_cloud import aws_requests, queued_work, sqs_event
from tests.unit.delivery.mail_host import MailHost
from tests.unit.generation.examples import make_sender
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.seeding.examples import START, seeded
from tests.unit.transmissions.examples import make_transmission, meter, recipients


@pytest.fixture(autouse=True)
def time(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    MailHost().install(monkeypatch)
    with moving_clock(START / 1000) as moving:
        make_sender()
        yield moving


def generated(number: int, campaign: str) -> list[str]:
    """Generate three messages of a campaign; return the requests that it took."""
    new = make_transmission(id=f"19193000000000000{number}", campaign_id=campaign, created_ms=START)
    submit(new, recipients(3), meter())
    bodies = queued_work()
    with aws_requests() as requests:
        assert generate_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    return [request.operation for request in requests if request.operation != "GetQueueUrl"]


def test_seeding_costs_nothing_where_no_campaign_is_seeded() -> None:
    plain = generated(1, "")
    config_cache.clear_cache()
    assert generated(2, "spring") == plain


def test_a_seeded_campaign_costs_two_requests_a_minute(time: Clock) -> None:
    plain = generated(1, "")
    config_cache.clear_cache()
    seeded()
    assert len(generated(2, "spring")) == len(plain) + 2
    assert len(generated(3, "spring")) == len(plain)
    time.now_ms += 60_000
    assert len(generated(4, "spring")) == len(plain) + 2
