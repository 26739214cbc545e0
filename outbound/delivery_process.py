"""Deliver the batches of the delivery queues in one process, until SIGTERM."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core import allocator, aws, invocations, shutdown
from chalicelib.core.queue_consumer import LONG_POLL, Consumer, Polling
from chalicelib.core.queue_event import BatchResponse, QueueEvent
from chalicelib.core.settings import settings
from chalicelib.delivery import delivery_queues
from chalicelib.delivery.lease_holder import renew_all
from chalicelib.delivery.route import close_transports
from chalicelib.delivery.worker import deliver_batch
from outbound import health

# If this process is killed, its messages are received again after this time
_VISIBILITY = 60
_HEARTBEAT = 20.0
# How often leases are looked at while one lasts; they are renewed when half of it is over
_LEASE_LOOKS = 6
_STOPPING = (signal.SIGTERM, signal.SIGINT)


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call in the form in which Chalice hands it to the middleware of queues."""

    event: QueueEvent
    context: Any

    def to_dict(self) -> QueueEvent:
        return self.event


def run(number: int, lifeline: int) -> None:
    """Consume the queues of this container; ``number`` is that of the process."""
    # Blocked before threads exist, so that only the wait below takes them. A handler could not set
    # an event: one signal soon after another would wait for the lock that the first one holds.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    allocator.keep_little()
    threading.Thread(target=_watch, args=(lifeline,), daemon=True).start()
    threading.Thread(target=_keep_leases, daemon=True).start()
    consumers = _consumers(number)
    for consumer in consumers:
        consumer.start()
    signal.sigwait(_STOPPING)
    shutdown.request()
    for consumer in consumers:
        consumer.finish()
    close_transports()
    # Threads that wait for messages would keep the process; the queue notices that they are gone
    os._exit(0)


def _consumers(number: int) -> list[Consumer]:
    current = settings()
    receiver = aws.make_client(
        "sqs",
        retries={"total_max_attempts": 1},
        read_timeout=LONG_POLL + 10,
        max_pool_connections=3 * current.delivery_units,
    )
    polling = Polling(
        batch_size=1,
        visibility=_VISIBILITY,
        heartbeat=_HEARTBEAT,
        on_answer=partial(health.beat, number),
    )
    return [
        Consumer(queue, partial(_handle_event, queue), receiver, polling)
        for queue in _queues(current.delivery_container)
        for _ in range(current.delivery_units)
    ]


def _queues(container: str) -> list[str]:
    """Return the queues of this container, without that of held back mail if it does not exist."""
    name_of = delivery_queues.name_of
    try:
        held_queue = delivery_queues.queue_of(container, is_held=True)
    except (BotoCoreError, ClientError):  # its consumers ask again until the cloud answers
        held_queue = name_of(container, is_held=True)
    return list(dict.fromkeys([name_of(container), name_of(container, small=True), held_queue]))


def _handle_event(queue: str, event: QueueEvent, context: Any) -> BatchResponse:
    """Deliver the batches of one event, as the function's middleware and handler do."""
    response: BatchResponse = invocations.of_queue(
        _Call(event, context), lambda call: deliver_batch(call.to_dict(), queue)
    )
    return response


def _keep_leases() -> None:
    """Keep the leases of the units in hand, for as long as this process lives."""
    while True:
        time.sleep(settings().delivery_lease / _LEASE_LOOKS)
        try:
            renew_all()
        except (BotoCoreError, ClientError) as error:
            _log.warning("leases are renewed later: %s", error)


def _watch(lifeline: int) -> None:
    """Stop when the supervisor has died."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)
