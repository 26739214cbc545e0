"""A chunk whose workers died is generated message by message, each where it can do no harm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import packing, queues
from chalicelib.core.confined import Died
from chalicelib.delivery import delivery_batch
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.generation import apart
from chalicelib.generation.apart import generate_chunk_apart
from chalicelib.generation.chunk import Chunk, generate_chunk
from chalicelib.generation_queue import generate_batch, send_small_batch
from chalicelib.suppression import service as suppression
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.submit import queue_chunks, submit
from tests.fake_cloud import queued, queued_work, sqs_event
from tests.unit.delivery.mail_host import MailHost
from tests.unit.generation.examples import make_sender
from tests.unit.moving_clock import moving_clock
from tests.unit.suppression.examples import entry
from tests.unit.transmissions.examples import CREATED, make_transmission, meter, recipients


class InThisProcess:
    """Runs a confined function here; it dies of the recipients that ``deadly`` names."""

    calls = 0
    deadly: tuple[str, ...] = ()

    def __init__(self, function: Any, **limits: Any) -> None:
        self._function = function

    def __call__(self, argument: bytes) -> bytes:
        type(self).calls += 1
        part, _ = packing.unpack(argument)
        if part["recipient"]["email"] in self.deadly:
            raise Died("it takes too much work")
        return self._function(argument)

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def children(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[InThisProcess]]:
    kind = type("Children", (InThisProcess,), {})
    monkeypatch.setattr(apart, "Confined", kind)
    MailHost().install(monkeypatch)
    with moving_clock(CREATED / 1000 + 5):
        make_sender()
        yield kind


def chunk_of(count: int, first_index: int = 0, **fields: Any) -> Chunk:
    everyone = [{"email": f"r{number}@example.test"} for number in range(count)]
    unit = WorkUnit(make_transmission().id, "0")
    return Chunk(unit, make_transmission(**fields), first_index, everyone)


@pytest.mark.parametrize("first_index", [0, 300])
def test_messages_and_events_are_those_that_a_worker_generates(first_index: int) -> None:
    suppression.put_all(1, None, [entry("r1@example.test"), entry("r2@example.test")])
    chunk = chunk_of(4, first_index)
    attempted = {first_index + 2}
    expected = generate_chunk(chunk, CREATED, attempted=lambda: attempted)
    assert generate_chunk_apart(chunk, CREATED, attempted=lambda: attempted) == expected
    batch = expected.delivery_batch
    assert [message.index - first_index for message in batch.messages] == [0, 2, 3]
    assert batch.counts == (4, 0)  # a message that is held back was generated


def test_a_message_of_which_its_process_dies_fails_and_the_others_are_generated(
    children: type[InThisProcess],
) -> None:
    children.deadly = ("r1@example.test",)
    generated_chunk = generate_chunk_apart(chunk_of(3, counts_at_acceptance=False), CREATED)
    batch = generated_chunk.delivery_batch
    assert [message.index for message in batch.messages] == [0, 2]
    assert (batch.failed, batch.counts_at_acceptance) == (1, False)
    (event,) = generated_chunk.events
    assert event["type"] == "generation_failure"
    assert event["rcpt_to"] == "r1@example.test"
    assert event["reason"] == (
        "554 5.3.3 [internal] the message cannot be generated: it takes too much work"
    )
    assert event["counts_in_usage"]


def test_nothing_of_a_deadly_message_is_rendered_by_the_worker(
    children: type[InThisProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    children.deadly = ("r0@example.test",)
    monkeypatch.setattr("chalicelib.generation.message.drafter", lambda *_: 1 / 0)
    (event,) = generate_chunk_apart(chunk_of(1), CREATED).events
    assert event["type"] == "generation_failure"


@pytest.mark.parametrize(("receives", "calls"), [(1, 0), (2, 0), (3, 4), (5, 4)])
def test_bulk_mail_is_generated_apart_from_its_third_receipt_on(
    children: type[InThisProcess], receives: int, calls: int
) -> None:
    transmission = make_transmission()
    record = transmissions.NewRecord(transmission, transmission.pieces(), "submitted", 4, 2)
    transmissions.put(record, meter())
    queue_chunks(transmission, recipients(4), 2)
    response = generate_batch(sqs_event(queued_work(), receives))
    assert response == {"batchItemFailures": []}
    assert children.calls == calls
    batches = [delivery_batch.from_received(queues.read(body)) for body in queued("delivery")]
    assert sorted(one.index for each in batches for one in each.messages) == [0, 1, 2, 3]


@pytest.mark.parametrize(("receives", "calls"), [(2, 0), (3, 3)])
def test_small_sends_are_no_group_from_their_third_receipt_on(
    children: type[InThisProcess], receives: int, calls: int
) -> None:
    for number in range(3):
        transmission = make_transmission(id=str(191930000000000000 + number))
        submit(transmission, recipients(1), meter())
    response = send_small_batch(sqs_event(queued_work(), receives))
    assert response == {"batchItemFailures": []}
    assert children.calls == calls
