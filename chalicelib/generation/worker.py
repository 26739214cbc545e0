"""Generate the chunks of the ``generation`` queue: recipients become finished messages.

Generating a chunk again gives the same message ids, times and events, so a crash or a repeated
queue message does no harm: the same events are stored again, and delivery knows the work unit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

from chalicelib.core import clock, packing, queues
from chalicelib.core.message_event import EventFields
from chalicelib.core.queues import Received
from chalicelib.core.settings import settings
from chalicelib.delivery import delivery_batch, delivery_queues
from chalicelib.delivery.delivery_batch import FinishedMessage
from chalicelib.delivery.reports import GroupReports, Reports
from chalicelib.delivery.route import first_container
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.journal import attempted_messages
from chalicelib.delivery.store.work_units import (
    SINGLE,
    BegunEarlier,
    Generation,
    LeaseStatus,
    WorkUnit,
)
from chalicelib.delivery.worker import deliver_at_once
from chalicelib.events import stream
from chalicelib.generation import suppression
from chalicelib.generation.apart import generate_chunk_apart
from chalicelib.generation.chunk import (
    Chunk,
    ChunkGenerator,
    GenerateChunk,
    GeneratedChunk,
    Lookups,
    generate_chunk,
    look_ahead,
)
from chalicelib.recipient_lists.stored_form import split
from chalicelib.seeding.sampling import sample_messages
from chalicelib.tracking.store import message_context
from chalicelib.transmissions.model import unpack
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import NotSubmitted
from chalicelib.transmissions.submit import QUEUE, ChunkHead

_log = logging.getLogger(__name__)

_HOLD_SECONDS = 1.0
_UNSUSPICIOUS_RECEIVES = 2
# More than a process has members of groups at a time
_MOST_THREADS = 1_000


def generate(message: Received[ChunkHead], reports: Reports | None = None) -> None:
    """Generate one chunk, and hand its messages to delivery and its events to recording.

    ``reports`` takes the events of messages that are delivered at once.
    """
    make = generate_chunk_apart if is_suspect(message) else generate_chunk
    if chunk := _read(message):
        _begin_and_hand_on(chunk, make(chunk, clock.now_ms()), reports or Reports(), make)


def is_suspect(message: Received[ChunkHead]) -> bool:
    """Tell whether two workers may have died of a message: a worker that only failed says so.

    Its mail is generated in a process that may die, message by message.
    """
    return message.receives > _UNSUSPICIOUS_RECEIVES


def generate_together(messages: Sequence[Received[ChunkHead]]) -> Sequence[Received[ChunkHead]]:
    """Generate several small chunks as a group; return the messages that failed.

    One request looks up what all of them need, and one emits the events of all. Between these, each
    chunk is delivered in a thread of its own, as if it were alone.
    """
    failures = _Failures()
    lookups, now_ms = Lookups(), clock.now_ms()
    generators: list[tuple[Received[ChunkHead], ChunkGenerator]] = []
    for message in messages:
        with failures.of(message):
            if chunk := _read(message):
                generators.append((message, ChunkGenerator(chunk, now_ms, lookups)))
    look_ahead([generator for _, generator in generators], lookups)
    works: list[tuple[Received[ChunkHead], Chunk, GeneratedChunk]] = []
    for message, generator in generators:
        with failures.of(message):
            works.append((message, generator.chunk, generator.generate()))
    if not works:
        return failures.messages
    reports = GroupReports(len(works))

    def hand_on(
        message: Received[ChunkHead], chunk: Chunk, generated_chunk: GeneratedChunk
    ) -> None:
        with failures.of(message), reports.membership() as own_reports:
            _begin_and_hand_on(chunk, generated_chunk, own_reports)

    futures = [_threads().submit(hand_on, *work) for work in works]
    wait(futures)
    for future in futures:
        future.result()
    return failures.messages


@cache
def _threads() -> ThreadPoolExecutor:
    """Return threads that stay: to start one takes as long as a request.

    The members of a group wait for each other, so there is a thread for each.
    """
    return ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="small-send")


class _Failures:
    """The messages that failed."""

    def __init__(self) -> None:
        self.messages: list[Received[ChunkHead]] = []

    @contextmanager
    def of(self, message: Received[ChunkHead]) -> Iterator[None]:
        """Note and log that ``message`` failed if the block raises."""
        try:
            yield
        except Exception:
            _log.exception("message %s failed", message.id)
            self.messages.append(message)


def _read(message: Received[ChunkHead]) -> Chunk | None:
    """Return the chunk of a message, unless its request is still being stored, or has died."""
    try:
        return read_chunk(message)
    except NotSubmitted:
        _hold_or_drop(message)
        return None


@dataclass(frozen=True, slots=True)
class _Begun:
    """A chunk whose work unit has begun, as it was generated for that unit."""

    chunk: Chunk
    generated_chunk: GeneratedChunk
    generation: Generation


def _begin_and_hand_on(
    chunk: Chunk,
    generated_chunk: GeneratedChunk,
    reports: Reports,
    make: GenerateChunk = generate_chunk,
) -> None:
    """Begin the unit of a chunk that was generated, then hand on its messages and events.

    ``make`` generates it again, where an earlier worker has begun to.
    """
    try:
        unit = _begin(chunk, generated_chunk, make)
    except BegunEarlier:
        chunk = replace(chunk, unit=chunk.unit.as_chunk)
        unit = _begin(chunk, make(chunk, clock.now_ms()), make)
    if unit:
        _hand_on(unit, reports)


def _begin(chunk: Chunk, generated_chunk: GeneratedChunk, make: GenerateChunk) -> _Begun | None:
    """Record that the unit of a chunk begins; ``None`` if it has been delivered."""
    generation = _record_generation(chunk, generated_chunk)
    if generation is None:
        return None
    lease = generation.lease
    may_be_sent = lease is not None and lease.status is LeaseStatus.TAKEN_OVER
    if may_be_sent or generation.injected_ms != generated_chunk.delivery_batch.injected_ms:
        # An earlier worker began this unit and died: its time is that of the messages
        generated_chunk = make(
            chunk,
            generation.injected_ms,
            attempted=cache(lambda: {0} if may_be_sent else attempted_messages(chunk.unit)),
        )
    return _Begun(chunk, generated_chunk, generation)


def read_chunk(message: Received[ChunkHead]) -> Chunk:
    """Return the chunk of a queue message; raises :class:`NotSubmitted`."""
    head = message.head
    _, (recipients, *inside) = packing.unpack(message.payload())
    transmission_id = head["transmission"]
    chunk_recipients = split(recipients)
    is_small = bool(inside)  # the transmission comes with its only chunk
    is_single = is_small and len(chunk_recipients) == 1
    return Chunk(
        WorkUnit(transmission_id, SINGLE if is_single else str(head["chunk"])),
        unpack(inside[0]) if inside else transmissions.get_submitted(transmission_id),
        head["first_index"],
        chunk_recipients,
        is_small,
    )


def _hold_or_drop(message: Received[ChunkHead]) -> None:
    """Delay a chunk whose request is still being stored; drop it if the request has died."""
    age = clock.now() - message.head["created_ms"] / 1000
    if age < settings().accept_window:
        queues.send_again(QUEUE, message, _HOLD_SECONDS)
        return
    _log.warning("dropped a chunk of transmission %s", message.head["transmission"])


def _record_generation(chunk: Chunk, generated_chunk: GeneratedChunk) -> Generation | None:
    """Begin the work unit, and store the context of its messages in the same request.

    Nothing was handed on before this, so no event can name a message without a context.
    """
    batch = generated_chunk.delivery_batch
    fields = [(message.index, _context_of(message)) for message in batch.messages]
    context = message_context.item_of(
        chunk.transmission.id, chunk.first_index, batch.event, fields, chunk.unit.name
    )
    return work_units.record_generation(
        chunk.unit,
        batch.injected_ms,
        to_deliver=chunk.is_small and delivery_queues.delivers_at_once(first_container(batch)),
        context=context,
    )


def _context_of(message: FinishedMessage) -> EventFields:
    """Return the fields of a message that its later events need; ``list_id`` is shown in none."""
    list_id = suppression.list_of(message.data)
    return message.event | {"list_id": list_id} if list_id else message.event


def _hand_on(unit: _Begun, reports: Reports) -> None:
    """Queue the events, then deliver the messages where the lease is here, or queue them too."""
    batch, generation = unit.generated_chunk.delivery_batch, unit.generation
    _sample_messages(unit.chunk, batch.messages)
    stream.emit(unit.generated_chunk.events)
    if batch.messages and generation.lease:
        deliver_at_once(batch, generation.lease, reports, generation.record)
    elif batch.messages:
        delivery_batch.queue(batch, first_container(batch))
    else:
        work_units.complete(unit.chunk.unit, counts=batch.counts)


def _sample_messages(chunk: Chunk, messages: Sequence[FinishedMessage]) -> None:
    """Keep a message from each sending domain as a sample, to seed its campaign with."""
    transmission = chunk.transmission
    by_domain = {message.event["sending_domain"]: message.index for message in messages}
    sample_messages(
        transmission.account_id,
        transmission.subaccount_id,
        transmission.campaign_id,
        transmission.id,
        [
            (domain, index, chunk.recipients[index - chunk.first_index])
            for domain, index in by_domain.items()
        ],
    )
