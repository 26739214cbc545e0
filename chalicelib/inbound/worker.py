"""Consume the ``inbound-mail`` queue: record received mail, and pass it on.

What has its 250 is recorded, posted or forwarded at least once, wherever the process dies, because
each step may be repeated:

- a record has the id of its message and recipient, and storing it again stores the same one;
- a batch for a relay webhook has that id as well, and its target can tell that it came before;
- what is forwarded has an id that follows from it, under which it is sent once;
- an event has an id that follows from it, and is recorded once.

What its recipients have deleted by then is dropped.

A message that fails does so alone, and is a dead letter in the end. One that ends its process would
take the others of its batch along: when it comes for the third time it is read alone, in a process
that may die (``rehearsal``).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Final

from chalicelib.core import blobs, clock, compression, queues
from chalicelib.core.message_event import Event
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.queues import Received
from chalicelib.core.spool import Octets
from chalicelib.events import stream
from chalicelib.inbound import forwarding, rehearsal
from chalicelib.inbound.answers import Answers
from chalicelib.inbound.forwarding import NotForwarded
from chalicelib.inbound.mail_routing import Reading, received_message
from chalicelib.inbound_domains.model import Action
from chalicelib.mail_verdicts.judge import judge
from chalicelib.mail_verdicts.model import Origin
from chalicelib.received_mail import parsing, store
from chalicelib.received_mail.inbound_queue import QUEUE, InboundHead
from chalicelib.received_mail.model import ReceivedMessage
from chalicelib.relaying import relay_events
from chalicelib.webhook_dispatch import batch, relay_batches

_log = logging.getLogger(__name__)

#: A message that comes so often may be what its workers died of
SUSPECT_RECEIVES: Final = 3

#: Messages that are judged at the same time: each waits for DNS
_THREADS: Final = 10

_Message = Received[InboundHead]


@dataclass(frozen=True, slots=True)
class Mail:
    """A message of the queue, with its octets and what was read in them."""

    head: InboundHead
    octets: Octets
    reading: Reading


def receive_batch(event: QueueEvent) -> BatchResponse:
    """Handle the messages of one SQS batch; return those that failed."""
    return queues.consume(QUEUE, event, _receive)


def _receive(messages: Sequence[_Message]) -> Sequence[_Message]:
    suspects = [each for each in messages if each.receives >= SUSPECT_RECEIVES]
    others = [each for each in messages if each.receives < SUSPECT_RECEIVES]
    failed = [*_receive_together(others)] if others else []
    return [*failed, *queues.one_by_one(_receive_suspect)(suspects)]


def _receive_suspect(message: _Message) -> None:
    with _octets(message) as octets:
        if octets is not None:
            rehearsal.rehearse(message.head, octets)
    _receive_all([message])


def _receive_all(messages: Sequence[_Message]) -> None:
    with ExitStack() as stack:
        opened = [(each.head, stack.enter_context(_octets(each))) for each in messages]
        present = [(head, octets) for head, octets in opened if octets is not None]
        readings = _read_all(present)
        mails = [Mail(*each, reading) for each, reading in zip(present, readings, strict=True)]
        _pass_on([(mail, message) for mail in mails for message in _records(mail)])


_receive_together = queues.all_together(_receive_all)


@contextmanager
def _octets(message: _Message) -> Iterator[Octets | None]:
    """Return the raw message for the block, ``None`` if its recipients have deleted it."""
    if "blob" not in message.head:
        yield message.payload()
        return
    with ExitStack() as stack:
        octets: Octets | None = None
        try:
            octets = stack.enter_context(blobs.large(message.head["blob"])).octets()
        except blobs.BlobMissing:
            if not store.is_deleted(message.head["id"]):
                raise
            _log.info("dropped %s, which was deleted", message.head["id"])
        yield octets


def _read_all(mails: Sequence[tuple[InboundHead, Octets]]) -> list[Reading]:
    if len(mails) == 1:
        return [_read(*mails[0])]
    futures = [_threads().submit(_read, *each) for each in mails]
    wait(futures)  # where one fails, no other may lose its octets while it is read
    return [future.result() for future in futures]


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="inbound-mail")


os.register_at_fork(after_in_child=_threads.cache_clear)


def _read(head: InboundHead, octets: Octets) -> Reading:
    verdicts = judge(octets, Origin(head["peer_ip"], head["helo"], head["mail_from"]))
    content = b"" if "blob" in head else compression.compress(octets[:])
    return Reading(parsing.read(octets), verdicts.as_json(), content)


def _records(mail: Mail) -> Iterator[ReceivedMessage]:
    """Yield the message as each recipient got it."""
    answers = Answers(mail.reading.parsed)
    for recipient in mail.head["recipients"]:
        yield received_message(mail.head, recipient, mail.reading, answers.of(recipient))


def _pass_on(records: Sequence[tuple[Mail, ReceivedMessage]]) -> None:
    """Store messages, then do what their routes say; the events come last."""
    store.put_all([each for _, each in records if each.action != Action.DROP])
    events = [relay_events.injection(each) for _, each in records]
    for mail, each in records:
        if each.action == Action.FORWARD:
            events += _forward(mail, each)
    queues.send(
        batch.QUEUE,
        [
            relay_batches.work_of(each, mail.reading.parsed, mail.octets)
            for mail, each in records
            if each.action == Action.WEBHOOK
        ],
    )
    stream.emit(events)


def _forward(mail: Mail, message: ReceivedMessage) -> list[Event]:
    """Forward a message; return the event of a failure. It stays stored in any case."""
    try:
        forwarding.forward(message, mail.octets)
    except NotForwarded as failure:
        fields = relay_events.fields_of(message)
        at_ms = clock.now_ms()
        return [relay_events.attempt("relay_permfail", fields, at_ms, 0, str(failure))]
    return []
