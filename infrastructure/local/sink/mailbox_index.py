"""Index the mailbox in SQLite, one row for each message, so that a listing opens no message file.

The Maildir is the truth and the index a copy. Opening the index adds the messages that it lacks,
drops the rows whose file is gone, and starts a new index where the old one is missing, damaged or
of another version. WAL lets the API read (and change) while the sink writes. `synchronous=OFF` is
safe, because the Maildir has all that a power cut may take from the index.

The sink writes a row from a few header fields. The details of a message take parsing and a look
into the service's tables: the API adds them, when somebody wants to see or search them.
"""

import fcntl
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from infrastructure.local.sink.mailbox_rows import (
    COLUMNS,
    CREATE,
    INSERT,
    INSERT_DETAILS,
    SCHEMA_VERSION,
    Condition,
    Details,
    Inbox,
    Row,
    matches_line,
)

# Ids begin with digits
_AFTER_ALL = ":"


class MailboxIndex:
    """Rows by message id, whose order is the order of arrival. Any thread may call it."""

    def __init__(
        self,
        path: Path,
        stored_ids: Callable[[], Mapping[str, bool]],
        summarise: Callable[[str], Row | None],
    ) -> None:
        """Open the index at `path`.

        `stored_ids` lists the Maildir and tells whether each message is unread; `summarise` reads
        one message again for its row.
        """
        self._path = path
        self._stored_ids = stored_ids
        self._summarise = summarise
        self._lock = threading.Lock()
        with self._only_opener():
            self._database = self._open()

    def insert(self, rows: Sequence[Row]) -> None:
        """Add rows, all or none.

        Repeating one is harmless: another process may have just found its file.
        """
        with self._lock:
            if len(rows) == 1:
                self._database.execute(INSERT, rows[0])
                return
            with self._transaction(self._database):
                self._database.executemany(INSERT, rows)

    def search(
        self,
        conditions: Sequence[Condition],
        limit: int,
        before: str | None = None,
        since: str | None = None,
    ) -> list[Row]:
        """The newest rows that meet all conditions; `before` and `since` bound their ids."""
        terms = [*conditions]
        if before is not None:
            terms.append(Condition("id < ?", (before,)))
        if since is not None:
            terms.append(Condition("id >= ?", (since,)))
        source, values = _source(terms)
        query = f"SELECT {COLUMNS} FROM {source} ORDER BY id DESC LIMIT ?"
        return self._rows(query, [*values, max(limit, 0)])

    def rows_after(self, message_id: str, limit: int) -> list[Row]:
        """The oldest rows with a greater id."""
        return self._rows(
            f"SELECT {COLUMNS} FROM messages WHERE id > ? ORDER BY id LIMIT ?", [message_id, limit]
        )

    def row(self, message_id: str) -> Row | None:
        """The row of one message."""
        rows = self._rows(f"SELECT {COLUMNS} FROM messages WHERE id = ?", [message_id])
        return rows[0] if rows else None

    def newest(self) -> str:
        """The greatest id, empty if there is no message."""
        with self._lock:
            return self._database.execute("SELECT max(id) FROM messages").fetchone()[0] or ""

    def counts(self) -> tuple[int, int]:
        """The number of all messages, and of the unread ones."""
        inboxes = self.inboxes()
        return sum(each.messages for each in inboxes), sum(each.unread for each in inboxes)

    def inboxes(self) -> list[Inbox]:
        """The inboxes that have messages, in the order of their names."""
        query = "SELECT inbox, count(*), sum(unread) FROM messages GROUP BY inbox"
        with self._lock:
            return [Inbox(*row) for row in self._database.execute(query)]

    def version(self) -> tuple[int, int]:
        """A value that changes with every write; reading it costs microseconds."""
        with self._lock:
            # The first number is changed by other connections only, the second by this one
            others: int = self._database.execute("PRAGMA data_version").fetchone()[0]
            return others, self._database.total_changes

    def details(self, message_ids: Sequence[str]) -> dict[str, Details]:
        """The details of those of these messages that have them, by id."""
        with self._lock:
            rows = self._database.execute(
                "SELECT * FROM details WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(message_ids),),
            )
            return {row[0]: Details(*row) for row in rows}

    def undetailed(self, before: str | None, limit: int) -> list[str]:
        """The newest messages without details."""
        with self._lock:
            rows = self._database.execute(
                "SELECT id FROM messages WHERE NOT detailed AND id < ? ORDER BY id DESC LIMIT ?",
                (before or _AFTER_ALL, limit),
            )
            return [row[0] for row in rows]

    def add_details(self, details: Sequence[Details]) -> None:
        """Store the details of messages; those of messages that are deleted meanwhile are not."""
        with self._lock, self._transaction(self._database):
            for each in details:
                update = "UPDATE messages SET detailed = 1 WHERE id = ?"
                if self._database.execute(update, (each.id,)).rowcount:
                    self._database.execute(INSERT_DETAILS, each)

    def set_unread(self, message_ids: Sequence[str], unread: bool) -> None:
        """Flag messages as unread or as read."""
        with self._lock, self._transaction(self._database):
            self._database.executemany(
                "UPDATE messages SET unread = ? WHERE id = ?",
                ((unread, message_id) for message_id in message_ids),
            )

    def set_tags(self, message_id: str, given_tags: str, size: int) -> None:
        """Note the tags that a message was given (JSON), and its new size."""
        with self._lock:
            self._database.execute(
                "UPDATE messages SET given_tags = ?, size = ? WHERE id = ?",
                (given_tags, size, message_id),
            )

    def beyond(self, most: int) -> list[str]:
        """The ids of the oldest messages of each inbox, beyond the newest `most`."""
        with self._lock:
            rows = self._database.execute(
                "SELECT old.id FROM (SELECT inbox FROM messages GROUP BY inbox HAVING count(*) > ?)"
                " crowded JOIN messages old USING (inbox) WHERE old.id <= (SELECT id FROM messages"
                " WHERE inbox = crowded.inbox ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (most, most),
            )
            return [row[0] for row in rows]

    def ids(self, conditions: Sequence[Condition] = ()) -> list[str]:
        """The ids of the messages that meet all conditions."""
        source, values = _source(conditions)
        with self._lock:
            rows = self._database.execute(f"SELECT id FROM {source}", values)
            return [row[0] for row in rows]

    def take(self, message_id: str) -> bool:
        """Delete one row; tell whether there was one."""
        with self._lock, self._transaction(self._database):
            self._database.execute("DELETE FROM details WHERE id = ?", (message_id,))
            delete = "DELETE FROM messages WHERE id = ?"
            return self._database.execute(delete, (message_id,)).rowcount == 1

    def take_all(self) -> list[str]:
        """Empty the index and give the ids it held."""
        with self._lock, self._transaction(self._database):
            self._database.execute("DELETE FROM details")
            rows = self._database.execute("DELETE FROM messages RETURNING id")
            return [row[0] for row in rows.fetchall()]

    def close(self) -> None:
        """Close the database; the index cannot be used afterwards."""
        with self._lock:
            self._database.close()

    def _rows(self, query: str, values: Sequence[str | int]) -> list[Row]:
        with self._lock:
            return [Row(*row) for row in self._database.execute(query, values)]

    @staticmethod
    @contextmanager
    def _transaction(database: sqlite3.Connection) -> Iterator[None]:
        database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")

    @contextmanager
    def _only_opener(self) -> Iterator[None]:
        # The sink and the API start together: the second must not discard what the first repaired.
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _open(self) -> sqlite3.Connection:
        try:
            return self._open_sound()
        except sqlite3.OperationalError:  # locked, disk full, no permission: not damage
            raise
        except sqlite3.DatabaseError:
            self._discard()
            return self._open_sound()

    def _open_sound(self) -> sqlite3.Connection:
        database = sqlite3.connect(
            self._path, isolation_level=None, timeout=30, check_same_thread=False
        )
        try:
            self._prepare(database)
            self._reconcile(database)
        except BaseException:
            database.close()
            raise
        return database

    @staticmethod
    def _prepare(database: sqlite3.Connection) -> None:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=OFF")
        if database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("the mailbox index is damaged")
        if database.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
            database.executescript(CREATE)
        # A statement of SQLite cannot tell lines apart
        database.create_function("matches_line", 2, matches_line, deterministic=True)

    def _reconcile(self, database: sqlite3.Connection) -> None:
        with self._transaction(database):
            # Rows first, files second: a file always exists before its row, so no live row is lost.
            indexed = dict(database.execute("SELECT id, unread FROM messages").fetchall())
            messages = self._stored_ids()
            lost = [(message_id,) for message_id in indexed.keys() - messages.keys()]
            database.executemany("DELETE FROM messages WHERE id = ?", lost)
            database.executemany("DELETE FROM details WHERE id = ?", lost)
            flagged = (
                (messages[message_id], message_id)
                for message_id, unread in indexed.items()
                if messages.get(message_id, unread) != unread
            )
            database.executemany("UPDATE messages SET unread = ? WHERE id = ?", flagged)
            fresh = sorted(messages.keys() - indexed.keys())
            rows = (self._summarise(message_id) for message_id in fresh)
            database.executemany(INSERT, (row for row in rows if row is not None))

    def _discard(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def _source(conditions: Sequence[Condition]) -> tuple[str, list[str | int]]:
    """Return what follows FROM for the messages that meet all conditions, and its values."""
    details = " JOIN details USING (id)" if any(each.needs_details for each in conditions) else ""
    where = " AND ".join(f"({each.sql})" for each in conditions) or "1"
    values = [value for each in conditions for value in each.values]
    return f"messages{details} WHERE {where}", values
