from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import queues
from chalicelib.generation import chunk
from chalicelib.generation.chunk import Chunk
from chalicelib.transmissions.model import ACCEPTING, SUBMITTED, Transmission
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import New, NotSubmitted
from chalicelib.transmissions.submit import queue_chunks, submit
from tests.fake_cloud import aws_requests, queued
from tests.unit.transmissions.examples import CREATED, meter, recipients, transmission

pytestmark = pytest.mark.usefixtures("cloud")


def read() -> list[Chunk]:
    return [chunk.from_received(queues.read(each)) for each in queued("generation")]


def keep(sent: Transmission, state: str = SUBMITTED) -> None:
    transmissions.put(New(sent, sent.packed(), state, recipients=3, chunk_size=2), meter())


@pytest.mark.parametrize("email", ["é@x.test", "\ud800@x.test", "r@x.test\u2028"])
def test_recipients_come_off_the_queue_as_they_went_on(email: str) -> None:
    given: list[dict[str, Any]] = [{"email": email, "metadata": {"k": [1, None]}}]
    submit(transmission(), given, meter())
    (found,) = read()
    assert found.recipients == given
    assert found.transmission == transmission()
    assert (str(found.unit), found.first_index) == (f"{transmission().id}-0", 0)


def test_chunks_of_one_transmission_ask_for_it_once() -> None:
    keep(transmission())
    queue_chunks(transmission(), recipients(6), 2)
    bodies = [queues.read(each) for each in queued("generation")]
    with aws_requests() as made:
        found = [chunk.from_received(each) for each in bodies]
    assert [each.operation for each in made] == ["GetItem"]
    assert [(each.unit.name, each.first_index) for each in found] == [("0", 0), ("1", 2), ("2", 4)]


@pytest.mark.parametrize("kept", ["nothing", "accepting", "unresolved"])
def test_a_chunk_of_what_may_not_be_generated_yet_is_told(kept: str) -> None:
    if kept == "accepting":
        keep(transmission(), ACCEPTING)
    elif kept == "unresolved":
        keep(transmission(resolved=False, start_ms=CREATED))
    queue_chunks(transmission(), recipients(1), 2)
    with pytest.raises(NotSubmitted, match=transmission().id):
        read()
