from __future__ import annotations

import random

import pytest

from chalicelib.core.dynamo import Table
from chalicelib.seeding.model import Campaign
from chalicelib.seeding.store import configs, samples
from tests.fake_cloud import aws_requests, stored_objects
from tests.unit.moving_clock import Clock
from tests.unit.seeding.examples import DOMAIN, SPRING, sample, seeded

ANN = {"email": "ann@inbox.test", "substitution_data": {"name": "Ånn \ud83d"}}


def note(*messages: tuple[str, int, dict[str, object]], campaign: str = "spring") -> None:
    samples.note(1, None, campaign, "1919", messages or [(DOMAIN, 3, ANN)])


def test_a_message_of_a_seeded_campaign_is_noted(time: Clock) -> None:
    seeded()
    note((DOMAIN, 3, ANN), ("other.test", 4, {"email": "bob@inbox.test"}))
    found = samples.newest(1, SPRING)
    assert found is not None
    assert (found.transmission_id, found.recipient()) == ("1919", ANN)
    other = samples.newest(1, Campaign(None, "spring", "other.test"))
    assert other is not None
    assert other.recipient() == {"email": "bob@inbox.test"}
    assert samples.newest(2, SPRING) is None
    assert samples.newest(1, SPRING._replace(subaccount_id=7)) is None


def test_nothing_is_noted_where_nothing_is_seeded(time: Clock) -> None:
    with aws_requests() as made:
        note(campaign="")
    assert made == []
    with aws_requests() as made:
        note()
        note()
    assert [each.operation for each in made] == ["GetItem"]
    seeded()
    note(campaign="autumn")
    configs.set_enabled(1, 0, enabled=False)
    note()
    assert samples.newest(1, SPRING) is None


def test_a_campaign_is_noted_once_a_minute(time: Clock) -> None:
    seeded()
    note()
    sample(transmission="2000")
    found = samples.newest(1, SPRING)
    assert found is not None
    assert found.transmission_id == "1919"
    time.now_ms += int(samples.EVERY * 1000)
    sample(transmission="2000")
    found = samples.newest(1, SPRING)
    assert found is not None
    assert found.transmission_id == "2000"


def test_much_data_goes_into_the_bucket(time: Clock) -> None:
    seeded()
    noise = random.Random(1).randbytes(20_000).hex()
    note((DOMAIN, 3, ANN | {"metadata": {"noise": noise}}))
    found = samples.newest(1, SPRING)
    assert found is not None
    assert found.recipient()["metadata"] == {"noise": noise}
    assert stored_objects() == ["transmissions/1919/sample-3"]


def test_a_sample_ends_after_three_days(time: Clock) -> None:
    seeded()
    note()
    time.now_ms += samples.RETENTION * 1000
    assert samples.newest(1, SPRING) is None


def test_a_message_that_could_not_be_noted_is_noted_when_it_comes_again(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded()
    with monkeypatch.context() as dying:
        dying.setattr(Table, "put", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            note()
    assert samples.newest(1, SPRING) is None
    note()
    assert samples.newest(1, SPRING) is not None
