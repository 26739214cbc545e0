"""The consumer of the ``generation`` queue: recipients become finished messages.

Generating a chunk again gives the same message ids, times and events, so a crash or a repeated
queue message does no harm: the events are stored over themselves, and delivery knows the unit.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from chalicelib.core import clock, queues
from chalicelib.core.queues import Received
from chalicelib.core.settings import settings
from chalicelib.delivery import delivery_batch
from chalicelib.delivery.delivery_batch import FinishedMessage
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.work_units import Generation
from chalicelib.delivery.worker import deliver_at_once
from chalicelib.events import stream
from chalicelib.generation import chunk
from chalicelib.generation.chunk import Chunk
from chalicelib.generation.generated_chunk import GeneratedChunk, generate_chunk
from chalicelib.seeding.sampling import sample_messages
from chalicelib.tracking.store import message_context
from chalicelib.transmissions.store.transmissions import NotSubmitted
from chalicelib.transmissions.submit import QUEUE

_log = logging.getLogger(__name__)

_HOLD_SECONDS = 1.0


def generate(message: Received) -> None:
    """Generate one chunk, and hand its messages to delivery and its events to recording."""
    try:
        found = chunk.from_received(message)
    except NotSubmitted:
        _hold_or_drop(message)
        return
    made = generate_chunk(found, clock.now_ms())
    begun = _begin(found, made)
    if begun is None:
        return  # it has been delivered
    if begun.injected_ms != made.delivery_batch.injected_ms:
        # It was made before, by who did not come to the end: that time counts
        made = generate_chunk(found, begun.injected_ms)
    _hand_on(found, made, begun)


def _hold_or_drop(message: Received) -> None:
    """Keep a chunk whose request is still being stored; drop it if that never came to an end."""
    age = clock.now() - message.head["created_ms"] / 1000
    if age < settings().accept_window:
        queues.send_again(QUEUE, message, _HOLD_SECONDS)
        return
    _log.warning("dropped a chunk of transmission %s", message.head["transmission"])


def _begin(found: Chunk, made: GeneratedChunk) -> Generation | None:
    """Note that the unit is made, and in the same request what events must know of its messages.

    Nothing was handed on before this, so nobody hears of a message that nothing is known of.
    """
    whole = made.delivery_batch
    known = [(message.index, message.event) for message in whole.messages]
    along = message_context.writes(found.transmission.id, found.first_index, whole.event, known)
    single = len(found.recipients) == 1
    return work_units.record_generation(
        found.unit, whole.injected_ms, to_deliver=single, along=along
    )


def _hand_on(found: Chunk, made: GeneratedChunk, begun: Generation) -> None:
    """Hand the messages to delivery and the events to recording."""
    whole, events = made.delivery_batch, made.events
    _note_sample(found, whole.messages)
    if whole.messages and begun.lease:
        deliver_at_once(whole, begun.lease, events)
        return
    stream.emit(events)
    if whole.messages:
        queues.send(delivery_batch.QUEUE, [delivery_batch.to_work(whole)])
    else:
        work_units.complete(found.unit, counts=whole.counts)


def _note_sample(found: Chunk, messages: Sequence[FinishedMessage]) -> None:
    """Note a message from each sending domain, for the seeding of its campaign."""
    sent = found.transmission
    by_domain = {message.event["sending_domain"]: message.index for message in messages}
    made = [
        (domain, index, found.recipients[index - found.first_index])
        for domain, index in by_domain.items()
    ]
    sample_messages(sent.account_id, sent.subaccount_id, sent.campaign_id, sent.id, made)
