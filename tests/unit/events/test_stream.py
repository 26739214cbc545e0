from __future__ import annotations

import pytest

from chalicelib.core import queues
from chalicelib.events import stream
from tests.fake_cloud import aws_requests, queued
from tests.unit.events.examples import NINE, event_at

pytestmark = pytest.mark.usefixtures("cloud")


def test_events_arrive_as_they_were_emitted() -> None:
    events = [event_at(NINE, 0, subject="é \ud83d"), event_at(NINE, 1, "bounce")]
    stream.emit(events)
    (body,) = queued("events")
    message = queues.read(body)
    assert message.head == {"count": 2}
    assert stream.decode(message) == events


@pytest.mark.cost
def test_a_chunk_of_events_costs_one_request() -> None:
    stream.emit([event_at(NINE)])  # looks up the queue's address first
    with aws_requests() as requests:
        stream.emit([event_at(NINE, index) for index in range(100)])
    assert [request.operation for request in requests] == ["SendMessage"]


def test_many_events_are_cut_into_messages_that_keep_their_order() -> None:
    events = [event_at(NINE, index) for index in range(801)]
    stream.emit(events)
    messages = sorted(map(queues.read, queued("events")), key=lambda m: -m.head["count"])
    assert [message.head["count"] for message in messages] == [400, 400, 1]
    decoded = [event for message in messages for event in stream.decode(message)]
    assert sorted(event["message_id"] for event in decoded) == [e["message_id"] for e in events]


@pytest.mark.cost
def test_no_events_cost_no_request() -> None:
    with aws_requests() as requests:
        stream.emit([])
    assert requests == []
