"""Messages are counted once, and the threshold is reached once."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from chalicelib.accounts.store import accounts
from chalicelib.core import due, queues
from chalicelib.core.scope import Scope
from chalicelib.seeding.counting import count
from chalicelib.seeding.model import Campaign, Counter, SeedSend
from chalicelib.seeding.store import addresses, configs, counters, samples, seed_sends
from chalicelib.seeding.store.seed_sends import CONCERN, due_entry
from tests.fake_cloud import aws_requests, queued
from tests.unit.moving_clock import Clock
from tests.unit.seeding.examples import (
    DOMAIN,
    HOUR,
    MINUTE,
    SEEDS,
    SPRING,
    START,
    sample,
    seeded,
)


def counter(campaign: Campaign = SPRING) -> Counter:
    present = counters.get(1, campaign)
    assert present is not None
    return present


def begun() -> list[SeedSend]:
    """Return the seed sends that are due, the oldest first."""
    entries = due.find(CONCERN, START + 1000 * HOUR)
    sends = [seed_sends.get(entry.data["account_id"], entry.data["run"]) for entry in entries]
    return [seed_send for seed_send in sends if seed_send]


@pytest.mark.spec("3-t19")
def test_at_the_threshold_seeding_begins_once(time: Clock) -> None:
    seeded()
    sample()
    count(1, 1, {SPRING: 999})
    assert counter().seeding is None
    assert begun() == []
    time.now_ms += MINUTE
    for _ in range(2):
        count(1, 2, {SPRING: 200})
    count(1, 3, {SPRING: 50})
    present = counter()
    assert present.count == 1249
    assert present.seeding is not None
    assert present.seeding.start_ms == START + MINUTE
    (seed_send,) = begun()
    assert due.find(CONCERN, START + HOUR) == [due_entry(seed_send, 1)]
    assert seed_send.campaign == SPRING
    assert seed_send.start_ms == START + MINUTE
    assert seed_send.duration_ms == 20 * MINUTE
    assert list(seed_send.addresses) == SEEDS
    assert seed_send.sample.transmission_id == "191930000000000001"
    assert samples.recipient_of(seed_send.sample)["name"] == "Ann"
    heads = [queues.read(body).head for body in queued("generation")]
    assert [head["seed"] for head in heads] == [{"account_id": 1, "run": seed_send.id, "number": 0}]


@pytest.mark.spec("3-t20")
def test_after_the_reset_hours_counting_and_seeding_begin_again(time: Clock) -> None:
    seeded(reset=22)
    sample()
    count(1, 1, {SPRING: 1000})
    time.now_ms = START + 22 * HOUR - 1
    count(1, 2, {SPRING: 5000})
    assert len(begun()) == 1
    time.now_ms += 1
    sample()
    count(1, 3, {SPRING: 999})
    assert counter() == Counter(SPRING, 999, 3)
    count(1, 4, {SPRING: 1})
    assert len(begun()) == 2
    assert counter().count == 1000


def test_the_first_step_after_the_reset_hours_may_reach_the_threshold(time: Clock) -> None:
    seeded(reset=22)
    sample()
    count(1, 1, {SPRING: 1000})
    time.now_ms = START + 22 * HOUR
    count(1, 2, {SPRING: 4000})
    assert counter().count == 4000
    assert len(begun()) == 2


def test_a_step_that_failed_before_seeding_began_begins_it_when_it_is_repeated(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded()
    sample()
    with monkeypatch.context() as dying:
        dying.setattr(addresses, "of_account", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            count(1, 1, {SPRING: 1000})
    assert begun() == []
    count(1, 1, {SPRING: 1000})
    assert counter().count == 1000
    assert len(begun()) == 1


def test_a_seeding_that_began_is_due_even_if_queueing_failed(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded()
    sample()
    with monkeypatch.context() as dying:
        dying.setattr("chalicelib.seeding.seed_batches.queues.send", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            count(1, 1, {SPRING: 1000})
    count(1, 1, {SPRING: 1000})
    (seed_send,) = begun()
    assert due.find(CONCERN, START) == [due_entry(seed_send, 0)]


def test_campaigns_are_counted_by_owner_and_domain(time: Clock) -> None:
    seeded(1, None, 7)
    counts = {
        (None, "spring", DOMAIN): 600,
        (None, "spring", "other.test"): 500,
        (7, "spring", DOMAIN): 400,
    }
    count(1, 1, counts)
    numbers = {each.campaign: each.count for each in counters.in_scope(Scope(1, None))}
    assert numbers == {Campaign(*key): number for key, number in counts.items()}


def test_only_campaigns_that_config_and_options_allow_are_counted(time: Clock) -> None:
    seeded(1, 7, match=("spring", "win*"))
    names = ("spring", "springs", "winter", "")
    count(1, 1, {(owner, name, DOMAIN): 5 for owner in (None, 7, 8) for name in names})
    campaigns = {each.campaign[:2] for each in counters.in_scope(Scope(1, None))}
    assert campaigns == {(7, "spring"), (7, "winter")}


@pytest.mark.cost
def test_nothing_is_counted_without_a_config(time: Clock) -> None:
    configs.set_enabled(1, 0, enabled=True)
    with aws_requests() as requests:
        count(1, 1, {SPRING: 5})
        count(1, 2, {SPRING: 5})
    assert len(requests) == 1
    assert counters.in_scope(Scope(1, None)) == []


def test_the_accounts_option_disables_seeding_for_all(time: Clock) -> None:
    seeded(1, None, 7)
    accounts.change(1, lambda account: replace(account, options={"inline_seeds": False}))
    count(1, 1, {SPRING: 5, SPRING._replace(subaccount_id=7): 5})
    assert counters.in_scope(Scope(1, None)) == []


@pytest.mark.spec("3-t21")
def test_a_pause_stops_the_count_and_a_resumed_campaign_goes_on(time: Clock) -> None:
    seeded()
    sample()
    count(1, 1, {SPRING: 600})
    configs.set_enabled(1, 0, enabled=False)
    count(1, 2, {SPRING: 600})
    assert counter().count == 600
    configs.set_enabled(1, 0, enabled=True)
    count(1, 3, {SPRING: 400})
    assert counter().count == 1000
    assert len(begun()) == 1


@pytest.mark.spec("3-t21")
def test_a_pause_within_the_reset_hours_leaves_the_seeding_as_it_is(time: Clock) -> None:
    seeded(reset=22)
    sample()
    count(1, 1, {SPRING: 1000})
    configs.set_enabled(1, 0, enabled=False)
    configs.set_enabled(1, 0, enabled=True)
    time.now_ms += 10 * HOUR
    count(1, 2, {SPRING: 2000})
    assert (counter().count, len(begun())) == (3000, 1)


@pytest.mark.spec("3-t21")
def test_a_campaign_that_is_resumed_after_the_reset_hours_starts_a_new_count(time: Clock) -> None:
    seeded(reset=22)
    sample()
    count(1, 1, {SPRING: 1000})
    configs.set_enabled(1, 0, enabled=False)
    time.now_ms += 30 * HOUR
    configs.set_enabled(1, 0, enabled=True)
    count(1, 2, {SPRING: 10})
    assert counter() == Counter(SPRING, 10, 2)


def test_a_lowered_threshold_is_reached_by_the_next_message(time: Clock) -> None:
    seeded(threshold=5000)
    sample()
    count(1, 1, {SPRING: 3000})
    seeded(threshold=2000)
    count(1, 2, {SPRING: 1})
    assert len(begun()) == 1
    assert counter().count == 3001


@pytest.mark.parametrize("missing", ["addresses", "sample"])
def test_without_addresses_or_a_message_seeding_waits_for_them(
    time: Clock, missing: str, caplog: pytest.LogCaptureFixture
) -> None:
    seeded()
    addresses.put(1, [] if missing == "addresses" else SEEDS)
    if missing != "sample":
        sample()
    with caplog.at_level(logging.WARNING):
        count(1, 1, {SPRING: 1000})
    assert "no " in caplog.text
    assert (counter().seeding, begun()) == (None, [])
    addresses.put(1, SEEDS)
    sample()
    count(1, 2, {SPRING: 1})
    assert len(begun()) == 1


@pytest.mark.cost
def test_a_step_costs_a_request_for_each_campaign(time: Clock) -> None:
    seeded()
    count(1, 1, {SPRING: 1})
    with aws_requests() as requests:
        count(1, 2, {SPRING: 1, (None, "sprint", DOMAIN): 2})
    assert [each.operation for each in requests] == ["UpdateItem", "UpdateItem"]
