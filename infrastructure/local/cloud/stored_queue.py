"""Keep the messages of a queue in the store, and give MiniStack those that it asks for.

FIFO queues are MiniStack's: their messages are part of its declaration of the queue.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

from chalicelib.core.json_types import Json
from infrastructure.local.cloud import json_text
from infrastructure.local.cloud.store import Store
from infrastructure.local.notices import tell

DEFAULT_RETENTION = 345_600
#: MiniStack notes this in a message that it moves to a dead-letter queue
DEAD_LETTER_SOURCE = "DeadLetterQueueSourceArn"

_COLUMNS = (
    "number, id, sent_at, visible_at, receive_count, first_receive_at, receipt, body, md5, rest"
)
# What a receipt changes of a message
_COLUMNS_OF_RECEIPTS = {
    "receipt_handle": "receipt",
    "visible_at": "visible_at",
    "receive_count": "receive_count",
    "first_receive_at": "first_receive_at",
}
#: Account, region and URL of a queue
Name = tuple[str, str, str]

# Between the number of a message and the rest of its receipt
_OF_RECEIPT = "/"
# What MiniStack keeps of a message and has no column
_REST = ("md5_attrs", "message_attributes", "sys", "group_id", "dedup_id", "seq", "enqueued_at")


class StoredQueue:
    """The messages of the queue that MiniStack declares by ``queue``, and who waits for them."""

    def __init__(
        self, store: Store, number: int, name: Name, queue: Json, wake: Callable[[int], None]
    ) -> None:
        self.store = store
        self.number = number
        self.name = name
        self.attributes: Json = queue["attributes"]
        self._wake = wake

    @property
    def redrive(self) -> tuple[int, str] | None:
        """The number of receipts after which a message is dead, and where it then goes."""
        policy = json_text.loads(self.attributes.get("RedrivePolicy") or "null")
        return (int(policy["maxReceiveCount"]), policy["deadLetterTargetArn"]) if policy else None

    def add(
        self, body: str, now: float, delay: float, rest: Json, *, digest: str = "", id: str = ""
    ) -> tuple[str, str]:
        """Add a message; return its id and the MD5 digest of its body."""
        id = id or str(uuid4())
        digest = digest or hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()
        self._insert((id, now, now + delay, 0, None, None, body, digest, json_text.dumps(rest)))
        return id, digest

    def restore(self, message: Json) -> None:
        """Add a message as MiniStack has it."""
        if DEAD_LETTER_SOURCE in message.get("sys", {}) and self.is_empty():
            self._tell_dead()
        body = message["body"]
        rest = {name: message[name] for name in _REST if message.get(name) is not None}
        digest = hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()
        self._insert(
            (
                message["id"],
                message["sent_at"],
                message.get("visible_at", message["sent_at"]),
                message.get("receive_count", 0),
                message.get("first_receive_at"),
                message.get("receipt_handle"),
                body,
                message.get("md5_body") or digest,
                json_text.dumps(rest),
            )
        )

    def _insert(self, values: tuple[Any, ...]) -> None:
        self.store.write(
            "INSERT INTO messages (queue, id, sent_at, visible_at, receive_count, "
            "first_receive_at, receipt, body, md5, rest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self.number, *values),
        )
        self._wake(self.number)

    def take(
        self, most: int, visibility: float, now: float, dead: tuple[int, StoredQueue] | None
    ) -> list[Json]:
        """Hide the messages that were visible for the longest time, and return them.

        ``dead`` is the number of receipts after which a message goes to another queue instead.
        """
        messages = self._visible(most, now)
        while dead and (failed := [each for each in messages if each["receive_count"] >= dead[0]]):
            self._move(failed, dead[1], now)
            messages = self._visible(most, now)
        for message in messages:
            message["receipt_handle"] = f"{message['number']:x}{_OF_RECEIPT}{uuid4()}"
            message["visible_at"] = now + visibility
            message["receive_count"] += 1
            message["first_receive_at"] = message["first_receive_at"] or now
            names = ("receipt_handle", "visible_at", "receive_count", "first_receive_at", "number")
            self.store.write(
                "UPDATE messages SET receipt = ?, visible_at = ?, receive_count = ?, "
                "first_receive_at = ? WHERE number = ?",
                [message[name] for name in names],
            )
        return messages

    def _visible(self, most: int, now: float) -> list[Json]:
        sql = (
            f"SELECT {_COLUMNS} FROM messages WHERE queue = ? AND visible_at <= ? "
            "ORDER BY visible_at, number LIMIT ?"
        )
        return [_message(row) for row in self.store.read(sql, (self.number, now, most)).fetchall()]

    def _move(self, messages: list[Json], target: StoredQueue, now: float) -> None:
        if target.is_empty():
            self._tell_dead()
        for message in messages:
            rest = {name: message[name] for name in _REST if message.get(name)}
            rest["sys"] = {DEAD_LETTER_SOURCE: self.attributes["QueueArn"]} | message["sys"]
            self.store.write(
                "UPDATE messages SET queue = ?, receipt = NULL, visible_at = ?, rest = ? "
                "WHERE number = ?",
                (target.number, now, json_text.dumps(rest), message["number"]),
            )
        self._wake(target.number)

    def delete(self, receipt: Any) -> bool:
        """Delete the message that was received with this; tell whether there was one."""
        number = self._number(receipt)
        sql = "DELETE FROM messages WHERE number = ? AND queue = ? AND receipt = ?"
        return self.store.write(sql, (number, self.number, receipt)).rowcount > 0

    def show(self, receipt: Any, at: float) -> bool:
        """Show the message that was received with this at a time; tell whether there was one."""
        number = self._number(receipt)
        sql = "UPDATE messages SET visible_at = ? WHERE number = ? AND queue = ? AND receipt = ?"
        is_there = self.store.write(sql, (at, number, self.number, receipt)).rowcount > 0
        if is_there:
            self._wake(self.number)
        return is_there

    def next_visible(self) -> float | None:
        """Return when a message is visible."""
        sql = "SELECT MIN(visible_at) FROM messages WHERE queue = ?"
        earliest: float | None = self.store.read(sql, (self.number,)).fetchone()[0]
        return earliest

    def counts(self, now: float) -> tuple[int, int, int]:
        """Return the number of messages that are visible, in flight, and delayed."""
        row = self.store.read(
            "SELECT COUNT(*) FILTER (WHERE visible_at <= ?1), "
            "COUNT(*) FILTER (WHERE visible_at > ?1 AND receive_count > 0), "
            "COUNT(*) FILTER (WHERE visible_at > ?1 AND receive_count = 0) "
            "FROM messages WHERE queue = ?2",
            (now, self.number),
        ).fetchone()
        return row[0], row[1], row[2]

    def expire(self, now: float, most: int) -> int:
        """Remove messages that are older than the queue keeps them; return their number."""
        oldest = now - int(self.attributes.get("MessageRetentionPeriod", DEFAULT_RETENTION))
        sql = (
            "DELETE FROM messages WHERE number IN (SELECT number FROM messages "
            "WHERE queue = ? AND sent_at <= ? LIMIT ?)"
        )
        return self.store.write(sql, (self.number, oldest, most)).rowcount

    def clear(self) -> None:
        """Remove all messages."""
        self.store.write("DELETE FROM messages WHERE queue = ?", (self.number,))

    def __iter__(self) -> Iterator[Json]:
        sql = f"SELECT {_COLUMNS} FROM messages WHERE queue = ? ORDER BY number"
        return map(_message, self.store.read(sql, (self.number,)).fetchall())

    def is_empty(self) -> bool:
        """Tell whether there is no message."""
        sql = "SELECT 1 FROM messages WHERE queue = ? LIMIT 1"
        return self.store.read(sql, (self.number,)).fetchone() is None

    def _number(self, receipt: Any) -> int:
        """Return the number of the message that was received with this, or what may be one."""
        number, separator, _ = str(receipt).partition(_OF_RECEIPT)
        if separator:
            with suppress(ValueError):
                return int(number, 16)
        # MiniStack may have given it
        sql = "SELECT number FROM messages WHERE queue = ? AND receipt = ?"
        row = self.store.read(sql, (self.number, str(receipt))).fetchone()
        return row[0] if row else -1

    def _tell_dead(self) -> None:
        tell(
            "a message failed too often and is not handled: "
            "`postfinch admin --local list-dead-letters` shows where"
        )


class MinistackMessages:
    """The messages of a queue in the store, as MiniStack's own handlers use the list of them."""

    def __init__(self, queue: StoredQueue) -> None:
        self.target = queue

    def append(self, message: Json) -> None:
        """Add a message."""
        self.target.restore(message)

    def clear(self) -> None:
        """Remove all messages."""
        self.target.clear()

    def __iter__(self) -> Iterator[Json]:
        return (MinistackMessage(self.target.store, message) for message in self.target)

    def __len__(self) -> int:
        return sum(self.target.counts(0.0))

    def __deepcopy__(self, _: Any) -> list[Json]:
        return list(self.target)


class MinistackMessage(dict[str, Any]):
    """A message as MiniStack's own handlers have it: they note in it that it was received."""

    def __init__(self, store: Store, message: Json) -> None:
        super().__init__(message)
        self._store = store

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        if column := _COLUMNS_OF_RECEIPTS.get(key):
            sql = f"UPDATE messages SET {column} = ? WHERE number = ?"
            self._store.write(sql, (value, self["number"]))


class MinistackQueue(dict[str, Any]):
    """A queue as MiniStack has it, whose messages are stored."""

    def __setitem__(self, key: str, value: Any) -> None:
        if key == "messages" and not isinstance(value, MinistackMessages):
            self["messages"].target.store.write(*_removal(self["messages"].target, value))
        else:
            super().__setitem__(key, value)


def _removal(queue: StoredQueue, messages: Iterable[Json]) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that removes the messages which MiniStack did not keep."""
    numbers = json_text.dumps([message["number"] for message in messages if "number" in message])
    return (
        "DELETE FROM messages WHERE queue = ? AND number NOT IN (SELECT value FROM json_each(?))",
        (queue.number, numbers),
    )


def _message(row: tuple[Any, ...]) -> Json:
    """Return a message as MiniStack has it."""
    number, id, sent_at, visible_at, receive_count, first, receipt, body, digest, rest = row
    message = {
        "number": number,
        "id": id,
        "sent_at": sent_at,
        "visible_at": visible_at,
        "receive_count": receive_count,
        "first_receive_at": first,
        "receipt_handle": receipt,
        "body": body,
        "md5_body": digest,
        "message_attributes": {},
        **json_text.loads(rest),
    }
    message.setdefault("sys", {})
    message["sys"].setdefault("SentTimestamp", str(int(sent_at * 1000)))
    return message
