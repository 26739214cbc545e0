"""Run the consumers and schedules of one worker process until a signal stops it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from typing import Any

from chalicelib.core import aws, shutdown
from chalicelib.core.json_types import Json
from chalicelib.core.queue_consumer import LONG_POLL, Consumer, Handler
from infrastructure.local.worker.consumer import THREADS, consumers
from infrastructure.local.worker.schedule import Schedule

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def work(
    handlers: Mapping[str, Handler],
    schedules: Mapping[str, Callable[[Json, Any], Any]] | None = None,
    *,
    retries_soon: bool = True,
) -> None:
    """Consume queues and call schedules until SIGTERM or SIGINT; then finish and return.

    Unless it ``retries_soon``, a failed message waits as it does on AWS.
    """
    # Blocked before threads exist, so that only the wait below takes the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    receiver = aws.make_client(
        "sqs",
        retries={"total_max_attempts": 1},
        read_timeout=LONG_POLL + 10,
        max_pool_connections=sum(THREADS.get(queue, 1) for queue in handlers),
    )
    threads: list[Consumer | Schedule] = [
        *(
            consumer
            for queue, handler in handlers.items()
            for consumer in consumers(queue, handler, receiver, retries_soon=retries_soon)
        ),
        *(Schedule(name, function) for name, function in (schedules or {}).items()),
    ]
    for thread in threads:
        thread.start()
    signal.sigwait(_SIGNALS)
    shutdown.request()
    for thread in threads:
        thread.finish()
