"""The consumer of the ``events`` queue."""

from __future__ import annotations

from typing import Any

from chalicelib.ab_tests import engagement as ab_tests
from chalicelib.core import queues
from chalicelib.core.queues import Received
from chalicelib.events import store, stream
from chalicelib.events.model import Event
from chalicelib.recording.suppress import suppress
from chalicelib.suppression import store as suppression
from chalicelib.tracking import engagement


def record_batch(event: dict[str, Any]) -> dict[str, Any]:
    """Record the events of one SQS batch; return those messages that failed."""
    return queues.consume_together(event, _record)


def _record(messages: list[Received]) -> None:
    told = [event for message in messages for event in stream.decode(message)]
    events = [event for event in engagement.complete(told) if not _is_unwanted(event)]
    store.put_all([event for event in events if not event["type"].startswith("ab_test_")])
    ab_tests.count_events(events)
    suppress(events)


def _is_unwanted(event: Event) -> bool:
    """Tell whether it is an open of somebody whose opens are not to be recorded (spec 2.9)."""
    if event["type"] not in engagement.OPENS:
        return False
    subaccount = event.get("subaccount_id")
    owner = int(event["customer_id"]), int(subaccount) if subaccount else None
    return suppression.suppresses_opens(*owner, event["rcpt_to"])
