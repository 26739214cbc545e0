"""The consumer of the ``generation`` queue: recipients become finished messages.

Generating a chunk again gives the same message ids, times and events, so a crash or a repeated
queue message does no harm: the events are stored over themselves, and delivery knows the unit.
"""

from __future__ import annotations

import logging
from typing import Any

from chalicelib.core import clock, queues
from chalicelib.core.queues import Received
from chalicelib.core.settings import settings
from chalicelib.delivery import parcel, units
from chalicelib.delivery.parcel import FinishedMessage, Parcel
from chalicelib.delivery.units import Begun
from chalicelib.delivery.worker import deliver_at_once
from chalicelib.events import stream
from chalicelib.events.model import Event, make
from chalicelib.generation import chunk, suppression
from chalicelib.generation.chunk import Chunk
from chalicelib.generation.message import Generator, NotGenerated
from chalicelib.generation.start import start
from chalicelib.transmissions.store import NotSubmitted
from chalicelib.transmissions.submit import QUEUE

_log = logging.getLogger(__name__)

_HOLD_SECONDS = 1.0


def generate_batch(event: dict[str, Any]) -> dict[str, Any]:
    """Generate the chunks of one SQS batch; return those messages that failed."""
    return queues.consume(QUEUE, event, generate)


def generate(message: Received) -> None:
    """Generate one chunk, and hand its messages to delivery and its events to recording.

    A message that asks for a transmission's start has its chunks queued instead.
    """
    if message.head.get("start"):
        start(message.head["transmission"])
        return
    try:
        found = chunk.from_received(message)
    except NotSubmitted:
        _hold_or_drop(message)
        return
    begun = units.begin(found.unit, clock.now_ms(), to_deliver=len(found.recipients) == 1)
    if begun is not None:
        _generate(found, begun)


def _hold_or_drop(message: Received) -> None:
    """Keep a chunk whose request is still being stored; drop it if that never came to an end."""
    age = clock.now() - message.head["created_ms"] / 1000
    if age < settings().accept_window:
        queues.send_again(QUEUE, message, _HOLD_SECONDS)
        return
    _log.warning("dropped a chunk of transmission %s", message.head["transmission"])


def _generate(found: Chunk, begun: Begun) -> None:
    generator = Generator(found.transmission, begun.at_ms)
    suppressed = suppression.of_chunk(found)
    messages: list[FinishedMessage] = []
    events: list[Event] = []
    for index, recipient in enumerate(found.recipients, start=found.first_index):
        try:
            message = generator.generate(index, recipient)
        except NotGenerated as reason:
            events.append(reason.event)
            continue
        base = generator.event | message.event
        events.append(make("injection", base, begun.at_ms))
        if recipient["email"] in suppressed:
            events.append(suppression.bounce(base, begun.at_ms))
        else:
            messages.append(message)
    failed = len(found.recipients) - len(messages)
    whole = Parcel(found.unit, 1, begun.at_ms, generator.event, messages, failed)
    if messages and begun.claim:
        deliver_at_once(whole, begun.claim, events)
        return
    stream.emit(events)
    if messages:
        queues.send(parcel.QUEUE, [parcel.to_work(whole)])
    else:
        units.finish(found.unit, generated=whole.generated)
