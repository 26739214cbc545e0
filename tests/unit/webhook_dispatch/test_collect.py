from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import queues
from chalicelib.core.message_event import Event
from chalicelib.events import stream
from chalicelib.recording.worker import record_batch
from chalicelib.webhook_dispatch.collect import collect, read
from chalicelib.webhooks import lookup, payload
from chalicelib.webhooks.store import webhooks as webhook_store
from tests.fake_cloud import aws_requests, queued, sqs_event
from tests.unit.events.examples import event_at
from tests.unit.webhook_dispatch.simulation import NINE, Simulation, make_webhook, operations

TARGET = "https://a.test/"
NOW = int(NINE * 1000)


def collected(events: list[Event]) -> dict[str, list[bytes]]:
    """Return the elements that are queued for each webhook."""
    collect(events)
    by_webhook: dict[str, list[bytes]] = {}
    for body in queued("webhook-events"):
        for account, webhook_id, elements in read(queues.read(body)):
            assert account == 1
            by_webhook.setdefault(webhook_id, []).extend(elements)
    return by_webhook


def of_subaccount(number: int, index: int) -> Event:
    return event_at(NOW, index) | {"subaccount_id": str(number)}


@pytest.mark.spec("2.10-t4")
@pytest.mark.spec("6-r1")
def test_a_webhook_gets_the_types_that_it_selects(world: Simulation) -> None:
    make_webhook(TARGET, "a", events=("delivery",))
    make_webhook(TARGET, "b", events=("rejection", "click"))
    events = [
        event_at(NOW, n, kind)
        for n, kind in enumerate(("delivery", "bounce", "policy_rejection", "click"))
    ]
    assert collected(events) == {
        "a": [payload.element(events[0])],
        "b": [payload.element(events[2]), payload.element(events[3])],
    }


@pytest.mark.spec("2.10-t12")
@pytest.mark.spec("2.10-t7")
@pytest.mark.spec("5-r6")
def test_a_webhook_gets_the_events_of_its_source(world: Simulation) -> None:
    make_webhook(TARGET, "all")
    make_webhook(TARGET, "but-8", exceptions=(8,))
    make_webhook(TARGET, "primary", source=0)
    make_webhook(TARGET, "only-7", source=7)
    primary, seven, eight = event_at(NOW, 0), of_subaccount(7, 1), of_subaccount(8, 2)
    foreign = event_at(NOW, 3, account=2)
    elements = collected([primary, seven, eight, foreign])
    assert elements == {
        name: [payload.element(event) for event in events]
        for name, events in {
            "all": [primary, seven, eight],
            "but-8": [primary, seven],
            "primary": [primary],
            "only-7": [seven],
        }.items()
    }


@pytest.mark.spec("2.10-t5")
@pytest.mark.spec("3-t15")
def test_an_inactive_or_deleted_webhook_gets_no_new_events(world: Simulation) -> None:
    make_webhook(TARGET, "a", active=False)
    make_webhook(TARGET, "b", deleted_ms=NOW)
    assert collected([event_at(NOW)]) == {}


@pytest.mark.spec("3-t14")
@pytest.mark.spec("8-t11")
def test_a_new_webhook_gets_its_first_events_a_minute_later(world: Simulation) -> None:
    make_webhook(TARGET, "a", created_ms=NOW)
    world.now += 59.9
    assert collected([event_at(NOW)]) == {}
    world.now += 0.2
    assert list(collected([event_at(NOW)])) == ["a"]


@pytest.mark.cost
def test_an_accounts_webhooks_are_read_once_in_a_few_seconds(world: Simulation) -> None:
    make_webhook(TARGET, "a", events=("bounce",))
    with aws_requests() as requests:
        for n in range(5):
            collect([event_at(NOW, n)])
    assert operations(requests) == ["Query"]
    (webhook,) = webhook_store.of_account(1)
    world.now += 6
    with aws_requests() as requests:
        collect([event_at(NOW, 9)])
    assert operations(requests) == ["Query"]
    assert webhook.id == "a"


@pytest.mark.cost
def test_an_account_without_webhooks_costs_one_query_in_a_few_seconds(world: Simulation) -> None:
    with aws_requests() as requests:
        for n in range(5):
            collect([event_at(NOW, n)])
    assert operations(requests) == ["Query"]
    lookup.clear_cache()


@pytest.mark.cost
def test_many_events_of_two_webhooks_are_queued_in_few_messages(world: Simulation) -> None:
    make_webhook(TARGET, "a")
    make_webhook(TARGET, "b")
    events = [event_at(NOW + n, n) for n in range(450)]
    with aws_requests() as requests:
        collect(events)
    assert operations(requests) == ["Query", "SendMessageBatch"]
    assert len(requests[-1].parameters["Entries"]) == 2


def test_ends_of_ab_tests_and_ingested_batches_are_collected(world: Simulation) -> None:
    make_webhook(TARGET, "a", events=("ab_test_completed", "success"))
    about: dict[str, Any] = {"customer_id": "1", "timestamp": NOW, "event_id": "5"}
    test = about | {"type": "ab_test_completed", "ab_test": {"id": "t"}}
    ingested = about | {"type": "success", "batch_id": "b", "number_succeeded": 4}
    assert collected([test, ingested]) == {
        "a": [payload.element(test), payload.element(ingested)],
    }


@pytest.mark.parametrize("kind", ["delivery", "click", "ab_test_completed"])
def test_recorded_events_are_collected(world: Simulation, kind: str) -> None:
    make_webhook(TARGET, "a", events=(kind,))
    event = event_at(NOW, 1, kind)
    if kind == "ab_test_completed":
        names = ("type", "timestamp", "event_id", "customer_id")
        event = {name: event[name] for name in names} | {"ab_test": {"id": "t"}}
    stream.emit([event])
    assert record_batch(sqs_event(queued("events"))) == {"batchItemFailures": []}
    (message,) = (queues.read(body) for body in queued("webhook-events"))
    assert list(read(message)) == [(1, "a", [payload.element(event)])]
