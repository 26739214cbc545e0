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
from chalicelib.events import stream
from chalicelib.events.model import Event, make
from chalicelib.generation import chunk
from chalicelib.generation.chunk import Chunk
from chalicelib.generation.message import Generator, NotGenerated
from chalicelib.transmissions.store import NotSubmitted
from chalicelib.transmissions.submit import QUEUE

_log = logging.getLogger(__name__)

_HOLD_SECONDS = 1.0


def generate_batch(event: dict[str, Any]) -> dict[str, Any]:
    """Generate the chunks of one SQS batch; return those messages that failed."""
    return queues.consume(QUEUE, event, generate)


def generate(message: Received) -> None:
    """Generate one chunk, and hand its messages to delivery and its events to recording."""
    try:
        found = chunk.from_received(message)
    except NotSubmitted:
        _hold_or_drop(message)
        return
    injected_ms = units.begin(found.unit, clock.now_ms())
    if injected_ms is not None:
        _generate(found, injected_ms)
    message.discard()


def _hold_or_drop(message: Received) -> None:
    """Keep a chunk whose request is still being stored; drop it if that never came to an end."""
    age = clock.now() - message.head["created_ms"] / 1000
    if age < settings().accept_window:
        queues.send_again(QUEUE, message, _HOLD_SECONDS)
        return
    _log.warning("dropped a chunk of transmission %s", message.head["transmission"])
    message.discard()


def _generate(found: Chunk, injected_ms: int) -> None:
    generator = Generator(found.transmission, injected_ms)
    messages: list[FinishedMessage] = []
    events: list[Event] = []
    for index, recipient in enumerate(found.recipients, start=found.first_index):
        try:
            message = generator.generate(index, recipient)
        except NotGenerated as reason:
            events.append(reason.event)
            continue
        messages.append(message)
        events.append(make("injection", generator.event | message.event, injected_ms))
    stream.emit(events)
    if messages:
        whole = Parcel(found.unit, 1, injected_ms, generator.event, messages)
        queues.send(parcel.QUEUE, [parcel.to_work(whole)])
    else:
        units.finish(found.unit)
