"""Number the messages of the mailbox, or of one inbox, for mail readers.

The number of a message is its `uid` in the index: it grows with the time of arrival, and is never
given twice as long as `validity` is the same. With a database connection of its own, a long list
makes nobody wait.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from infrastructure.local.mailbox.rows import Condition


class NumberedMessage(NamedTuple):
    """One message as mail readers know it; `size` is that of `trace.shown`."""

    uid: int
    id: str
    size: int
    unread: bool


class Sums(NamedTuple):
    """Figures of a set of messages that change when a message is added, deleted or flagged."""

    messages: int = 0
    unread: int = 0
    uids: int = 0
    unread_uids: int = 0


class Flagged(NamedTuple):
    """Messages in the order of their numbers; `unread` has a byte for each, 1 or 0."""

    uids: array[int]
    unread: bytearray


class MailboxNumbers:
    """The messages that meet conditions on the columns of `messages`. Any thread may call it."""

    def __init__(self, root: Path) -> None:
        """Open the index of the mailbox at `root`, which exists."""
        self._lock = threading.Lock()
        self._database = sqlite3.connect(
            root / "index.sqlite3", isolation_level=None, timeout=30, check_same_thread=False
        )

    def validity(self) -> int:
        """Seconds since 1970 at which the numbers began; another value means other numbers."""
        with self._lock:
            return int(self._database.execute("SELECT seconds FROM epoch").fetchone()[0])

    def next_uid(self) -> int:
        """A number that is greater than all numbers so far, and not greater than later ones."""
        query = "SELECT seq FROM sqlite_sequence WHERE name = 'messages'"
        with self._lock:
            row = self._database.execute(query).fetchone()
        return int(row[0]) + 1 if row else 1

    def version(self) -> int:
        """A value that changes with every write; reading it costs microseconds."""
        with self._lock:
            return int(self._database.execute("PRAGMA data_version").fetchone()[0])

    def sums(self, scope: Sequence[Condition]) -> Sums:
        """The sums of all messages in a scope, without a look at their rows."""
        columns = (
            "count(*), ifnull(sum(unread), 0), ifnull(sum(uid), 0), ifnull(sum(uid*unread), 0)"
        )
        source, values = _source(scope)
        with self._lock:
            return Sums(
                *self._database.execute(f"SELECT {columns} FROM {source}", values).fetchone()
            )

    def flagged(self, scope: Sequence[Condition], after: int = 0) -> Flagged:
        """The messages with a greater number than `after`."""
        later = [Condition("uid > ?", (after,))] if after else []
        source, values = _source([*scope, *later])
        with self._lock:
            rows = self._database.execute(f"SELECT uid, unread FROM {source}", values).fetchall()
        rows.sort()
        return Flagged(array("q", [uid for uid, _ in rows]), bytearray(flag for _, flag in rows))

    def sizes(self, scope: Sequence[Condition]) -> tuple[array[int], array[int]]:
        """The numbers of all messages, and their sizes in the same order."""
        source, values = _source(scope)
        query = f"SELECT uid, shown_size FROM {source} ORDER BY uid"
        uids, sizes = array("q"), array("q")
        with self._lock:
            for uid, size in self._database.execute(query, values):
                uids.append(uid)
                sizes.append(size)
        return uids, sizes

    def messages(self, uids: Sequence[int]) -> dict[int, NumberedMessage]:
        """Those of these messages that are there, by number."""
        query = (
            "SELECT uid, id, shown_size, unread FROM messages"
            " WHERE uid IN (SELECT value FROM json_each(?))"
        )
        with self._lock:
            rows = self._database.execute(query, (json.dumps(list(uids)),)).fetchall()
        return {row[0]: NumberedMessage(*row) for row in rows}

    def matching(self, scope: Sequence[Condition]) -> set[int]:
        """The numbers of the messages that meet all conditions."""
        source, values = _source(scope)
        with self._lock:
            return {row[0] for row in self._database.execute(f"SELECT uid FROM {source}", values)}

    def close(self) -> None:
        """Close the database; this cannot be used afterwards."""
        with self._lock:
            self._database.close()


def _source(conditions: Sequence[Condition]) -> tuple[str, list[str | int | bytes]]:
    """Return what follows FROM for the messages that meet all conditions, and its values."""
    where = " AND ".join(f"({each.sql})" for each in conditions) or "1"
    return f"messages WHERE {where}", [value for each in conditions for value in each.values]
