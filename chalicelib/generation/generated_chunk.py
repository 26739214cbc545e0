"""What generating a chunk makes: finished messages, and the events of all its recipients.

The same chunk at the same time gives the same again.
"""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.events.model import Event, make
from chalicelib.generation import suppression
from chalicelib.generation.chunk import Chunk
from chalicelib.generation.faults import NotGenerated
from chalicelib.generation.lookups import Lookups, look_ahead
from chalicelib.generation.message import Generator


@dataclass(frozen=True, slots=True)
class GeneratedChunk:
    """The outcome of one chunk; ``delivery_batch`` holds the messages that are to be delivered."""

    delivery_batch: DeliveryBatch
    events: list[Event]


def generate_chunk(found: Chunk, at_ms: int) -> GeneratedChunk:
    """Generate the messages of a chunk, with ``at_ms`` as the time at which it happens."""
    lookups = Lookups()
    generator = Generator(found.transmission, at_ms, found.first_index, lookups.config)
    look_ahead(found, lookups, generator.sending_domain)
    suppressed = suppression.of_chunk(found, lookups.suppression)
    messages: list[FinishedMessage] = []
    events: list[Event] = []
    for index, recipient in enumerate(found.recipients, start=found.first_index):
        try:
            message = generator.generate(index, recipient)
        except NotGenerated as reason:
            events.append(reason.event)
            continue
        base = generator.event | message.event
        events.append(make("injection", base, at_ms))
        if suppression.holds_back(suppressed.get(recipient["email"]), message.data):
            events.append(suppression.bounce(base, at_ms))
        else:
            messages.append(message)
    without = len(found.recipients) - len(messages)
    return GeneratedChunk(
        DeliveryBatch(found.unit, 1, at_ms, generator.event, messages, without), events
    )
