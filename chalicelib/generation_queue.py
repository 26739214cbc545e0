"""Hand each message of the ``generation`` queue to the handler of its kind.

Three kinds of work share the queue: a chunk to generate, a stored transmission to start, a seed
message to send. The head's ``kind`` says which it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chalicelib.core import queues
from chalicelib.core.queues import MalformedMessage, Received
from chalicelib.generation.worker import generate
from chalicelib.seed_sending.worker import send_seed
from chalicelib.seeding.seed_batches import SEED
from chalicelib.transmissions.start import start
from chalicelib.transmissions.submit import CHUNK, QUEUE, START

Json = dict[str, Any]

_HANDLERS: dict[str, Callable[[Received], None]] = {
    CHUNK: generate,
    START: lambda message: start(message.head["transmission"]),
    SEED: lambda message: send_seed(message.head["seed"]),
}


def generate_batch(event: Json) -> Json:
    """Do the work of one SQS batch; return those messages that failed."""
    return queues.consume(QUEUE, event, queues.one_by_one(_handle))


def kind_of(head: Json) -> str:
    """Return the kind of a message.

    The first version queued messages without one; their other keys tell the kind.
    """
    if "kind" in head:
        return head["kind"]
    if "seed" in head:
        return SEED
    return START if "start" in head else CHUNK


def _handle(message: Received) -> None:
    kind = kind_of(message.head)
    if kind not in _HANDLERS:
        raise MalformedMessage(f"unknown kind of work: {kind!r}")
    _HANDLERS[kind](message)
