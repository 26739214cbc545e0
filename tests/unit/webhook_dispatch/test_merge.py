from __future__ import annotations

import json
from typing import Any

import pytest

from chalicelib.core import queues
from chalicelib.webhook_dispatch import merge
from chalicelib.webhook_dispatch.event_batches import MOST_BYTES, batches_of
from chalicelib.webhook_dispatch.merge import merge_events
from tests.fake_cloud import aws_requests, queued, sqs_event
from tests.unit.events.examples import event_at
from tests.unit.webhook_dispatch.simulation import NINE, Simulation, make_webhook, operations

TARGET = "https://a.test/"
NOW = int(NINE * 1000)


def recorded(world: Simulation, *lots: range) -> list[str]:
    """Record each lot of events; return the queue messages."""
    for lot in lots:
        world.record(event_at(NOW + n, n) for n in lot)
    return queued("webhook-events")


def merged(bodies: list[str]) -> list[tuple[dict[str, Any], bytes]]:
    """Merge messages; return head and payload of each batch."""
    assert merge_events(sqs_event(bodies)) == {"batchItemFailures": []}
    messages = [queues.read(body) for body in queued("webhook-batches")]
    return [(message.head, message.payload()) for message in messages]


def ids_of(body: bytes) -> list[str]:
    return [event["event_id"] for each in json.loads(body) for event in each["svc"].values()]


def test_events_of_many_messages_become_one_batch_for_each_webhook(world: Simulation) -> None:
    make_webhook(TARGET, "a")
    make_webhook(TARGET, "b")
    batches = merged(recorded(world, *(range(n, n + 1) for n in range(20))))
    assert {head["webhook_id"] for head, _ in batches} == {"a", "b"}
    for head, body in batches:
        assert head["size"] == len(ids_of(body)) == 20
        assert len(head["batch_id"]) == 32


def test_a_batch_has_at_most_350_events(world: Simulation) -> None:
    make_webhook(TARGET, "a")
    batches = merged(recorded(world, range(800)))
    assert sorted(head["size"] for head, _ in batches) == [100, 350, 350]
    assert len({name for _, body in batches for name in ids_of(body)}) == 800


def test_a_batch_of_large_events_stays_within_a_megabyte() -> None:
    elements = [b'"' + bytes([97 + n]) * 400_000 + b'"' for n in range(5)]
    works = list(batches_of(1, "a", elements, NOW))
    assert [work.head["size"] for work in works] == [2, 2, 1]
    assert all(len(work.payload) < MOST_BYTES + 100 for work in works)
    (alone,) = batches_of(1, "a", [b'"' + b"x" * 2 * MOST_BYTES + b'"'], NOW)
    assert alone.head["size"] == 1


@pytest.mark.spec("6-r2")
def test_the_same_events_always_make_the_same_batch(world: Simulation) -> None:
    make_webhook(TARGET, "a")
    bodies = recorded(world, range(5), range(5, 9))
    first, again = merged(bodies), merged(bodies)
    world.now += 1
    assert first == again == merged(bodies)
    (other,) = merged(recorded(world, range(9)))
    assert other[0]["batch_id"] != first[0][0]["batch_id"]


def test_ids_of_batches_grow_with_time_and_differ_for_each_webhook(world: Simulation) -> None:
    elements = [b'{"svc":{}}']
    batch_ids = [
        next(batches_of(1, name, elements, at)).head["batch_id"]
        for name, at in (("a", NOW), ("b", NOW), ("a", NOW + 1))
    ]
    assert len(set(batch_ids)) == 3
    assert max(batch_ids[:2]) < batch_ids[2]


def test_events_beyond_the_limit_of_bytes_are_merged_separately(
    world: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge, "_MOST_BYTES_MERGED", 1)
    make_webhook(TARGET, "a")
    batches = merged(recorded(world, range(4), range(4, 6)))
    assert [head["size"] for head, _ in batches] == [4, 2]


def test_an_event_that_is_queued_twice_is_in_the_batch_once(world: Simulation) -> None:
    make_webhook(TARGET, "a")
    ((head, body),) = merged(recorded(world, range(4), range(2, 6)))
    assert head["size"] == len(set(ids_of(body))) == 6


def test_a_bad_message_fails_without_the_others(world: Simulation) -> None:
    make_webhook(TARGET, "a")
    bodies = ["nonsense", *recorded(world, range(3))]
    response = merge_events(sqs_event(bodies))
    assert response == {"batchItemFailures": [{"itemIdentifier": "m-0"}]}
    assert len(queued("webhook-batches")) == 1


@pytest.mark.cost
def test_merging_requests_nothing_but_its_queue_messages(world: Simulation) -> None:
    make_webhook(TARGET, "a")
    bodies = recorded(world, *(range(n, n + 10) for n in range(0, 100, 10)))
    with aws_requests() as requests:
        merge_events(sqs_event(bodies))
    assert operations(requests) == ["SendMessage"]
