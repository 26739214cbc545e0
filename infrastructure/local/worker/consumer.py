"""Decide how the local worker consumes each queue: messages to a call, threads and pauses.

A failed message becomes visible again after 1, 2, 4 and 8 seconds where that is wanted. If a worker
crashes, its messages stay hidden for ``VISIBILITY`` seconds.
"""

from __future__ import annotations

from typing import Any

from chalicelib.core.json_types import Json
from chalicelib.core.queue_consumer import Consumer, Handler, Polling
from chalicelib.core.settings import settings

# Messages to a call. Chunks and units of delivery are handled one by one: if a worker dies,
# that counts as a try for each message that it has received, begun or not.
BATCH_SIZES = {"generation": 1, "delivery": 1, "events": 10, "ingest": 1}
# A slow mail host or webhook target holds up the thread that it answers, and no other.
# Threads of its own let small sends go ahead of bulk mail.
THREADS = {"generation": 4, "small-sends": 2, "delivery": 3, "webhook-batches": 8}
# Seconds that what comes right after a call waits for more, where there is no window: one event of
# many takes a part of the requests that it takes alone
BUSY_WINDOWS = {"events": 0.25}
VISIBILITY = 12
HEARTBEAT = 4.0


def consumers(
    queue: str, handler: Handler, receiver: Any, *, retries_soon: bool = True
) -> list[Consumer]:
    """Return the consumers of a queue, each with a thread of its own.

    Unless it ``retries_soon``, a failed message waits as it does on AWS.
    """
    polling = Polling(
        batch_size=BATCH_SIZES.get(queue, 10),
        visibility=VISIBILITY,
        heartbeat=HEARTBEAT,
        window=batching_window(queue),
        busy_window=BUSY_WINDOWS.get(queue, 0.0),
        retry_pause=retry_pause if retries_soon else None,
    )
    return [Consumer(queue, handler, receiver, polling) for _ in range(THREADS.get(queue, 1))]


def batching_window(queue: str) -> float:
    """Return the seconds that a queue's consumer waits for more messages, as ``app.py`` says."""
    windows = {"webhook-events": settings().webhook_window, "events": settings().events_window}
    return windows.get(queue, 0.0)


def retry_pause(message: Json) -> int:
    """Return the seconds after which a failed message is shown again: 1, doubled each time."""
    received = int(message["Attributes"]["ApproximateReceiveCount"])
    return int(min(VISIBILITY, 2 ** (received - 1)))
