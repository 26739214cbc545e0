from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core import dynamo, ids
from chalicelib.seeding.model import BATCH_MS, Sample, SeedSend, is_seed
from chalicelib.seeding.store import seed_sends
from chalicelib.seeding.store.seed_sends import AHEAD_MS, due_entry
from tests.unit.moving_clock import Clock
from tests.unit.seeding.examples import MINUTE, SPRING, START


def seed_send_of(count: int, minutes: int = 30) -> SeedSend:
    addresses = tuple(f"s{number}@seeds.test" for number in range(count))
    return SeedSend(1, "1919", SPRING, START, minutes * MINUTE, addresses, Sample("17", b"x", ""))


@pytest.mark.spec("3-t19")
def test_messages_are_spread_evenly_over_the_duration() -> None:
    seed_send = seed_send_of(50)
    times = [seed_send.send_ms(number) for number in range(50)]
    assert times[0] == START
    assert {later - earlier for earlier, later in pairwise(times)} == {36_000}


@settings(max_examples=60)
@given(count=st.integers(1, 700), minutes=st.integers(20, 720))
def test_batches_hold_every_message_once_and_none_longer_than_a_minute(
    count: int, minutes: int
) -> None:
    seed_send, first, seen = seed_send_of(count, minutes), 0, []
    while first < count:
        batch = seed_send.batch(first)
        assert seed_send.send_ms(batch[-1]) - seed_send.send_ms(first) < BATCH_MS
        # Due so early that a tick a minute comes before its time, but never before the seed send
        assert due_entry(seed_send, first).at_ms == max(
            START, seed_send.send_ms(first) - AHEAD_MS if first else 0
        )
        seen += list(batch)
        first = batch.stop
    assert seen == list(range(count))


def test_a_seed_send_is_read_as_it_was_stored(time: Clock) -> None:
    seed_send = seed_send_of(3)
    dynamo.transact([seed_sends.addition(seed_send)])
    assert seed_sends.get(1, "1919") == seed_send
    assert seed_sends.get(2, "1919") is None


def test_a_seed_message_is_recognised_by_its_ids() -> None:
    seed_send = seed_send_of(2)

    def event(index: int, transmission: str = seed_send.id) -> dict[str, str]:
        return {"message_id": ids.message_id(seed_send.id, index), "transmission_id": transmission}

    assert all(is_seed(event(seed_send.index(number))) for number in range(2))
    assert not any(is_seed(event(index)) for index in (0, 99, 2**31 - 1))


def test_ids_of_other_senders_are_not_of_seed_messages() -> None:
    others = "65f0c0ffee65f0c0ffee65f0"
    for event in ({}, {"message_id": ""}, {"message_id": others}, {"message_id": "<a@b.c>"}):
        assert not is_seed(event)
        assert not is_seed({"transmission_id": "1919", **event})
