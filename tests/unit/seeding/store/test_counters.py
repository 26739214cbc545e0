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


def add(seq: int, added: int, campaign: Campaign = SPRING, now: int = START) -> Counter:
    return counters.add(1, campaign, seq, added, now)


def begin() -> None:
    dynamo.transact([counters.starting(1, SPRING, SEEDING)])


def test_a_step_counts_once_however_often_it_is_made(time: Clock) -> None:
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


def test_what_was_never_counted_does_not_begin(time: Clock) -> None:
    with pytest.raises(TransactionFailed):
        begin()


def test_counting_goes_on_within_the_reset_hours_and_begins_again_behind_them(
    time: Clock,
) -> None:
    add(1, 1000)
    begin()
    assert add(2, 5, now=SEEDING.eligible_ms - 1) == Counter(SPRING, 1005, 2, SEEDING)
    assert add(2, 5, now=SEEDING.eligible_ms) == Counter(SPRING, 1005, 2, SEEDING)
    assert add(3, 7, now=SEEDING.eligible_ms) == Counter(SPRING, 7, 3)
    assert add(3, 7, now=SEEDING.eligible_ms) == Counter(SPRING, 7, 3)
    begin()


def test_campaigns_are_apart_by_owner_domain_and_id(time: Clock) -> None:
    several = [
        Campaign(None, "a", "x.test"),
        Campaign(None, "b", "x.test"),
        Campaign(None, "a#b", DOMAIN),
        Campaign(7, "a", "x.test"),
        Campaign(70, "a", "x.test"),
    ]
    for number, campaign in enumerate(several):
        add(1, number + 1, campaign)
    counters.add(2, several[0], 1, 9, START)
    whole = {each.campaign: each.count for each in counters.in_scope(Scope(1, None))}
    assert whole == {campaign: number + 1 for number, campaign in enumerate(several)}
    assert {each.campaign for each in counters.in_scope(Scope(1, 0))} == set(several[:3])
    assert [each.campaign for each in counters.in_scope(Scope(1, 7))] == [several[3]]
    assert counters.in_scope(Scope(1, 8)) == []


def test_a_campaign_that_nothing_was_added_to_for_a_month_is_not_shown(time: Clock) -> None:
    add(1, 400)
    time.now_ms += counters.RETENTION * 1000 - 1000
    assert len(counters.in_scope(Scope(1, None))) == 1
    time.now_ms += 1000
    assert counters.in_scope(Scope(1, None)) == []
    assert counters.get(1, SPRING) is None


def test_what_comes_after_a_month_is_not_added_to_what_the_table_has_not_removed_yet(
    time: Clock,
) -> None:
    add(1, 900)
    later = START + counters.RETENTION * 1000
    assert add(1, 900, now=later) == Counter(SPRING, 900, 1)
    assert add(2, 200, now=later) == Counter(SPRING, 200, 2)
    assert add(3, 100, now=later) == Counter(SPRING, 300, 3)
