"""Open the files of the mailbox's index, and make them agree with the Maildir.

Opening adds the messages that the index lacks, drops the rows whose file is gone, and starts a new
index where the old one is missing, damaged or of another version. WAL lets the API read (and
change) while the sink writes. `synchronous=OFF` is safe, because the Maildir has all that a power
cut may take from the index.
"""

import fcntl
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from infrastructure.local.mailbox.rows import Row, matches_line
from infrastructure.local.mailbox.schema import (
    CREATE,
    CREATE_EXTRA,
    INSERT,
    SCHEMA_VERSION,
)

EXTRA = "details.sqlite3"
# Larger pages make a search text, which takes several small ones, one read
_EXTRA_PAGE_BYTES = 16_384
# Files whose rows are read together
_COMPARED_AT_ONCE = 500


def open_index(
    path: Path,
    stored_ids: Callable[[], Iterable[tuple[str, bool]]],
    summarise: Callable[[str], Row | None],
) -> sqlite3.Connection:
    """Return a connection to the index at `path`, with the details attached.

    `stored_ids` lists the Maildir and tells whether each message is unread; `summarise` reads one
    message again for its row.
    """
    with _only_opener(path):
        try:
            database = _open_sound(path, stored_ids, summarise)
        except sqlite3.OperationalError:  # locked, disk full, no permission: not damage
            raise
        except sqlite3.DatabaseError:
            _discard(path)
            database = _open_sound(path, stored_ids, summarise)
        _attach(database, path.with_name(EXTRA))
    return database


@contextmanager
def transaction(database: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Commit what is done within, all or nothing; `DEFERRED` locks the file of the first write."""
    database.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


@contextmanager
def _only_opener(path: Path) -> Iterator[None]:
    # The sink and the API start together: the second must not discard what the first repaired.
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _open_sound(
    path: Path,
    stored_ids: Callable[[], Iterable[tuple[str, bool]]],
    summarise: Callable[[str], Row | None],
) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    try:
        _prepare(database)
        _reconcile(database, stored_ids, summarise)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=OFF")
    if database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise sqlite3.DatabaseError("the mailbox index is damaged")
    if database.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
        database.executescript(CREATE)
    # A statement of SQLite cannot tell lines apart
    database.create_function("matches_line", 2, matches_line, deterministic=True)


def _reconcile(
    database: sqlite3.Connection,
    stored_ids: Callable[[], Iterable[tuple[str, bool]]],
    summarise: Callable[[str], Row | None],
) -> None:
    with transaction(database):
        # In a table, because the memory of a process must not grow with the mailbox
        database.execute("CREATE TEMP TABLE fresh (id TEXT PRIMARY KEY) WITHOUT ROWID")
        rows, indexed = database.execute("SELECT count(*) FROM messages").fetchone()[0], 0
        files = iter(stored_ids())
        while batch := dict(islice(files, _COMPARED_AT_ONCE)):
            unread_by_id = _unread(database, batch)
            indexed += len(unread_by_id)
            flagged = [
                (batch[message_id], message_id)
                for message_id, unread in unread_by_id.items()
                if batch[message_id] != unread
            ]
            database.executemany("UPDATE messages SET unread = ? WHERE id = ?", flagged)
            fresh = [(message_id,) for message_id in batch.keys() - unread_by_id.keys()]
            database.executemany("INSERT OR IGNORE INTO temp.fresh VALUES (?)", fresh)
        if indexed < rows:
            _delete_lost(database, stored_ids)
        ids = database.execute("SELECT id FROM temp.fresh ORDER BY id")
        summaries = (summarise(message_id) for (message_id,) in ids)
        database.executemany(INSERT, (row[:-1] for row in summaries if row is not None))
        database.execute("DROP TABLE temp.fresh")


def _unread(database: sqlite3.Connection, message_ids: Iterable[str]) -> dict[str, bool]:
    query = "SELECT id, unread FROM messages WHERE id IN (SELECT value FROM json_each(?))"
    return dict(database.execute(query, (json.dumps(list(message_ids)),)).fetchall())


def _delete_lost(
    database: sqlite3.Connection, stored_ids: Callable[[], Iterable[tuple[str, bool]]]
) -> None:
    """Delete the rows whose file is gone; in a transaction, so that none comes meanwhile."""
    database.execute("CREATE TEMP TABLE files (id TEXT PRIMARY KEY) WITHOUT ROWID")
    ids = ((message_id,) for message_id, _ in stored_ids())
    database.executemany("INSERT OR IGNORE INTO temp.files VALUES (?)", ids)
    database.execute("DELETE FROM messages WHERE id NOT IN (SELECT id FROM temp.files)")
    database.execute("DROP TABLE temp.files")


def _attach(database: sqlite3.Connection, path: Path) -> None:
    try:
        _attach_sound(database, path)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        with suppress(sqlite3.Error):
            database.execute("DETACH extra")
        _discard(path)
        _attach_sound(database, path)


def _attach_sound(database: sqlite3.Connection, path: Path) -> None:
    database.execute("ATTACH ? AS extra", (str(path),))
    database.execute(f"PRAGMA extra.page_size={_EXTRA_PAGE_BYTES}")
    database.execute("PRAGMA extra.journal_mode=WAL")
    database.execute("PRAGMA extra.synchronous=OFF")
    version = database.execute("PRAGMA extra.user_version").fetchone()[0]
    if version == 0:
        database.executescript(CREATE_EXTRA)
        database.execute("UPDATE messages SET detailed = 0 WHERE detailed")
        return
    is_own = (
        version == SCHEMA_VERSION
        and database.execute("SELECT 1 FROM extra.epoch JOIN main.epoch USING (seconds)").fetchone()
    )
    if not is_own:
        raise sqlite3.DatabaseError("the details are those of another index")


def _discard(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
