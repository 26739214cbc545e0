from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core import dynamo, ids
from chalicelib.seeding.store import seed_sends
from chalicelib.seeding.store.samples import Sample
from chalicelib.seeding.store.seed_sends import AHEAD_MS, STRETCH_MS, Run
from tests.unit.moving_clock import Clock
from tests.unit.seeding.examples import MINUTE, SPRING, START


def run_of(count: int, minutes: int = 30) -> Run:
    addresses = tuple(f"s{number}@seeds.test" for number in range(count))
    return Run(1, "1919", SPRING, START, minutes * MINUTE, addresses, Sample("17", b"x", ""))


@pytest.mark.spec("3-t19")
def test_messages_are_spread_evenly_over_the_duration() -> None:
    run = run_of(50)
    times = [run.at_ms(number) for number in range(50)]
    assert times[0] == START
    assert {later - earlier for earlier, later in pairwise(times)} == {36_000}


@settings(max_examples=60)
@given(count=st.integers(1, 700), minutes=st.integers(20, 720))
def test_stretches_hold_every_message_once_and_none_longer_than_a_minute(
    count: int, minutes: int
) -> None:
    run, first, seen = run_of(count, minutes), 0, []
    while first < count:
        stretch = run.stretch(first)
        assert run.at_ms(stretch[-1]) - run.at_ms(first) < STRETCH_MS
        # Due so early that a tick a minute comes before its time, but never before the run
        assert run.due(first).at_ms == max(START, run.at_ms(first) - AHEAD_MS if first else 0)
        seen += list(stretch)
        first = stretch.stop
    assert seen == list(range(count))


def test_a_run_is_kept_as_it_was_begun(time: Clock) -> None:
    run = run_of(3)
    dynamo.transact([seed_sends.addition(run)])
    assert seed_sends.get(1, "1919") == run
    assert seed_sends.get(2, "1919") is None


def test_a_seed_is_told_by_its_ids() -> None:
    run = run_of(2)

    def event(index: int, transmission: str = run.id) -> dict[str, str]:
        return {"message_id": ids.message_id(run.id, index), "transmission_id": transmission}

    assert all(seed_sends.is_seed(event(run.index(number))) for number in range(2))
    assert not any(seed_sends.is_seed(event(index)) for index in (0, 99, 2**31 - 1))


def test_ids_of_other_senders_are_no_seeds() -> None:
    others = "65f0c0ffee65f0c0ffee65f0"
    for found in ({}, {"message_id": ""}, {"message_id": others}, {"message_id": "<a@b.c>"}):
        assert not seed_sends.is_seed(found)
        assert not seed_sends.is_seed({"transmission_id": "1919", **found})
