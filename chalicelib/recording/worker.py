"""The consumer of the ``events`` queue."""

from __future__ import annotations

from typing import Any

from chalicelib.ab_tests import engagement as ab_tests
from chalicelib.core import queues
from chalicelib.core.queues import Received
from chalicelib.events import store, stream
from chalicelib.recording.suppress import suppress


def record_batch(event: dict[str, Any]) -> dict[str, Any]:
    """Record the events of one SQS batch; return those messages that failed."""
    return queues.consume_together(event, _record)


def _record(messages: list[Received]) -> None:
    events = [event for message in messages for event in stream.decode(message)]
    store.put_all([event for event in events if not event["type"].startswith("ab_test_")])
    ab_tests.count_events(events)
    suppress(events)
