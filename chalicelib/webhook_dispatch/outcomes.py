"""Record the outcomes of posts, and queue the events that tell of them.

The events come first and the records after them, so that a process that dies between the two posts
again and makes the same events. The outcomes of received messages, which are many and small, are
recorded together; until then (:data:`HOLD`) the process must live, or their posts are repeated.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.core.message_event import Event
from chalicelib.core.queues import Received
from chalicelib.events import stream
from chalicelib.webhook_dispatch.task import Task
from chalicelib.webhooks.model import WebhookBatch
from chalicelib.webhooks.store import batches

_log = logging.getLogger(__name__)

#: Seconds that an outcome waits for others at most
HOLD: Final = 0.25


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt came to.

    ``body`` is stored with the record unless ``None``. ``is_new`` says that there was no record
    when the call began.
    """

    task: Task
    batch: WebhookBatch
    body: bytes | None
    events: Sequence[Event]
    is_new: bool

    @property
    def is_settled(self) -> bool:
        """Tell whether nothing but a duplicate could write another record of the batch."""
        return self.is_new and self.batch.delivered and not self.task.head.post_number


class OutcomeRecorder:
    """Records the outcomes of one call of the consumer."""

    def __init__(self) -> None:
        self._outcomes: list[Outcome] = []
        self._lock = threading.Lock()

    def add(self, outcome: Outcome) -> None:
        """Record an outcome now, or with others where it makes events."""
        if not outcome.task.kind.has_events:
            _record([outcome])
            return
        with self._lock:
            self._outcomes.append(outcome)

    def flush(self) -> list[Received[Json]]:
        """Record what has come; return the messages for which that failed."""
        with self._lock:
            outcomes, self._outcomes = self._outcomes, []
        try:
            _record(outcomes)
        except Exception:
            _log.exception("the outcomes of %d posts were not recorded", len(outcomes))
            return [outcome.task.message for outcome in outcomes]
        return []


def _record(outcomes: Sequence[Outcome]) -> None:
    if events := [event for outcome in outcomes for event in outcome.events]:
        stream.emit(events)
    settled = [outcome for outcome in outcomes if outcome.is_settled and outcome.body is None]
    batches.record_new([(each.batch, each.task.kind.retention()) for each in settled])
    for outcome in outcomes:
        if outcome not in settled:
            retention = outcome.task.kind.retention()
            batches.record(outcome.batch, outcome.body, retention=retention)
