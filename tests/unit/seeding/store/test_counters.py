from __future__ import annotations

import pytest

from chalicelib.core import dynamo
from chalicelib.core.dynamo import TransactionFailed
from chalicelib.core.scope import Scope
from chalicelib.seeding.model import Campaign, Counter, Seeding
from chalicelib.seeding.store import counters
from tests.unit.moving_clock import Clock
from tests.unit.seeding.examples import DOMAIN, HOUR, SPRING, START

SEEDING = Seeding(START, 1000, 20, START + 22 * HOUR)


def add(seq: int, number: int, campaign: Campaign = SPRING, now: int = START) -> Counter:
    return counters.add(1, campaign, seq, number, now)


def begin() -> None:
    dynamo.transact([counters.start_of_seeding(1, SPRING, SEEDING)])


def test_a_step_counts_once_however_often_it_is_repeated(time: Clock) -> None:
    assert add(1, 400) == Counter(SPRING, 400, 1)
    assert add(1, 400) == Counter(SPRING, 400, 1)
    assert add(4, 300) == Counter(SPRING, 700, 4)
    assert add(3, 50) == Counter(SPRING, 700, 4)
    assert counters.get(1, SPRING) == Counter(SPRING, 700, 4)


def test_seeding_begins_once(time: Clock) -> None:
    add(1, 1000)
    begin()
    assert counters.get(1, SPRING) == Counter(SPRING, 1000, 1, SEEDING)
    with pytest.raises(TransactionFailed):
        begin()


def test_seeding_of_a_campaign_without_a_counter_does_not_begin(time: Clock) -> None:
    with pytest.raises(TransactionFailed):
        begin()


def test_counting_goes_on_within_the_reset_hours_and_starts_again_after_them(time: Clock) -> None:
    add(1, 1000)
    begin()
    assert add(2, 5, now=SEEDING.eligible_ms - 1) == Counter(SPRING, 1005, 2, SEEDING)
    assert add(2, 5, now=SEEDING.eligible_ms) == Counter(SPRING, 1005, 2, SEEDING)
    assert add(3, 7, now=SEEDING.eligible_ms) == Counter(SPRING, 7, 3)
    assert add(3, 7, now=SEEDING.eligible_ms) == Counter(SPRING, 7, 3)
    begin()


def test_campaigns_are_counted_by_owner_domain_and_id(time: Clock) -> None:
    campaigns = [
        Campaign(None, "a", "x.test"),
        Campaign(None, "b", "x.test"),
        Campaign(None, "a#b", DOMAIN),
        Campaign(7, "a", "x.test"),
        Campaign(70, "a", "x.test"),
    ]
    for number, campaign in enumerate(campaigns):
        add(1, number + 1, campaign)
    counters.add(2, campaigns[0], 1, 9, START)
    numbers = {each.campaign: each.count for each in counters.in_scope(Scope(1, None))}
    assert numbers == {campaign: number + 1 for number, campaign in enumerate(campaigns)}
    assert {each.campaign for each in counters.in_scope(Scope(1, 0))} == set(campaigns[:3])
    assert [each.campaign for each in counters.in_scope(Scope(1, 7))] == [campaigns[3]]
    assert counters.in_scope(Scope(1, 8)) == []


def test_a_counter_that_did_not_change_for_a_month_is_not_shown(time: Clock) -> None:
    add(1, 400)
    time.now_ms += counters.RETENTION * 1000 - 1000
    assert len(counters.in_scope(Scope(1, None))) == 1
    time.now_ms += 1000
    assert counters.in_scope(Scope(1, None)) == []
    assert counters.get(1, SPRING) is None


def test_an_expired_counter_that_the_table_still_holds_starts_again(
    time: Clock,
) -> None:
    add(1, 900)
    later = START + counters.RETENTION * 1000
    assert add(1, 900, now=later) == Counter(SPRING, 900, 1)
    assert add(2, 200, now=later) == Counter(SPRING, 200, 2)
    assert add(3, 100, now=later) == Counter(SPRING, 300, 3)
