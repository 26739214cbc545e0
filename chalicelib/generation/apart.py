"""Generate a chunk whose workers died: message by message, in a process that may die.

It may be that two workers died of other work that they did at the same time. Then this gives the
same messages as :func:`generate_chunk`. A message that its process dies of has an event that says
so, and the other messages of the chunk are sent.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from typing import Final

from chalicelib.core import packing
from chalicelib.core.confined import Confined, Died
from chalicelib.core.message_event import Event, EventFields
from chalicelib.core.typed_dicts import TypedDict
from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.generation.chunk import (
    Attempted,
    Chunk,
    GeneratedChunk,
    batch_of,
    generate_chunk,
    usage_mark,
)
from chalicelib.generation.message import Generator
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.transmissions.model import unpack

_MEMORY: Final = 2 * 1024 * 1024 * 1024
_SECONDS: Final = 30.0


class _Part(TypedDict):
    """What the process gets, besides the transmission: the part of a chunk with one recipient."""

    unit: tuple[str, str]
    first_index: int
    recipient: StoredRecipient
    is_small: bool
    absent: int
    injected_ms: int
    attempted: list[int]


class _Result(TypedDict):
    """What the process returns, besides the data of the messages: their envelopes, and events."""

    envelopes: list[tuple[int, str, str, EventFields]]
    events: list[Event]


def generate_chunk_apart(
    chunk: Chunk, injected_ms: int, *, attempted: Attempted = frozenset
) -> GeneratedChunk:
    """Generate a chunk; the arguments and the result are those of :func:`generate_chunk`."""
    generator = Generator(chunk.transmission, injected_ms, chunk.first_index)
    messages: list[FinishedMessage] = []
    events: list[Event] = []
    with closing(Confined(generate_one, memory=_MEMORY, seconds=_SECONDS)) as generate:
        for index, recipient in chunk.indexed_recipients:
            try:
                result = generate(_packed(chunk.alone(index), injected_ms, attempted()))
            except Died as death:
                event = generator.death(index, recipient, str(death))
                events.append({**event, **usage_mark(chunk)})
            else:
                message, message_events = _unpacked_result(result)
                messages += message
                events += message_events
    return GeneratedChunk(batch_of(chunk, generator.event, messages, events, injected_ms), events)


def generate_one(argument: bytes) -> bytes:
    """Generate the part of a chunk with one recipient, in a process of its own."""
    part: _Part
    part, (transmission,) = packing.unpack(argument)
    chunk = Chunk(
        WorkUnit(*part["unit"]),
        unpack(transmission),
        part["first_index"],
        [part["recipient"]],
        part["is_small"],
        part["absent"],
    )
    attempted = frozenset(part["attempted"])
    generated_chunk = generate_chunk(chunk, part["injected_ms"], attempted=lambda: attempted)
    return _packed_result(generated_chunk.delivery_batch, generated_chunk.events)


def _packed(chunk: Chunk, injected_ms: int, attempted: Collection[int]) -> bytes:
    (recipient,) = chunk.recipients
    part: _Part = {
        "unit": (chunk.unit.transmission_id, chunk.unit.name),
        "first_index": chunk.first_index,
        "recipient": recipient,
        "is_small": chunk.is_small,
        "absent": chunk.absent,
        "injected_ms": injected_ms,
        "attempted": list(attempted),
    }
    return packing.pack(part, [chunk.transmission.pack()])


def _packed_result(batch: DeliveryBatch, events: Sequence[Event]) -> bytes:
    envelopes = [(each.index, each.sender, each.recipient, each.event) for each in batch.messages]
    content: _Result = {"envelopes": envelopes, "events": list(events)}
    return packing.pack(content, [message.data for message in batch.messages])


def _unpacked_result(result: bytes) -> tuple[list[FinishedMessage], list[Event]]:
    content: _Result
    content, bodies = packing.unpack(result)
    messages = [
        FinishedMessage(index, sender, recipient, event, data)
        for (index, sender, recipient, event), data in zip(
            content["envelopes"], bodies, strict=True
        )
    ]
    return messages, content["events"]
