"""Consume the ``event-exports`` queue: write events to their target.

If a target takes some events of a message and refuses others, the others are queued again. If it
takes none, SQS shows the message again, and moves it to the dead letters in the end.
"""

from __future__ import annotations

import logging

from chalicelib.core import queues
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.queues import Received
from chalicelib.core.settings import settings
from chalicelib.event_export.collect import QUEUE, ExportHead, works_of
from chalicelib.event_export.targets import targets
from chalicelib.event_export.writers import write

_log = logging.getLogger(__name__)


class NothingTaken(Exception):
    """A target took none of the events."""


def export_batch(event: QueueEvent) -> BatchResponse:
    """Write the events of one SQS batch to their targets; return those messages that failed."""
    return queues.consume(QUEUE, event, queues.one_by_one(_export))


def _export(message: Received[ExportHead]) -> None:
    arn = message.head["target"]
    target = targets().get(arn)
    if target is None:
        _log.warning("%s is no target any more: its events are dropped", arn)
        return
    lines = message.payload().split(b"\n")
    rest = write(target, lines)
    if len(rest) == len(lines):
        raise NothingTaken(arn)
    if rest:
        _log.warning("%s took %d of %d events", arn, len(lines) - len(rest), len(lines))
        delay = settings().redelivery_base
        for work in works_of(arn, rest):
            queues.send(QUEUE, [queues.Work(work.head, work.payload, delay)])
