"""Read the batches in queue messages, and queue them again."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace

from chalicelib.core import queues
from chalicelib.core.json_types import Json
from chalicelib.core.queues import Received
from chalicelib.webhook_dispatch.batch import QUEUE, BatchHead, read_head
from chalicelib.webhook_dispatch.batch_kind import BatchKind
from chalicelib.webhook_dispatch.kinds import kind_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Task:
    """A message of the ``webhook-batches`` queue, and the batch in it."""

    message: Received[Json]
    head: BatchHead

    @property
    def kind(self) -> BatchKind:
        """The kind of the batch."""
        return kind_of(self.head)

    def send_again(self, head: BatchHead, wait: float) -> None:
        """Queue the same batch under another head, to be seen after ``wait`` seconds."""
        later = replace(head, not_before=0.0)
        queues.send_again(QUEUE, replace(self.message, head=later.as_json()), wait)


def read_tasks(messages: Iterable[Received[Json]]) -> tuple[list[Task], list[Received[Json]]]:
    """Return the batches of queue messages, and the messages that hold none."""
    tasks: list[Task] = []
    malformed: list[Received[Json]] = []
    for message in messages:
        try:
            tasks.append(Task(message, read_head(message.head)))
        except TypeError:
            _log.exception("malformed message %s", message.id)
            malformed.append(message)
    return tasks, malformed
