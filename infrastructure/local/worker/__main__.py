"""Consume the queues of ``app.py`` and call its scheduled functions, as Lambda does on AWS.

``python -m infrastructure.local.worker --name worker-1`` polls each queue of ``app.QUEUE_HANDLERS``
in threads of its own. With ``--schedules`` it also calls each function of ``app.SCHEDULES``. On
SIGTERM or SIGINT it finishes the batches in hand and ends.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
from pathlib import Path

from chalicelib.core import aws
from chalicelib.core.settings import settings_at_start
from chalicelib.delivery import delivery_queues
from chalicelib.recording import observers
from infrastructure.local.live_events import EventSender
from infrastructure.local.worker.process import work


def main(arguments: list[str] | None = None) -> None:
    """Consume the queues of ``app.py``."""
    parser = argparse.ArgumentParser(description="Consume the queues, as Lambda does on AWS.")
    parser.add_argument("--name", default="worker", help="what its log lines are headed with")
    parser.add_argument("--schedules", action="store_true", help="call the scheduled functions too")
    options = parser.parse_args(arguments)
    current = settings_at_start()
    logging.basicConfig(
        level=current.log_level,
        format=f"%(asctime)s {options.name} %(threadName)s %(levelname)s %(message)s",
    )
    logging.getLogger("botocore").setLevel(logging.WARNING)
    app = importlib.import_module("app")
    aws.make_clients()
    observers.add(EventSender(Path(os.environ["DATA_DIR"])))
    handlers = dict(app.QUEUE_HANDLERS)
    if current.delivery == "container":
        del handlers[delivery_queues.QUEUE]
    work(handlers, app.SCHEDULES if options.schedules else None)
    # Threads that wait for messages would keep the process; the queue notices that they are gone.
    os._exit(0)


if __name__ == "__main__":
    main()
