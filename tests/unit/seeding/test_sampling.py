from __future__ import annotations

import random

import pytest

from chalicelib.core.dynamo import Table
from chalicelib.seeding.model import Campaign
from chalicelib.seeding.sampling import SECONDS_BETWEEN, sample_messages
from chalicelib.seeding.store import configs, samples
from tests.fake_cloud import aws_requests, stored_objects
from tests.unit.moving_clock import Clock
from tests.unit.seeding.examples import DOMAIN, SPRING, sample, seeded

ANN = {"email": "ann@inbox.test", "substitution_data": {"name": "Ånn \ud83d"}}


def store_sample(*messages: tuple[str, int, dict[str, object]], campaign: str = "spring") -> None:
    sample_messages(1, None, campaign, "1919", messages or [(DOMAIN, 3, ANN)])


def test_a_message_of_a_seeded_campaign_becomes_its_sample(time: Clock) -> None:
    seeded()
    store_sample((DOMAIN, 3, ANN), ("other.test", 4, {"email": "bob@inbox.test"}))
    newest = samples.newest(1, SPRING)
    assert newest is not None
    assert (newest.transmission_id, samples.recipient_of(newest)) == ("1919", ANN)
    other = samples.newest(1, Campaign(None, "spring", "other.test"))
    assert other is not None
    assert samples.recipient_of(other) == {"email": "bob@inbox.test"}
    assert samples.newest(2, SPRING) is None
    assert samples.newest(1, SPRING._replace(subaccount_id=7)) is None


@pytest.mark.cost
def test_no_sample_is_stored_where_no_campaign_is_seeded(time: Clock) -> None:
    with aws_requests() as requests:
        store_sample(campaign="")
    assert requests == []
    with aws_requests() as requests:
        store_sample()
        store_sample()
    assert [request.operation for request in requests] == ["GetItem"]
    seeded()
    store_sample(campaign="autumn")
    configs.set_enabled(1, 0, enabled=False)
    store_sample()
    assert samples.newest(1, SPRING) is None


def test_a_campaign_is_sampled_once_a_minute(time: Clock) -> None:
    seeded()
    store_sample()
    sample(transmission="2000")
    newest = samples.newest(1, SPRING)
    assert newest is not None
    assert newest.transmission_id == "1919"
    time.now_ms += int(SECONDS_BETWEEN * 1000)
    sample(transmission="2000")
    newest = samples.newest(1, SPRING)
    assert newest is not None
    assert newest.transmission_id == "2000"


def test_a_large_sample_goes_into_the_bucket(time: Clock) -> None:
    seeded()
    noise = random.Random(1).randbytes(20_000).hex()
    store_sample((DOMAIN, 3, ANN | {"metadata": {"noise": noise}}))
    newest = samples.newest(1, SPRING)
    assert newest is not None
    assert samples.recipient_of(newest)["metadata"] == {"noise": noise}
    assert stored_objects() == ["transmissions/1919/sample-3"]


def test_a_sample_expires_after_three_days(time: Clock) -> None:
    seeded()
    store_sample()
    time.now_ms += samples.RETENTION * 1000
    assert samples.newest(1, SPRING) is None


def test_a_sample_that_failed_is_stored_when_the_message_is_generated_again(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded()
    with monkeypatch.context() as dying:
        dying.setattr(Table, "put", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store_sample()
    assert samples.newest(1, SPRING) is None
    store_sample()
    assert samples.newest(1, SPRING) is not None
