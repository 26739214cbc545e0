from __future__ import annotations

import random

import pytest

from chalicelib.core import dynamo, ids
from chalicelib.core.request import Request
from chalicelib.events import service, stream
from chalicelib.events.model import Event, recipient_fields
from chalicelib.events.positions import Window
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
from tests.unit.tracking import examples as tracking

pytestmark = pytest.mark.usefixtures("cloud")


def stored() -> list[Event]:
    return [event for _, event in service.newest_first(1, Window(0, NINE * 2))]


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
    operations = [each.operation for each in made]
    assert operations.count("BatchGetItem") == operations.count("TransactWriteItems") == 1
    assert len(made) <= 5


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


def opens(count: int) -> list[Event]:
    """Return opens as a pixel's endpoint tells of them, of messages whose facts are kept."""
    own = {index: recipient_fields(f"r{index}@x.test", metadata={}, tags=[]) for index in range(9)}
    shared = {"campaign_id": "spring"}
    dynamo.transact(message_context.writes(tracking.TRANSMISSION, 0, shared, list(own.items())))
    letters = [tracking.message(index, f"r{index}@x.test") for index in range(count)]
    return [engagement.observe("open", Request(), letter) for letter in letters]


def test_what_engagement_needs_to_know_is_one_request() -> None:
    bodies = [body for event in opens(3) for body in emitted([event])]
    with aws_requests() as made:
        record_batch(sqs_event(bodies))
    operations = [each.operation for each in made]
    assert operations.count("BatchGetItem") == operations.count("TransactWriteItems") == 1
    assert operations[0] == "BatchGetItem"
    assert {event["campaign_id"] for event in stored()} == {"spring"}


def delivered(index: int, **route: str) -> Event:
    event = event_at(NINE, index, **route)
    return event | {
        "transmission_id": tracking.TRANSMISSION,
        "message_id": ids.message_id(tracking.TRANSMISSION, index),
    }


def test_opens_tell_by_which_address_and_pool_their_message_left() -> None:
    seen = opens(4)
    before = delivered(0, sending_ip="192.0.2.1", ip_pool="spare")
    beside = delivered(1, sending_ip="192.0.2.2", ip_pool="news")
    without = delivered(2, ip_pool="news")
    record_batch(sqs_event(emitted([before])))
    record_batch(sqs_event(emitted([beside, without])))
    record_batch(sqs_event(emitted(seen)))
    told = {event["rcpt_to"]: event for event in stored() if event["type"] == "open"}
    routes = [(event.get("sending_ip"), event.get("ip_pool")) for _, event in sorted(told.items())]
    assert routes == [("192.0.2.1", "spare"), ("192.0.2.2", "news"), (None, "news"), (None, None)]


def test_an_open_that_comes_with_its_delivery_tells_how_the_message_left() -> None:
    (seen,) = opens(1)
    record_batch(sqs_event(emitted([seen, delivered(0, sending_ip="192.0.2.1")])))
    assert {event["sending_ip"] for event in stored()} == {"192.0.2.1"}


@pytest.mark.spec("2.9-t2")
def test_opens_of_who_objects_are_neither_stored_nor_counted() -> None:
    suppression.add(1, None, "r1@x.test", "open_tracking", "Tracking Consent Revoked", "")
    record_batch(sqs_event(emitted(opens(3))))
    assert {event["rcpt_to"] for event in stored()} == {"r0@x.test", "r2@x.test"}
    begin = stored()[0]["timestamp"] // 60_000 * 60_000
    assert totals(1, None, None, begin - 60_000, begin + 120_000, ["open"]) == 2


def test_the_first_events_of_a_message_are_recorded_without_a_look() -> None:
    bodies = emitted([event_at(NINE, 0, "injection"), event_at(NINE + 1, 0)])
    with aws_requests() as made:
        record_batch(sqs_event(bodies))
    assert "BatchGetItem" not in [each.operation for each in made]
    assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    assert totals(1, None, None, NINE, NINE + 60_000, ["injection", "delivery"]) == 2


def test_what_was_recorded_wholly_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = emitted([event_at(NINE, 1)])
    record_batch(sqs_event(bodies))
    collected: list[Event] = []
    monkeypatch.setattr("chalicelib.recording.worker.collect", collected.extend)
    record_batch(sqs_event([*bodies, *emitted([event_at(NINE + 1, 2)])]))
    assert [event["timestamp"] for event in collected] == [NINE + 1]


def test_what_was_not_recorded_wholly_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = emitted([event_at(NINE, 1)])
    collected: list[Event] = []
    with monkeypatch.context() as patch:
        patch.setattr("chalicelib.recording.worker.commit", lambda *_: 1 / 0)
        assert record_batch(sqs_event(bodies))["batchItemFailures"]
    monkeypatch.setattr("chalicelib.recording.worker.collect", collected.extend)
    assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    assert len(collected) == 1
    assert totals(1, None, None, NINE, NINE + 60_000, ["delivery"]) == 1


def test_seeds_are_nobodys_mail_and_what_they_tell_is_counted() -> None:
    seed = event_at(NINE, 1 << 31)
    placed = event_at(NINE, 1 << 31, "inbox_seed")
    assert record_batch(sqs_event(emitted([seed, placed]))) == {"batchItemFailures": []}
    assert stored() == []
    (waiting,) = pending.of_all_accounts()
    counted = Delta.merged(item["data"] for item in waiting.deltas)
    assert [counts for _, counts in counted.cells()] == [{PLACEMENTS["inbox_seed"]: 1}]
