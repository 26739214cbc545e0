"""The consumer of the ``events`` queue."""

from __future__ import annotations

from typing import Any

from chalicelib.core import queues
from chalicelib.core.queues import Received
from chalicelib.events import store, stream


def record_batch(event: dict[str, Any]) -> dict[str, Any]:
    """Record the events of one SQS batch; return those messages that failed."""
    return queues.consume_together(event, _record)


def _record(messages: list[Received]) -> None:
    store.put_all([event for message in messages for event in stream.decode(message)])
