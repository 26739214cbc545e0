"""One batch in hand: its queue message, and how the message is sent on."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from chalicelib.core import clock, queues
from chalicelib.core.queues import Received
from chalicelib.webhook_dispatch.batch import QUEUE, Head, read_head

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Task:
    """A message of the ``webhook-batches`` queue."""

    record_id: str
    message: Received
    head: Head

    @property
    def is_early(self) -> bool:
        """Tell whether the batch's time has not come: SQS delays for a quarter of an hour only."""
        return self.head.not_before > clock.now()

    def wait(self) -> None:
        """Send the message on, until its time has come."""
        queues.send_again(QUEUE, self.message, self.head.not_before - clock.now())

    def send_again(self, head: Head, wait: float) -> None:
        """Queue the same batch under another head, to be seen after ``wait`` seconds."""
        later = replace(head, not_before=clock.now() + wait)
        queues.send_again(QUEUE, replace(self.message, head=later.as_json()), wait)


def read_tasks(records: Iterable[dict[str, Any]]) -> tuple[list[Task], list[str]]:
    """Return the batches of SQS records, and the ids of those records that hold none."""
    tasks: list[Task] = []
    malformed: list[str] = []
    for record in records:
        try:
            message = queues.read(record["body"])
            tasks.append(Task(record["messageId"], message, read_head(message.head)))
        except (queues.MalformedMessage, TypeError):
            _log.exception("malformed message %s", record["messageId"])
            malformed.append(record["messageId"])
    return tasks, malformed
