from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import queues
from chalicelib.generation.chunk import Chunk
from chalicelib.generation.worker import read_chunk
from chalicelib.transmissions.model import ACCEPTING, SUBMITTED, Transmission
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import NewRecord, NotSubmitted
from chalicelib.transmissions.submit import queue_chunks, submit
from tests.fake_cloud import aws_requests, queued_work
from tests.unit.transmissions.examples import (
    CREATED,
    make_transmission,
    meter,
    recipients,
    request_recipients,
)

pytestmark = pytest.mark.usefixtures("cloud")


def read() -> list[Chunk]:
    return [read_chunk(queues.read(each)) for each in queued_work()]


def keep(transmission: Transmission, state: str = SUBMITTED) -> None:
    transmissions.put(
        NewRecord(transmission, transmission.pieces(), state, recipients=3, chunk_size=2), meter()
    )


@pytest.mark.parametrize("email", ["é@x.test", "r@x.test\u2028"])
def test_recipients_are_read_from_the_queue_unchanged(email: str) -> None:
    data: list[dict[str, Any]] = [{"email": email, "metadata": {"k": [1, None]}}]
    submit(make_transmission(), request_recipients(data), meter())
    (result,) = read()
    assert result.recipients == data
    assert result.transmission == make_transmission()
    assert (str(result.unit), result.first_index) == (f"{make_transmission().id}-single", 0)


@pytest.mark.cost
def test_chunks_of_one_transmission_read_it_once() -> None:
    keep(make_transmission())
    queue_chunks(make_transmission(), recipients(6), 2)
    bodies = [queues.read(each) for each in queued_work()]
    with aws_requests() as requests:
        chunks = [read_chunk(each) for each in bodies]
    assert [each.operation for each in requests] == ["GetItem"]
    assert [(each.unit.name, each.first_index) for each in chunks] == [("0", 0), ("1", 2), ("2", 4)]


@pytest.mark.parametrize("state", ["nothing", "accepting", "unresolved"])
def test_a_chunk_of_an_unsubmitted_transmission_raises_not_submitted(state: str) -> None:
    if state == "accepting":
        keep(make_transmission(), ACCEPTING)
    elif state == "unresolved":
        keep(make_transmission(resolved=False, start_ms=CREATED))
    queue_chunks(make_transmission(), recipients(2), 1)
    with pytest.raises(NotSubmitted, match=make_transmission().id):
        read()
