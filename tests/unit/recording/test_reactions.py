"""Events that react to a message have the address and pool of its delivery, whenever they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from chalicelib.core import ids
from chalicelib.core.dynamo import Table
from chalicelib.core.message_event import Event
from chalicelib.core.request import Request
from chalicelib.core.settings import settings
from chalicelib.delivery.outcome import Delivered, Retry, to_dict
from chalicelib.delivery.store.journal import open_journal
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.events import service, stream
from chalicelib.events.model import make_event, recipient_fields
from chalicelib.events.positions import EventWindow
from chalicelib.inbound import inbound_events
from chalicelib.inbound.arf import Feedback
from chalicelib.inbound.original_message import OriginalMessage
from chalicelib.metrics.totals import totals
from chalicelib.recording.reactions import LONGEST_WAIT
from chalicelib.recording.worker import record_batch
from chalicelib.tracking import engagement
from chalicelib.tracking.engagement import OBSERVED
from chalicelib.tracking.store import message_context
from tests.fake_cloud import AwsRequest, aws_requests, queued, sqs_event
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.tracking.examples import NINE, TRANSMISSION, message

pytestmark = pytest.mark.usefixtures("cloud")

CONTEXT = {"customer_id": "1", "transmission_id": TRANSMISSION, "ip_pool": "asked"}
ROUTE = {"ip_pool": "warm", "sending_ip": "192.0.2.1"}


@pytest.fixture(autouse=True)
def time(cloud: None) -> Iterator[Clock]:
    with moving_clock(NINE / 1000, step=0) as moving:
        yield moving


def own(index: int) -> Event:
    fields = recipient_fields(f"r{index}@x.test", metadata={}, tags=[])
    return fields | {"message_id": ids.message_id(TRANSMISSION, index)}


def store_context(first: int = 0, count: int = 9, unit: str = "0") -> None:
    messages = [(index, own(index)) for index in range(first, first + count)]
    item = message_context.item_of(TRANSMISSION, first, CONTEXT, messages, unit)
    Table("messages").put(item or {})


def journal(index: int, outcome: Delivered | Retry, unit: str = "0") -> None:
    entry = {"at": NINE, "outcome": to_dict(outcome), "route": ROUTE}
    open_journal(WorkUnit(TRANSMISSION, unit)).record(index, entry)


def an_open(index: int = 0, first_index: int = 0) -> Event:
    about = message(index, f"r{index}@x.test", first_index)
    return engagement.observe("open", Request(), about)


def a_complaint(index: int = 0) -> Event:
    fields = CONTEXT | own(index) | {OBSERVED: {"unit": 0}}
    report = Feedback("abuse", "x.test", "")
    return inbound_events.spam_complaint(
        report, "fbl@x.test", OriginalMessage(fields, "0", "0"), NINE
    )


def record(*events: Event) -> list[str]:
    """Record events; return the queue messages of those that wait."""
    stream.emit(events)
    return record_again(queued("events"))


def record_again(bodies: list[str]) -> list[str]:
    with aws_requests() as requests:
        assert record_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    waiting_bodies = [each.parameters for each in requests if each.operation == "SendMessage"]
    assert all(each["DelaySeconds"] for each in waiting_bodies)
    return [each["MessageBody"] for each in waiting_bodies]


def stored() -> list[Event]:
    return [event for _, event in service.newest_first(1, EventWindow(0, NINE * 2))]


@pytest.mark.parametrize("make", [an_open, a_complaint])
def test_the_journal_tells_of_a_delivery_that_is_not_recorded_yet(
    make: Callable[[], Event],
) -> None:
    store_context()
    journal(0, Delivered(250, "ok"))
    assert record(make()) == []
    (event,) = stored()
    assert {name: event[name] for name in ROUTE} == ROUTE
    assert OBSERVED not in event


@pytest.mark.parametrize("make", [an_open, a_complaint])
def test_an_event_before_its_delivery_waits_for_it(make: Callable[[], Event], time: Clock) -> None:
    store_context()
    journal(0, Retry(451, "later", 20))
    waiting_bodies = record(make())
    assert (len(waiting_bodies), stored()) == (1, [])
    time.now += 1
    waiting_bodies = record_again(waiting_bodies)
    assert (len(waiting_bodies), stored()) == (1, [])
    journal(0, Delivered(250, "ok"), unit="0d")
    assert record_again(waiting_bodies) == []
    (event,) = stored()
    assert (event["sending_ip"], event["timestamp"]) == ("192.0.2.1", NINE)


def test_the_event_of_a_delivery_lets_the_events_that_wait_for_it_go_on() -> None:
    store_context()
    waiting_bodies = record(an_open())
    record(make_event("delivery", CONTEXT | own(0) | ROUTE, NINE))
    assert record_again(waiting_bodies) == []
    assert {event["sending_ip"] for event in stored()} == {"192.0.2.1"}
    assert totals(1, "sending_ips", ["192.0.2.1"], NINE, NINE + 60_000, ["open"]) == 1


def test_an_event_waits_for_a_limited_time(time: Clock) -> None:
    store_context()
    waiting_bodies, waits = record(an_open()), 0
    while waiting_bodies:
        waits += 1
        time.now += LONGEST_WAIT / 3
        waiting_bodies = record_again(waiting_bodies)
    (event,) = stored()
    assert (waits, event["ip_pool"]) == (3, "asked")
    assert "sending_ip" not in event


@pytest.mark.parametrize("unit", ["", None])
def test_an_event_does_not_wait_for_what_nothing_can_tell(unit: str | None) -> None:
    if unit is not None:  # of a message that an earlier version generated
        store_context(unit=unit)
    assert record(an_open()) == []
    assert len(stored()) == 1


def test_the_others_of_its_batch_do_not_wait() -> None:
    store_context()
    journal(1, Delivered(250, "ok"))
    assert len(record(an_open(0), an_open(1), make_event("delay", CONTEXT | own(2), NINE))) == 1
    assert {event["rcpt_to"] for event in stored()} == {"r1@x.test", "r2@x.test"}


def journal_queries(requests: list[AwsRequest]) -> int:
    messages = settings().table("messages")
    return sum(
        request.operation == "Query" and request.parameters["TableName"] == messages
        for request in requests
    )


@pytest.mark.cost
def test_a_batch_reads_nothing_more_of_deliveries_that_are_recorded() -> None:
    for first in range(0, 300, 100):
        store_context(first, 100, str(first // 100))
    record(*(make_event("delivery", CONTEXT | own(index) | ROUTE, NINE) for index in range(300)))
    stream.emit([an_open(index, index // 100 * 100) for index in range(300)])
    bodies = queued("events")
    with aws_requests() as requests:
        record_batch(sqs_event(bodies))
    assert requests[0].operation == "BatchGetItem"
    assert journal_queries(requests) == 0


@pytest.mark.cost
def test_a_unit_whose_deliveries_are_not_recorded_is_read_once() -> None:
    store_context()
    for index in range(9):
        journal(index, Delivered(250, "ok"))
    stream.emit([an_open(index) for index in range(9)])
    bodies = queued("events")
    with aws_requests() as requests:
        record_batch(sqs_event(bodies))
    assert journal_queries(requests) == 1
    assert len(stored()) == 9
