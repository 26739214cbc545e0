from __future__ import annotations

import random

import pytest

from chalicelib.core import ids
from chalicelib.core.dynamo import Table
from chalicelib.core.message_event import Event
from chalicelib.core.request import Request
from chalicelib.events import service, stream
from chalicelib.events.model import recipient_fields
from chalicelib.events.positions import EventWindow
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.model import PLACEMENTS
from chalicelib.metrics.store import pending
from chalicelib.metrics.totals import totals
from chalicelib.recording.worker import record_batch
from chalicelib.suppression import service as suppression
from chalicelib.tracking import engagement
from chalicelib.tracking.store import message_context
from tests.fake_cloud import aws_requests, queued, sqs_event, stored_objects
from tests.unit.events.examples import NINE, event_at
from tests.unit.suppression.examples import entry
from tests.unit.tracking import examples as tracking

pytestmark = pytest.mark.usefixtures("cloud")


def stored_events() -> list[Event]:
    return [event for _, event in service.newest_first(1, EventWindow(0, NINE * 2))]


def queue_bodies(events: list[Event]) -> list[str]:
    stream.emit(events)
    return queued("events")


def large_events() -> list[Event]:
    """Return events whose payload does not fit a queue message."""
    noise = random.Random(1)
    return [event_at(NINE + n, n, subject=noise.randbytes(900).hex()) for n in range(300)]


def test_the_events_of_all_messages_are_stored() -> None:
    bodies = queue_bodies([event_at(NINE, 0)]) + queue_bodies(
        [event_at(NINE + 1, 1), event_at(NINE + 2, 2)]
    )
    assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    assert stored_events() == [event_at(NINE + n, n) for n in (2, 1, 0)]


@pytest.mark.cost
def test_a_batch_of_messages_shares_its_writes() -> None:
    bodies = [body for n in range(10) for body in queue_bodies([event_at(NINE, n)])]
    with aws_requests() as requests:
        record_batch(sqs_event(bodies))
    operations = [each.operation for each in requests]
    assert operations.count("BatchGetItem") == operations.count("TransactWriteItems") == 1
    assert len(requests) <= 5


def test_a_redelivered_message_changes_nothing() -> None:
    bodies = queue_bodies([event_at(NINE)])
    for _ in range(2):
        assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    assert stored_events() == [event_at(NINE)]


def test_a_bad_message_fails_alone() -> None:
    bodies = ["nonsense", *queue_bodies([event_at(NINE)]), '{"head":{},"payload":"AAAA"}']
    failed = record_batch(sqs_event(bodies))["batchItemFailures"]
    assert [failure["itemIdentifier"] for failure in failed] == ["m-0", "m-2"]
    assert stored_events() == [event_at(NINE)]


def test_a_redelivered_large_message_changes_nothing() -> None:
    bodies = queue_bodies(large_events())
    assert len(stored_objects("queue/events/")) == 1
    record_batch(sqs_event(bodies))
    again = [*bodies, *queue_bodies([event_at(NINE + 5000, 5000)])]
    assert record_batch(sqs_event(again)) == {"batchItemFailures": []}
    assert len(stored_events()) == 301


def opens(count: int) -> list[Event]:
    """Return opens as the endpoint of a pixel emits them, of messages with a context."""
    own = {index: recipient_fields(f"r{index}@x.test", metadata={}, tags=[]) for index in range(9)}
    transmission_fields = {"campaign_id": "spring"}
    context = message_context.item_of(
        tracking.TRANSMISSION, 0, transmission_fields, list(own.items())
    )
    Table("messages").put(context or {})
    messages = [tracking.message(index, f"r{index}@x.test") for index in range(count)]
    return [engagement.observe("open", Request(), message) for message in messages]


def test_the_context_of_opened_messages_is_read_in_one_request() -> None:
    bodies = [body for event in opens(3) for body in queue_bodies([event])]
    with aws_requests() as requests:
        record_batch(sqs_event(bodies))
    operations = [each.operation for each in requests]
    assert operations.count("BatchGetItem") == operations.count("TransactWriteItems") == 1
    assert operations[0] == "BatchGetItem"
    assert {event["campaign_id"] for event in stored_events()} == {"spring"}


def delivery_of(index: int, **route: str) -> Event:
    event = event_at(NINE, index, **route)
    return event | {
        "transmission_id": tracking.TRANSMISSION,
        "message_id": ids.message_id(tracking.TRANSMISSION, index),
    }


def test_opens_have_the_address_and_pool_that_delivered_the_message() -> None:
    open_events = opens(4)
    first = delivery_of(0, sending_ip="192.0.2.1", ip_pool="spare")
    second = delivery_of(1, sending_ip="192.0.2.2", ip_pool="news")
    third = delivery_of(2, ip_pool="news")
    record_batch(sqs_event(queue_bodies([first])))
    record_batch(sqs_event(queue_bodies([second, third])))
    record_batch(sqs_event(queue_bodies(open_events)))
    opens_by_recipient = {
        event["rcpt_to"]: event for event in stored_events() if event["type"] == "open"
    }
    routes = [
        (event.get("sending_ip"), event.get("ip_pool"))
        for _, event in sorted(opens_by_recipient.items())
    ]
    assert routes == [("192.0.2.1", "spare"), ("192.0.2.2", "news"), (None, "news"), (None, None)]


def test_an_open_in_the_batch_of_its_delivery_has_the_address_as_well() -> None:
    (open_event,) = opens(1)
    record_batch(sqs_event(queue_bodies([open_event, delivery_of(0, sending_ip="192.0.2.1")])))
    assert {event["sending_ip"] for event in stored_events()} == {"192.0.2.1"}


@pytest.mark.spec("2.9-t2")
def test_suppressed_opens_are_neither_stored_nor_counted() -> None:
    objection = entry("r1@x.test", "open_tracking", "Tracking Consent Revoked")
    suppression.add_all(1, None, [objection])
    record_batch(sqs_event(queue_bodies(opens(3))))
    assert {event["rcpt_to"] for event in stored_events()} == {"r0@x.test", "r2@x.test"}
    begin = stored_events()[0]["timestamp"] // 60_000 * 60_000
    assert totals(1, None, None, begin - 60_000, begin + 120_000, ["open"]) == 2


@pytest.mark.cost
def test_the_first_events_of_a_block_are_recorded_without_reading_its_record() -> None:
    bodies = queue_bodies([event_at(NINE, 0, "injection"), event_at(NINE + 1, 0)])
    with aws_requests() as requests:
        record_batch(sqs_event(bodies))
    assert "BatchGetItem" not in [each.operation for each in requests]
    assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    assert totals(1, None, None, NINE, NINE + 60_000, ["injection", "delivery"]) == 2


def test_completely_recorded_events_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = queue_bodies([event_at(NINE, 1)])
    record_batch(sqs_event(bodies))
    collected_events: list[Event] = []
    monkeypatch.setattr("chalicelib.recording.worker.webhooks.collect", collected_events.extend)
    record_batch(sqs_event([*bodies, *queue_bodies([event_at(NINE + 1, 2)])]))
    assert [event["timestamp"] for event in collected_events] == [NINE + 1]


def test_incompletely_recorded_events_are_recorded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = queue_bodies([event_at(NINE, 1)])
    collected_events: list[Event] = []
    with monkeypatch.context() as patch:
        patch.setattr("chalicelib.recording.worker.commit", lambda *_: 1 / 0)
        assert record_batch(sqs_event(bodies))["batchItemFailures"]
    monkeypatch.setattr("chalicelib.recording.worker.webhooks.collect", collected_events.extend)
    assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    assert len(collected_events) == 1
    assert totals(1, None, None, NINE, NINE + 60_000, ["delivery"]) == 1


def test_events_of_seed_messages_are_ignored_except_their_placements() -> None:
    seed = event_at(NINE, 1 << 31)
    placement = event_at(NINE, 1 << 31, "inbox_seed")
    assert record_batch(sqs_event(queue_bodies([seed, placement]))) == {"batchItemFailures": []}
    assert stored_events() == []
    (pending_deltas,) = pending.of_all_accounts()
    delta = Delta.merged(item["data"] for item in pending_deltas.deltas)
    assert [counts for _, counts in delta.cells()] == [{PLACEMENTS["inbox_seed"]: 1}]
