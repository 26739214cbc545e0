"""Make batches of events as other systems send them."""

from __future__ import annotations

import gzip
import json
import random
from typing import Any

from chalicelib.core import queues
from chalicelib.core.message_event import Event
from chalicelib.core.queues import Received
from chalicelib.core.scope import Scope
from chalicelib.events import stream
from chalicelib.ingest import batches
from chalicelib.ingest.model import IngestBatch
from chalicelib.ingest.worker import ingest_batch
from tests.fake_cloud import queued, sqs_event
from tests.unit.events.examples import NINE

#: When batches are accepted
NOW = NINE + 600_000
PRIMARY = Scope(1, 0)
BATCH = IngestBatch("5d7a4b1e-2f0c-4d57-9a35-0d9f3f1c6b60", 1, None, NOW)


def outside_event(number: int = 0, kind: str = "delivery", **fields: Any) -> dict[str, Any]:
    """Return an event as another system sends it."""
    event = {
        "type": kind,
        "timestamp": str(NINE // 1000 + number),
        "event_id": f"theirs-{number}",
        "rcpt_to": f"Ann{number}@inbox.test",
        "message_id": f"message-{number}",
    }
    return event | ({"bounce_class": "10"} if kind in ("bounce", "out_of_band") else {}) | fields


def large_events() -> list[dict[str, Any]]:
    """Return events that do not fit a queue message even when they are gzipped."""
    noise = random.Random(1)
    return [outside_event(n, subject=noise.randbytes(500).hex()) for n in range(500)]


def batch_body(*events: Any) -> bytes:
    """Return the body of a batch; a string is a line of its own."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in events]
    return gzip.compress("\n".join(lines).encode())


def accept(*events: Any, scope: Scope = PRIMARY) -> str:
    """Accept a batch; return the queue message."""
    batches.accept(scope, batch_body(*events))
    (body,) = queued("ingest")
    return body


def process(body: str) -> list[Event]:
    """Process the batch of a queue message; return the events that it emits."""
    assert ingest_batch(sqs_event([body])) == {"batchItemFailures": []}
    messages: list[Received] = [queues.read(each) for each in queued("events")]
    return [event for message in messages for event in stream.decode(message)]
