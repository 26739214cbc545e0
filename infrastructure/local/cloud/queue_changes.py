"""Note each change of a queue's messages for the log.

MiniStack changes messages at many places: it appends to the list of a queue, replaces that list by
a shorter one, and sets when a message becomes visible. Here queues, lists and messages are dicts
and lists that note these changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ministack.core import persistence
from ministack.services import sqs

from chalicelib.core.json_types import Json
from infrastructure.local.cloud.changes import Change
from infrastructure.local.cloud.journal import ChangeJournal
from infrastructure.local.notices import tell

QueueName = tuple[str, str, str]

# What receiving changes in a message
_RECEIPT = ("receipt_handle", "visible_at", "receive_count", "first_receive_at")
# MiniStack notes this in a message that it moves to a dead-letter queue
_IS_DEAD = "DeadLetterQueueSourceArn"


class Message(dict[str, Any]):
    """A message of a queue that notes when it is received or made visible."""

    __slots__ = ("_queue",)

    def __init__(self, message: Json, queue: Queue) -> None:
        super().__init__(message)
        self._queue = queue

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        # MiniStack sets this with each change of a message, among others that it sets after it
        if key == "visible_at":
            self._queue.journal.note(self._receipt)

    def _receipt(self) -> Change:
        receipt = {name: self[name] for name in _RECEIPT}
        return Change(self._queue.path("receipt", self), json.dumps(receipt).encode())


class Messages(list[Message]):
    """The messages of a queue, which notes those that are added and removed."""

    __slots__ = ("_queue",)

    def __init__(self, messages: Iterable[Message], queue: Queue) -> None:
        super().__init__(messages)
        self._queue = queue

    def append(self, message: Json) -> None:
        """Add a message."""
        if not self and _IS_DEAD in message.get("sys", {}):
            tell(
                "a message failed too often and is not handled: "
                "`postfinch admin --local list-dead-letters` shows where"
            )
        added = Message(message, self._queue)
        super().append(added)
        self._queue.journal.note(message_change(self._queue, added))

    def remove(self, message: Json) -> None:
        """Remove a message."""
        super().remove(message)  # type: ignore[arg-type]
        self._queue.note_removal(message)

    def clear(self) -> None:
        """Remove all messages."""
        super().clear()
        self._queue.journal.remove(("message", *self._queue.name))


class Queue(dict[str, Any]):
    """A queue that notes the changes of its messages under its account, region and URL."""

    __slots__ = ("journal", "name")

    def __init__(self, queue: Json, name: QueueName, journal: ChangeJournal) -> None:
        super().__init__(queue)
        self.name = name
        self.journal = journal
        messages = (Message(message, self) for message in queue["messages"])
        super().__setitem__("messages", Messages(messages, self))

    def __setitem__(self, key: str, value: Any) -> None:
        if key == "messages":
            for message in _missing(self["messages"], value):
                self.note_removal(message)
            value = Messages(value, self)
        super().__setitem__(key, value)

    def path(self, collection: str, message: Json) -> tuple[str, ...]:
        """Return the path of what is stored of a message."""
        return (collection, *self.name, message["id"])

    def note_removal(self, message: Json) -> None:
        """Note that a message was removed."""
        self.journal.remove(self.path("message", message))


def adopt(journal: ChangeJournal) -> None:
    """Note all messages of the queues that were created since the last call."""
    for name, queue in sqs._queues.all_items():
        if not isinstance(queue, Queue):
            adopted = Queue(queue, name, journal)
            sqs._queues._data[name] = adopted
            journal.remove(("message", *name))
            for message in adopted["messages"]:
                journal.note(message_change(adopted, message))


def message_change(queue: Queue, message: Json) -> Change:
    """Return the change that puts a message."""
    text = json.dumps(message, default=persistence._json_default)
    return Change(queue.path("message", message), text.encode())


def _missing(before: list[Message], after: list[Message]) -> Iterator[Message]:
    """Yield what ``before`` has and ``after`` has not, which is in the same order."""
    position = 0
    for removed in range(len(before) - len(after)):
        low, high = position, len(after)
        while low < high:
            middle = (low + high) // 2
            if before[middle + removed] is after[middle]:
                low = middle + 1
            else:
                high = middle
        position = low
        yield before[position + removed]
