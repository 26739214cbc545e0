"""Hand each message of the ``generation`` and ``small-sends`` queues to the handler of its kind.

Four kinds of work share the queues: a chunk to generate, a stored transmission to start, a seed
message to send, a mail to reset a password. The head's ``kind`` says which it is. Both queues take
all kinds: the version before had only ``generation``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from chalicelib.core import queues
from chalicelib.core.json_types import Json
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.queues import MalformedMessage, Received
from chalicelib.generation.worker import generate, generate_together, is_suspect
from chalicelib.recording.at_once import LoneReports, ends_lull
from chalicelib.seed_sending.worker import send_seed
from chalicelib.seeding.seed_batches import SEED
from chalicelib.transmissions.start import start
from chalicelib.transmissions.submit import CHUNK, QUEUE, SMALL_SENDS, START
from chalicelib.users import password_reset

_log = logging.getLogger(__name__)

_HANDLERS: dict[str, Callable[[Received[Any]], None]] = {
    CHUNK: generate,
    START: lambda message: start(message.head["transmission"]),
    SEED: lambda message: send_seed(message.head["seed"]),
    password_reset.KIND: password_reset.send_mail,
}


def generate_batch(event: QueueEvent) -> BatchResponse:
    """Do the work of one SQS batch of bulk sends; return those messages that failed."""
    return queues.consume(QUEUE, event, _one_by_one)


def send_small_batch(event: QueueEvent) -> BatchResponse:
    """Do the work of one SQS batch of small sends; return those messages that failed."""
    return queues.consume(SMALL_SENDS, event, _handle_together)


def kind_of(head: Json) -> str:
    """Return the kind of a message.

    Version 0.1.0 queued messages without one; their other keys say it (goes with 0.3.0).
    """
    if "kind" in head:
        return head["kind"]
    if "seed" in head:
        return SEED
    return START if "start" in head else CHUNK


def _handle_together(messages: Sequence[Received[Any]]) -> Sequence[Received[Any]]:
    """Generate chunks as a group, and do other work one by one; return the messages that failed.

    A chunk whose workers may have died of it is no member of a group.
    """
    chunks: list[Received[Any]] = []
    others: list[Received[Any]] = []
    for message in messages:
        is_member = kind_of(message.head) == CHUNK and not is_suspect(message)
        (chunks if is_member else others).append(message)
    failed = list(_one_by_one(others))
    if not chunks:
        return failed
    is_first = ends_lull()
    if len(chunks) == 1:
        return [*failed, *(_alone if is_first else _one_by_one)(chunks)]
    try:
        return [*failed, *generate_together(chunks)]
    except Exception:
        _log.exception("a group of %d chunks failed; each is tried alone", len(chunks))
        return [*failed, *_one_by_one(chunks)]


def _handle(message: Received[Any]) -> None:
    kind = kind_of(message.head)
    if kind not in _HANDLERS:
        raise MalformedMessage(f"unknown kind of work: {kind!r}")
    _HANDLERS[kind](message)


_one_by_one = queues.one_by_one(_handle)
# Nothing else is being sent that could share writes with its events
_alone = queues.one_by_one(lambda message: generate(message, LoneReports()))
