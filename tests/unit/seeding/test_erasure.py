from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import dynamo
from chalicelib.core.scope import Scope
from chalicelib.seeding.erasure import forget_recipient
from chalicelib.seeding.model import Campaign
from chalicelib.seeding.store import counters, samples, seed_sends
from chalicelib.seeding.store.samples import Sample
from chalicelib.seeding.store.seed_sends import Run
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
    made = [(campaign.sending_domain, 3, recipient)]
    samples.note(1, campaign.subaccount_id, campaign.campaign_id, "1919", made)
    return kept(campaign)


def kept(campaign: Campaign = SPRING) -> Sample:
    found = samples.newest(1, campaign)
    assert found is not None
    return found


def begin(sample: Sample) -> None:
    run = Run(1, "2000", SPRING, START, 20 * MINUTE, tuple(SEEDS), sample)
    dynamo.transact([seed_sends.addition(run)])


def sampled_in_run() -> Sample:
    found = seed_sends.get(1, "2000")
    assert found is not None
    return found.sample


def test_what_copies_are_made_with_is_forgotten_with_its_recipient() -> None:
    begin(note(ANN))
    counters.add(1, SPRING, 1, 5, START)
    assert sampled_in_run() == kept()
    assert forget_recipient(Scope(1, None), "ann@INBOX.test") == 2
    for sample in (kept(), sampled_in_run()):
        assert (sample.recipient(), sample.email, sample.transmission_id) == ({}, "", "1919")
    assert forget_recipient(Scope(1, None), "ann@inbox.test") == 0
    assert counters.get(1, SPRING) is not None


def test_nobody_else_is_forgotten() -> None:
    begin(note(ANN))
    note(BOB, OTHERS)
    assert forget_recipient(Scope(1, None), "carl@inbox.test") == 0
    assert forget_recipient(Scope(2, None), "ann@inbox.test") == 0
    assert forget_recipient(Scope(1, 7), "ann@inbox.test") == 0
    assert (kept().recipient(), sampled_in_run().recipient()) == (ANN, ANN)
    assert forget_recipient(Scope(1, 7), "bob@inbox.test") == 1
    assert (kept().recipient(), kept(OTHERS).recipient()) == (ANN, {})


def test_what_is_in_the_bucket_goes_too() -> None:
    noise = random.Random(1).randbytes(20_000).hex()
    note(ANN | {"metadata": {"noise": noise}})
    assert stored_objects() == ["transmissions/1919/sample-3"]
    assert forget_recipient(Scope(1, 0), "ann@inbox.test") == 1
    assert (stored_objects(), kept().recipient()) == ([], {})


def test_a_sample_that_took_its_place_meanwhile_stays(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(ANN)
    query_all = dynamo.Table.query_all

    def overtaken(*given: Any, **options: Any) -> Any:
        items = list(query_all(*given, **options))
        time.now_ms += MINUTE
        note(BOB)
        return items

    monkeypatch.setattr(dynamo.Table, "query_all", overtaken)
    assert forget_recipient(Scope(1, None), "ann@inbox.test") == 0
    assert kept().recipient() == BOB


def test_it_is_one_request_where_nothing_is_kept() -> None:
    with aws_requests() as made:
        forget_recipient(Scope(1, None), "ann@inbox.test")
    assert [each.operation for each in made] == ["Query"]


def test_a_run_that_is_kept_from_before_has_a_sample_without_an_address() -> None:
    begin(replace(note(ANN), email=""))
    assert sampled_in_run().recipient() == ANN
