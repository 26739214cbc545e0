from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import aws, clock, queues
from chalicelib.core.errors import ServiceError
from chalicelib.core.queues import Received
from chalicelib.core.settings import settings
from chalicelib.generation import chunk
from chalicelib.generation.chunk import Chunk
from chalicelib.transmissions import store
from chalicelib.transmissions.store import NotSubmitted
from chalicelib.transmissions.submit import submit
from tests.fake_cloud import aws_requests, queued, stored_objects
from tests.unit.transmissions.examples import CREATED, meter, recipients, transmission


class Time:
    now = CREATED / 1000

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def time(cloud: None) -> Iterator[Time]:
    moving = Time()
    with clock.use(moving):
        yield moving


@pytest.fixture
def chunks_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUNK_RECIPIENTS", "2")
    settings.cache_clear()


def sent() -> list[Received]:
    found = [queues.read(body) for body in queued("generation")]
    return sorted(found, key=lambda message: int(message.head["chunk"]))


def chunks() -> list[Chunk]:
    return [chunk.from_received(message) for message in sent()]


def test_one_chunk_costs_exactly_two_requests() -> None:
    queues.send("generation", [queues.Work({})])  # finds the queue's address
    with aws_requests() as made:
        submit(transmission(), recipients(settings().chunk_recipients), meter())
    assert [request.operation for request in made] == ["TransactWriteItems", "SendMessage"]


def test_the_record_is_stored_before_the_chunk_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "put", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        submit(transmission(), recipients(1), meter())
    assert queued("generation") == []


def test_a_single_chunk_carries_its_transmission() -> None:
    submit(transmission(metadata={"k": "é"}), recipients(3), meter())
    (message,) = sent()
    assert message.head["created_ms"] == CREATED
    with aws_requests() as made:
        found = chunk.from_received(message)
    assert made == []
    assert found.transmission == transmission(metadata={"k": "é"})
    assert (str(found.unit), found.first_index) == (f"{transmission().id}-0", 0)
    assert found.recipients == recipients(3)


@pytest.mark.usefixtures("chunks_of_two")
def test_several_chunks_hold_every_recipient_once_with_its_index() -> None:
    submit(transmission(), recipients(5), meter())
    found = chunks()
    assert [(each.unit.name, each.first_index, len(each.recipients)) for each in found] == [
        ("0", 0, 2),
        ("1", 2, 2),
        ("2", 4, 1),
    ]
    assert [recipient for each in found for recipient in each.recipients] == recipients(5)
    assert {id(each.transmission) for each in found} == {id(found[0].transmission)}  # read once
    assert found[0].transmission == transmission()


@pytest.mark.usefixtures("chunks_of_two")
def test_several_chunks_are_not_visible_to_generation_until_all_are_queued(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[type[Exception]] = []

    def look_first(transmission_id: str) -> None:
        for message in sent():
            with pytest.raises(NotSubmitted) as hidden:
                chunk.from_received(message)
            seen.append(hidden.type)

    monkeypatch.setattr(store, "commit", look_first)
    submit(transmission(), recipients(5), meter())
    assert len(seen) == 3


@pytest.mark.usefixtures("chunks_of_two")
def test_what_was_queued_only_in_part_is_never_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(params: dict[str, Any], **_: Any) -> None:
        raise ConnectionError("the queue is gone")

    events: Any = aws.sqs().meta.events
    events.register("before-call.sqs.SendMessage", refuse)
    try:
        with pytest.raises(ConnectionError):
            submit(transmission(), recipients(21), meter())  # ten chunks in a batch, and one alone
    finally:
        events.unregister("before-call.sqs.SendMessage", refuse)
    messages = sent()
    assert len(messages) == 10
    for message in messages:
        with pytest.raises(NotSubmitted):
            chunk.from_received(message)


@pytest.mark.usefixtures("chunks_of_two")
def test_several_chunks_cost_a_record_a_request_for_ten_and_a_commit() -> None:
    queues.send("generation", [queues.Work({})])
    with aws_requests() as made:
        submit(transmission(), recipients(40), meter())
    assert [request.operation for request in made] == [
        "TransactWriteItems",
        "SendMessageBatch",
        "SendMessageBatch",
        "UpdateItem",
    ]


@pytest.mark.usefixtures("chunks_of_two")
def test_what_took_too_long_is_refused_and_not_sent(
    time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    # generation drops chunks that have waited for ACCEPT_WINDOW
    real = queues.send

    def slowly(queue: str, works: Any) -> None:
        real(queue, works)
        time.now += settings().accept_window / 2 + 1

    monkeypatch.setattr(queues, "send", slowly)
    with pytest.raises(ServiceError) as refusal:
        submit(transmission(), recipients(5), meter())
    assert refusal.value.status == 503
    with pytest.raises(NotSubmitted):
        store.get_submitted(transmission().id)


def test_chunks_of_large_messages_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUNK_BYTES", "100000")
    settings.cache_clear()
    raw = random.Random(1).randbytes(20_000)
    submit(transmission(raw=raw, content={}), recipients(10), meter())
    sizes = [len(each.recipients) for each in chunks()]
    assert sizes == [4, 4, 2]


def test_a_message_larger_than_a_chunk_goes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUNK_BYTES", "1000")
    settings.cache_clear()
    submit(transmission(), recipients(3), meter())
    assert [len(each.recipients) for each in chunks()] == [1, 1, 1]


def test_content_that_does_not_fit_a_queue_message_travels_in_the_bucket() -> None:
    raw = random.Random(1).randbytes(400_000)
    submit(transmission(raw=raw, content={}), recipients(2), meter())
    assert len(stored_objects("transmissions/")) == 1
    assert len(stored_objects("queue/generation/")) == 1
    (found,) = chunks()
    assert found.transmission.raw == raw
