"""Index the mailbox in SQLite, one row for each message, so that a listing opens no message file.

The Maildir is the truth and the index a copy. Opening the index adds the messages that it lacks,
drops the rows whose file is gone, and starts a new index where the old one is missing, damaged or
of another version. WAL lets the API read (and clear) while the sink writes. `synchronous=OFF` is
safe, because the Maildir has all that a power cut may take from the index.
"""

import fcntl
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

SCHEMA_VERSION = 1
# What GLOB takes for more than a character, besides `*`.
_NOT_WILD = re.compile(r"[?\[]")


class Row(NamedTuple):
    """One message. `recipients`, `senders` and `subjects` are its casefolded search texts."""

    id: str
    recipient: str
    author: str
    subject: str
    size: int
    recipients: str
    senders: str
    subjects: str


class MailboxIndex:
    """Rows by message id, whose order is the order of arrival. Any thread may call it."""

    def __init__(
        self,
        path: Path,
        stored_ids: Callable[[], Iterable[str]],
        summarise: Callable[[str], Row | None],
    ) -> None:
        """`stored_ids` lists the Maildir; `summarise` reads one message again for its row."""
        self._path = path
        self._stored_ids = stored_ids
        self._summarise = summarise
        self._lock = threading.Lock()
        with self._only_opener():
            self._database = self._open()

    def insert(self, row: Row) -> None:
        """Add a row. Repeating one is harmless: another process may have just found its file."""
        marks = ",".join("?" * len(row))
        with self._lock:
            self._database.execute(f"INSERT OR REPLACE INTO messages VALUES ({marks})", row)

    def search(self, recipient: str | None, sender: str, subject: str, limit: int) -> list[Row]:
        """The newest rows to `recipient` that contain `sender` and `subject`, in any case.

        `*` in `recipient` stands for any characters; `None` matches every recipient.
        """
        pattern = None if recipient is None else _NOT_WILD.sub(r"[\g<0>]", recipient.casefold())
        with self._lock:
            rows = self._database.execute(
                "SELECT * FROM messages WHERE (? IS NULL OR recipients GLOB ?)"
                " AND instr(senders, ?) AND instr(subjects, ?) ORDER BY id DESC LIMIT ?",
                (pattern, pattern, sender.casefold(), subject.casefold(), max(limit, 0)),
            )
            return [Row(*row) for row in rows]

    def take_all(self) -> list[str]:
        """Empty the index and give the ids it held."""
        with self._lock:
            return [row[0] for row in self._database.execute("DELETE FROM messages RETURNING id")]

    def close(self) -> None:
        """Close the database; the index cannot be used afterwards."""
        with self._lock:
            self._database.close()

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
            columns = ",".join(f"{name} NOT NULL" for name in Row._fields[1:])
            database.executescript(
                "BEGIN IMMEDIATE; DROP TABLE IF EXISTS messages;"
                f"CREATE TABLE messages (id TEXT PRIMARY KEY, {columns}) WITHOUT ROWID;"
                f"PRAGMA user_version={SCHEMA_VERSION}; COMMIT;"
            )

    def _reconcile(self, database: sqlite3.Connection) -> None:
        database.execute("BEGIN IMMEDIATE")
        # Rows first, files second: a file always exists before its row, so no live row is dropped.
        indexed = {row[0] for row in database.execute("SELECT id FROM messages")}
        message_ids = set(self._stored_ids())
        lost = ((message_id,) for message_id in indexed - message_ids)
        database.executemany("DELETE FROM messages WHERE id = ?", lost)
        rows = (self._summarise(message_id) for message_id in sorted(message_ids - indexed))
        marks = ",".join("?" * len(Row._fields))
        database.executemany(
            f"INSERT INTO messages VALUES ({marks})", (row for row in rows if row is not None)
        )
        database.execute("COMMIT")

    def _discard(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
