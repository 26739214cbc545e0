"""Work off the queues of the message path in this process, as the functions of a stage would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chalicelib.delivery.worker import deliver_batch
from chalicelib.generation_queue import generate_batch, send_small_batch
from chalicelib.recording.worker import record_batch
from chalicelib.transmissions.scheduling import start_due
from tests.fake_cloud import queued, sqs_event

_HANDLERS: dict[str, Callable[[Any], Any]] = {
    "small-sends": send_small_batch,
    "generation": generate_batch,
    "delivery": deliver_batch,
    "events": record_batch,
}


def work_off() -> None:
    """Start what is due, and do all the work that is queued and that follows from it."""
    start_due()
    while any(_has_worked(queue) for queue in _HANDLERS):
        pass


def _has_worked(queue: str) -> bool:
    messages = queued(queue)
    if messages:
        assert _HANDLERS[queue](sqs_event(messages)) == {"batchItemFailures": []}, queue
    return bool(messages)
