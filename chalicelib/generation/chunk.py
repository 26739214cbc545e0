"""Generate a chunk: the finished messages of its recipients, and the events of all of them.

A chunk is some recipients of one transmission. One request for a hundred items reads the items that
its generation needs: suppressions, the sending domain, tracking and bounce domains. It also reads
those that are not cached of the account and the subaccount, and of what delivery needs soon after:
the IP pools, and whether campaigns are seeded. So blocking a domain and
suspending an account stop the chunks after ``KEY_CACHE_SECONDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from chalicelib.core import config_cache, defaults
from chalicelib.core.dynamo import Key
from chalicelib.core.message_event import Event, EventFields
from chalicelib.core.reading import Reads, config_reads, read_ahead
from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.events.model import make_event
from chalicelib.fleet import store as fleets
from chalicelib.generation import suppression
from chalicelib.generation.faults import NotGenerated
from chalicelib.generation.message import Generator
from chalicelib.metrics.model import COUNTS_IN_USAGE
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.seeding.store import configs as seeding
from chalicelib.sending_domains import store as domains
from chalicelib.suppression.store.items import table as suppression_table
from chalicelib.tracking_domains import store as tracking_domains
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.sender import keys_of_status

#: Returns the indexes of messages that an earlier worker attempted
Attempted = Callable[[], Collection[int]]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Recipients of one transmission; the first has index ``first_index`` among all of them.

    The messages of a transmission's only chunk (``is_small``) are delivered by the worker that
    generated them: the ``delivery`` queue may be full of bulk mail. ``absent`` counts recipients
    before the first one here, in a part of a chunk.
    """

    unit: WorkUnit
    transmission: Transmission
    first_index: int
    recipients: list[StoredRecipient]
    is_small: bool = False
    absent: int = 0

    @property
    def indexed_recipients(self) -> list[tuple[int, StoredRecipient]]:
        """Return the recipients with their indexes."""
        return list(enumerate(self.recipients, start=self.first_index + self.absent))

    def alone(self, index: int) -> Chunk:
        """Return the part of the chunk that has one recipient."""
        absent = index - self.first_index
        return replace(self, recipients=[self.recipients[absent]], absent=absent)


@dataclass(frozen=True, slots=True)
class GeneratedChunk:
    """The messages of a chunk that are to be delivered, and the events of all other recipients.

    Delivery emits the injections of its messages, with those of their first attempt.
    """

    delivery_batch: DeliveryBatch
    events: list[Event]


@dataclass(frozen=True, slots=True)
class Lookups:
    """The reads of one chunk, by table; an item that was not read ahead is read when needed."""

    config: Reads = field(default_factory=config_reads)
    suppression: Reads = field(default_factory=lambda: Reads(suppression_table, consistent=False))


class GenerateChunk(Protocol):
    """Generates a chunk, as :func:`generate_chunk` does."""

    def __call__(
        self, chunk: Chunk, injected_ms: int, *, attempted: Attempted = frozenset
    ) -> GeneratedChunk:
        """Return the messages and events."""
        ...


class ChunkGenerator:
    """Generates the messages of a chunk, with ``injected_ms`` as the time of their generation."""

    def __init__(self, chunk: Chunk, injected_ms: int, lookups: Lookups) -> None:
        self.chunk = chunk
        self._injected_ms = injected_ms
        self._lookups = lookups
        self._generator = Generator(
            chunk.transmission, injected_ms, chunk.first_index, lookups.config
        )

    @property
    def sending_domain(self) -> str | None:
        """Return the sending domain, if it is known before messages are rendered."""
        return self._generator.sending_domain

    def generate(self, *, attempted: Attempted = frozenset) -> GeneratedChunk:
        """Return the messages, and the events of recipients without one.

        A message that was ``attempted`` is not held back: its bounce may have suppressed the
        recipient since. That is looked up after the suppressions, and only if one is there.
        """
        chunk, generator, injected_ms = self.chunk, self._generator, self._injected_ms
        read = self._lookups.suppression
        holds = suppression.holds_of(chunk.transmission, chunk.recipients, read)
        usage = usage_mark(chunk)
        messages: list[FinishedMessage] = []
        events: list[Event] = []
        for index, recipient in chunk.indexed_recipients:
            try:
                message = generator.generate(index, recipient)
            except NotGenerated as fault:
                events.append({**fault.event, **usage})
                continue
            is_held = suppression.holds_back(holds.get(recipient["email"]), message.data)
            if is_held and index not in attempted():
                fields = generator.event | message.event
                events.append(make_event("injection", fields, injected_ms, **usage))
                events.append(suppression.bounce(fields, injected_ms))
            else:
                messages.append(message)
        return GeneratedChunk(
            batch_of(chunk, generator.event, messages, events, injected_ms), events
        )


def usage_mark(chunk: Chunk) -> EventFields:
    """Return the field of the events that count in the account's usage, if they are to count."""
    return {} if chunk.transmission.counts_at_acceptance else {COUNTS_IN_USAGE: True}


def batch_of(
    chunk: Chunk,
    event: EventFields,
    messages: Sequence[FinishedMessage],
    events: Sequence[Event],
    injected_ms: int,
) -> DeliveryBatch:
    """Return the delivery batch of a chunk's messages, whose events share the fields ``event``.

    ``events`` are those of the other recipients; a message that is held back has an injection.
    """
    suppressed = sum(each["type"] == "injection" for each in events)
    return DeliveryBatch(
        chunk.unit,
        1,
        injected_ms,
        event,
        messages,
        failed=len(chunk.recipients) - len(messages) - suppressed,
        suppressed=suppressed,
        counts_at_acceptance=chunk.transmission.counts_at_acceptance,
        is_small=chunk.is_small,
    )


def generate_chunk(
    chunk: Chunk, injected_ms: int, *, attempted: Attempted = frozenset
) -> GeneratedChunk:
    """Look up what a chunk needs, and generate it.

    The same chunk at the same time gives the same messages and events again.
    """
    lookups = Lookups()
    generator = ChunkGenerator(chunk, injected_ms, lookups)
    look_ahead([generator], lookups)
    return generator.generate(attempted=attempted)


def look_ahead(generators: Sequence[ChunkGenerator], lookups: Lookups) -> None:
    """Read the items that chunks need in any case, all in one request."""
    config: list[Key] = []
    suppressions: list[Key] = []
    needed_soon: list[Key] = []
    for generator in generators:
        transmission = generator.chunk.transmission
        if not transmission.refusal:
            config += _keys_of_sender(transmission, generator.sending_domain)
            needed_soon += config_cache.missing_keys(_cached_keys(transmission))
            suppressions += suppression.keys_of(transmission, generator.chunk.recipients)
    read_ahead({lookups.config: [*config, *needed_soon], lookups.suppression: suppressions})
    config_cache.learn(needed_soon, lookups.config(needed_soon))


def _keys_of_sender(transmission: Transmission, domain: str | None) -> list[Key]:
    owner = transmission.account_id, transmission.subaccount_id
    return [
        *(config_cache.missing_keys([domains.key_of(domain)]) if domain else []),
        defaults.key_of(domains.BOUNCE, *owner),
        *defaults.keys_of_sender(tracking_domains.KIND, *owner),
    ]


def _cached_keys(transmission: Transmission) -> list[Key]:
    account_id = transmission.account_id
    return [
        *keys_of_status(account_id, transmission.subaccount_id),
        fleets.key_of(account_id),
        seeding.config_key(account_id),
    ]
