from __future__ import annotations

import random

import pytest

from chalicelib.events import store, stream
from chalicelib.events.model import Event
from chalicelib.events.store import Window
from chalicelib.recording.worker import record_batch
from tests.fake_cloud import aws_requests, queued, sqs_event, stored_objects
from tests.unit.events.examples import NINE, event_at

pytestmark = pytest.mark.usefixtures("cloud")


def stored() -> list[Event]:
    return [event for _, event in store.newest_first(1, Window(0, NINE * 2))]


def emitted(events: list[Event]) -> list[str]:
    stream.emit(events)
    return queued("events")


def large_events() -> list[Event]:
    """Return events whose payload does not fit a queue message."""
    noise = random.Random(1)
    return [event_at(NINE + n, n, subject=noise.randbytes(900).hex()) for n in range(300)]


def test_the_events_of_all_messages_are_stored() -> None:
    bodies = emitted([event_at(NINE, 0)]) + emitted([event_at(NINE + 1, 1), event_at(NINE + 2, 2)])
    assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    assert stored() == [event_at(NINE + n, n) for n in (2, 1, 0)]


def test_a_batch_of_messages_shares_its_writes() -> None:
    bodies = [body for n in range(10) for body in emitted([event_at(NINE, n)])]
    with aws_requests() as made:
        record_batch(sqs_event(bodies))
    assert [each.operation for each in made] == ["BatchWriteItem", "PutItem"]


def test_a_message_met_twice_changes_nothing() -> None:
    bodies = emitted([event_at(NINE)])
    for _ in range(2):
        assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    assert stored() == [event_at(NINE)]


def test_a_bad_message_fails_alone() -> None:
    bodies = ["nonsense", *emitted([event_at(NINE)]), '{"head":{},"payload":"AAAA"}']
    failed = record_batch(sqs_event(bodies))["batchItemFailures"]
    assert [failure["itemIdentifier"] for failure in failed] == ["m-0", "m-2"]
    assert stored() == [event_at(NINE)]


def test_a_large_message_that_comes_again_changes_nothing() -> None:
    bodies = emitted(large_events())
    assert len(stored_objects("queue/events/")) == 1
    record_batch(sqs_event(bodies))
    again = [*bodies, *emitted([event_at(NINE + 5000, 5000)])]
    assert record_batch(sqs_event(again)) == {"batchItemFailures": []}
    assert len(stored()) == 301
