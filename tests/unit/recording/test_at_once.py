"""The worker of a send after a lull records its events itself; those of others go to the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import dynamo, queues
from chalicelib.core.settings import settings
from chalicelib.events import service, stream
from chalicelib.events.positions import EventWindow
from chalicelib.generation_queue import send_small_batch
from chalicelib.recording import at_once
from chalicelib.recording.at_once import LoneReports, ends_lull
from chalicelib.recording.worker import record_batch
from chalicelib.transmissions.submit import submit
from tests.fake_cloud import aws_requests, queued, sqs_event
from tests.unit.delivery.mail_host import MailHost
from tests.unit.events.examples import NINE, event_at
from tests.unit.generation.examples import make_sender
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.transmissions.examples import (
    CREATED,
    make_transmission,
    meter,
    request_recipients,
)

LULL = settings().events_window + 0.1


@pytest.fixture(autouse=True)
def time(cloud: None) -> Iterator[Clock]:
    with moving_clock(CREATED / 1000 + 5) as moving:
        make_sender()
        yield moving


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> MailHost:
    return MailHost().install(monkeypatch)


def bodies(*numbers: int, recipients: int = 1) -> list[str]:
    """Submit transmissions; return their queue messages."""
    for number in numbers:
        emails = [f"r{number}-{index}@example.test" for index in range(recipients)]
        to = request_recipients([{"email": email} for email in emails])
        submit(make_transmission(id=f"19193000000000010{number}"), to, meter())
    return queued("small-sends")


def send(messages: list[str]) -> None:
    assert send_small_batch(sqs_event(messages)) == {"batchItemFailures": []}


def stored() -> Counter[str]:
    window = EventWindow(CREATED, CREATED + 86_400_000)
    return Counter(event["type"] for _, event in service.newest_first(1, window))


def test_the_first_send_after_a_lull_needs_no_events_queue(time: Clock) -> None:
    send(bodies(0))
    assert stored() == {"injection": 1, "delivery": 1}
    assert queued("events") == []
    time.now += LULL
    send(bodies(1))
    assert stored() == {"injection": 2, "delivery": 2}
    assert queued("events") == []


def test_a_send_soon_after_another_shares_its_writes(time: Clock) -> None:
    send(bodies(0))
    for number in (1, 2):
        time.now += LULL - 1
        send(bodies(number))
    assert stored() == {"injection": 1, "delivery": 1}
    record_batch(sqs_event(queued("events")))
    assert stored() == {"injection": 3, "delivery": 3}


def test_sends_that_arrive_together_share_their_writes(time: Clock) -> None:
    send(bodies(0, 1))
    assert len(queued("events")) == 1
    send(bodies(2))
    assert len(queued("events")) == 1
    assert stored() == {}


def test_many_events_go_to_the_queue() -> None:
    send(bodies(0, recipients=6))
    assert len(queued("events")) == 1
    assert stored() == {}


def test_where_events_wait_for_no_others_a_second_is_a_lull(
    time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENTS_WINDOW", "0")
    settings.cache_clear()
    assert ends_lull()
    time.now += 0.9
    assert not ends_lull()
    time.now += 1.1
    assert ends_lull()


@pytest.mark.parametrize(
    "step", ["service.put_all", "webhooks.collect", "targets.collect", "commit"]
)
def test_events_that_cannot_be_recorded_are_queued_and_counted_once(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ConnectionError(step)

    with monkeypatch.context() as patch:
        patch.setattr(f"chalicelib.recording.worker.{step}", fail)
        send(bodies(0))
    messages = queued("events")
    assert len(messages) == 1
    record_batch(sqs_event(messages))
    assert stored() == {"injection": 1, "delivery": 1}


def test_a_repeated_send_is_recorded_once(time: Clock) -> None:
    messages = bodies(0)
    for _ in range(3):
        send(messages)
        time.now += LULL
    assert stored() == {"injection": 1, "delivery": 1}


@pytest.mark.cost
@pytest.mark.parametrize("alone", [True, False])
def test_a_lone_send_stores_its_outcome_and_its_events_in_one_request(alone: bool) -> None:
    messages = bodies(0)
    queues._url("events")
    if not alone:
        ends_lull()
    with aws_requests() as requests:
        send(messages)
    operations = [request.operation for request in requests]
    assert operations[:2] == ["BatchGetItem", "PutItem"]
    recording = ["BatchWriteItem", "Query", "TransactWriteItems"]
    assert operations[2:] == (recording if alone else ["UpdateItem", "SendMessage"])


@pytest.mark.cost
@pytest.mark.parametrize("failures", [1, 3])
def test_an_outcome_that_cannot_be_stored_with_its_events_is_recorded_without_them(
    failures: int, monkeypatch: pytest.MonkeyPatch, host: MailHost
) -> None:
    write_all, errors = dynamo.write_all, [ConnectionError()] * failures

    def fail_at_first(items: Any) -> None:
        if errors:
            raise errors.pop()
        write_all(items)

    monkeypatch.setattr(dynamo, "write_all", fail_at_first)
    messages = bodies(0)
    with aws_requests() as requests:
        send(messages)
    assert "#outcome" in str(
        [each.parameters for each in requests if each.operation == "UpdateItem"]
    )
    errors.clear()
    for body in queued("events"):
        record_batch(sqs_event([body]))
    assert len(host.recipients) == 1
    assert stored() == {"injection": 1, "delivery": 1}


def test_events_are_either_recorded_or_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_once, "record", lambda _, **options: None)
    LoneReports().emit([event_at(NINE, 0)])
    assert queued("events") == []
    LoneReports().emit([event_at(NINE, number) for number in range(11)])
    (message,) = queued("events")
    assert len(stream.decode(queues.read(message))) == 11
