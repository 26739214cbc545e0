from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import dynamo
from chalicelib.core.scope import Scope
from chalicelib.seeding.model import Campaign, Sample, SeedSend
from chalicelib.seeding.sampling import sample_messages
from chalicelib.seeding.store import counters, samples, seed_sends
from chalicelib.seeding.store.samples import erase_recipient, recipient_of
from tests.fake_cloud import aws_requests, stored_objects
from tests.unit.moving_clock import Clock
from tests.unit.seeding.examples import DOMAIN, MINUTE, SEEDS, SPRING, START, seeded

ANN = {"email": "Ann@Inbox.test", "name": "Ann", "substitution_data": {"n": 1}}
BOB = {"email": "bob@inbox.test", "name": "Bob"}
OTHERS = Campaign(7, "spring", DOMAIN)


@pytest.fixture(autouse=True)
def campaigns(time: Clock) -> None:
    seeded(1, None, 7)


def note(recipient: dict[str, Any], campaign: Campaign = SPRING) -> Sample:
    messages = [(campaign.sending_domain, 3, recipient)]
    sample_messages(1, campaign.subaccount_id, campaign.campaign_id, "1919", messages)
    return newest_sample(campaign)


def newest_sample(campaign: Campaign = SPRING) -> Sample:
    sample = samples.newest(1, campaign)
    assert sample is not None
    return sample


def begin(sample: Sample) -> None:
    seed_send = SeedSend(1, "2000", SPRING, START, 20 * MINUTE, tuple(SEEDS), sample)
    dynamo.transact([seed_sends.addition(seed_send)])


def sample_of_seed_send() -> Sample:
    seed_send = seed_sends.get(1, "2000")
    assert seed_send is not None
    return seed_send.sample


def test_samples_and_seed_sends_forget_a_recipient() -> None:
    begin(note(ANN))
    counters.add(1, SPRING, 1, 5, START)
    assert sample_of_seed_send() == newest_sample()
    assert erase_recipient(Scope(1, None), "ann@INBOX.test") == 2
    for sample in (newest_sample(), sample_of_seed_send()):
        assert (recipient_of(sample), sample.email, sample.transmission_id) == ({}, "", "1919")
    assert erase_recipient(Scope(1, None), "ann@inbox.test") == 0
    assert counters.get(1, SPRING) is not None


def test_no_other_recipient_is_forgotten() -> None:
    begin(note(ANN))
    note(BOB, OTHERS)
    assert erase_recipient(Scope(1, None), "carl@inbox.test") == 0
    assert erase_recipient(Scope(2, None), "ann@inbox.test") == 0
    assert erase_recipient(Scope(1, 7), "ann@inbox.test") == 0
    assert (recipient_of(newest_sample()), recipient_of(sample_of_seed_send())) == (ANN, ANN)
    assert erase_recipient(Scope(1, 7), "bob@inbox.test") == 1
    assert (recipient_of(newest_sample()), recipient_of(newest_sample(OTHERS))) == (ANN, {})


def test_a_large_sample_is_deleted_from_the_bucket() -> None:
    noise = random.Random(1).randbytes(20_000).hex()
    note(ANN | {"metadata": {"noise": noise}})
    assert stored_objects() == ["transmissions/1919/sample-3"]
    assert erase_recipient(Scope(1, 0), "ann@inbox.test") == 1
    assert (stored_objects(), recipient_of(newest_sample())) == ([], {})


def test_a_sample_that_replaced_it_meanwhile_stays(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(ANN)
    query_all = dynamo.Table.query_all

    def overtaken(*arguments: Any, **options: Any) -> Any:
        items = list(query_all(*arguments, **options))
        time.now_ms += MINUTE
        note(BOB)
        return items

    monkeypatch.setattr(dynamo.Table, "query_all", overtaken)
    assert erase_recipient(Scope(1, None), "ann@inbox.test") == 0
    assert recipient_of(newest_sample()) == BOB


@pytest.mark.cost
def test_an_erasure_is_one_request_where_nothing_is_stored() -> None:
    with aws_requests() as requests:
        erase_recipient(Scope(1, None), "ann@inbox.test")
    assert [request.operation for request in requests] == ["Query"]


def test_a_seed_send_without_an_address_in_its_sample_is_readable() -> None:
    begin(replace(note(ANN), email=""))
    assert recipient_of(sample_of_seed_send()) == ANN
