"""Generate, record and report in a process of production on one machine.

``python -m infrastructure.machine.worker`` consumes each queue but those of deliveries. With
``--schedules`` it also calls the scheduled functions. On SIGTERM it finishes what it has in hand.
"""

from __future__ import annotations

import os
import sys

import app
from chalicelib.core import allocator, aws
from chalicelib.delivery import delivery_queues
from infrastructure.local.worker.process import work


def main() -> None:
    """Consume the queues of ``app.py``."""
    allocator.keep_little()
    aws.make_clients()
    handlers = dict(app.QUEUE_HANDLERS)
    del handlers[delivery_queues.QUEUE]
    schedules = app.SCHEDULES if "--schedules" in sys.argv[1:] else None
    work(handlers, schedules, retries_soon=False)
    # Threads that wait for messages would keep the process; the queue notices that they are gone
    os._exit(0)


if __name__ == "__main__":
    main()
