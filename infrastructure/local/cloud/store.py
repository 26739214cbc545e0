"""Keep the state of the local cloud in one SQLite database.

What was written since the last commit is in one transaction: a request of the cloud writes, and
commits before it is answered. A commit survives the end of the process, SIGKILL included. It
survives the end of the machine once it is synchronized with the disk, which a `Synchronization`
does.

The write-ahead log has every commit until a thread copies it into the database file (a checkpoint).
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from infrastructure.local.notices import tell

#: The database, and what is beside it: the archives of deployed functions
NAME = "state.sqlite3"
ARCHIVES = "archives"
#: Of the form of the database: another version refuses it
VERSION = 1
_APPLICATION = 0x50464E43

_SCHEMA = """
CREATE TABLE documents (
    service TEXT, attribute TEXT, entry TEXT, value TEXT,
    PRIMARY KEY (service, attribute, entry)
) WITHOUT ROWID;
CREATE TABLE tables (
    number INTEGER PRIMARY KEY, account TEXT, region TEXT, name TEXT, expiry TEXT,
    UNIQUE (account, region, name)
);
CREATE TABLE transactions (
    account TEXT, region TEXT, token TEXT, digest BLOB, at REAL,
    PRIMARY KEY (account, region, token)
) WITHOUT ROWID;
CREATE TABLE queues (
    number INTEGER PRIMARY KEY, account TEXT, region TEXT, url TEXT, UNIQUE (account, region, url)
);
CREATE TABLE messages (
    number INTEGER PRIMARY KEY, queue INTEGER, id TEXT, sent_at REAL, visible_at REAL,
    receive_count INTEGER, first_receive_at REAL, receipt TEXT, body TEXT, md5 TEXT, rest TEXT
);
CREATE INDEX messages_by_visibility ON messages (queue, visible_at);
CREATE TABLE objects (
    account TEXT, bucket TEXT, key TEXT, modified REAL, file TEXT, record TEXT,
    PRIMARY KEY (account, bucket, key)
) WITHOUT ROWID;
CREATE INDEX objects_by_file ON objects (file);
"""
# Seconds that the check of the whole database may take at a start; a larger one is checked in part
_CHECK_SECONDS = 0.5
_CHECK_STEP = 10_000
# A log of this size is copied into the database, and one of that size before anything else is done
_COPY_SIZE = 4 << 20
_LARGEST_LOG = 48 << 20
# More than a change of declarations takes
_ROOM = 1 << 18
# Free pages are given back when they are so many, and so large a part of the file
_FREE_PAGES = 8_192
_FREE_PART = 0.25
_PAGES_AT_ONCE = 256
# Seconds between two lines for the user
_QUIET = 60.0
# Seconds that a statement waits for another connection
_PATIENCE = 10


class DamagedState(Exception):
    """The state cannot be used; the message is one line for the user."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(
            f"{path} {what}. Nothing was changed. Restore all of {path.parent} from a copy, or "
            "move it away to start without what is stored there."
        )


class CannotStore(Exception):
    """A change cannot be stored now; nothing of its transaction is."""


class Store:
    """The open database at ``path``. Any thread may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        #: Held by whoever needs that nobody else writes meanwhile
        self.lock = threading.RLock()
        #: Count commits, and transactions that were lost
        self.commits = self.losses = 0
        self._connection = _connect(path)
        self._copier = _connect(path)
        self._failure: Exception | None = None
        self._quiet_until = 0.0
        self._is_failing = False
        # The log exists from the first write on, and closing it would not release locks of SQLite
        self._connection.execute(f"PRAGMA user_version = {VERSION}")
        self._log = os.open(f"{path}-wal", os.O_RDWR | os.O_CLOEXEC)
        _synchronize(path.parent)

    def read(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Return what a query finds."""
        return self._connection.execute(sql, parameters)

    def write(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Write within the transaction, which is lost with a :class:`CannotStore`."""
        with self.lock:
            try:
                if not self._connection.in_transaction:
                    self._connection.execute("BEGIN IMMEDIATE")
                return self._connection.execute(sql, parameters)
            except sqlite3.Error as error:
                self._failure = error
                raise CannotStore(str(error)) from error

    def fail(self, error: Exception) -> None:
        """Let the transaction fail at its end."""
        self._failure = error

    def commit(self) -> None:
        """End the transaction, if there is one; raises :class:`CannotStore`, and it is lost."""
        with self.lock:
            failure: Exception | None = self._failure
            if failure is None and not self._connection.in_transaction:
                return
            try:
                if failure is None:
                    self._connection.execute("COMMIT")
                    self.commits += 1
                    self._is_failing = False
                    return
            except sqlite3.Error as error:
                self._failure = failure = error
            self.roll_back()
            self.tell(failure)
            raise CannotStore(str(failure)) from failure

    def roll_back(self) -> None:
        """Undo what was written since the last commit."""
        with self.lock:
            if self._failure is not None or self._connection.in_transaction:
                self.losses += 1
            self._failure = None
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what the block writes, and nothing if it raises; raises :class:`CannotStore`."""
        with self.lock:
            self.commit()
            try:
                yield
            except BaseException:
                self.roll_back()
                raise
            self.commit()

    def check_room(self) -> None:
        """Raise :class:`CannotStore` unless there is room for a change of declarations."""
        with self.transaction():
            self.write("CREATE TABLE room (filler BLOB)")
            self.write("INSERT INTO room VALUES (zeroblob(?))", (_ROOM,))
        with self.transaction():
            self.write("DROP TABLE room")

    def synchronize(self) -> None:
        """Write the log to the disk; raises OSError. May run in a thread of its own."""
        getattr(os, "fdatasync", os.fsync)(self._log)

    def copy_log(self) -> None:
        """Copy a large log into the database file. May run in a thread of its own."""
        if os.fstat(self._log).st_size > _COPY_SIZE:
            with suppress(sqlite3.OperationalError):
                self._copier.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def shorten_log(self) -> None:
        """Begin a log anew that commits kept growing while it was copied.

        It stays as it is while somebody else reads from it, such as a backup: nobody waits for it.
        """
        if os.fstat(self._log).st_size > _LARGEST_LOG:
            with self.lock, suppress(sqlite3.OperationalError, CannotStore):
                self.commit()
                self._connection.execute("PRAGMA busy_timeout = 0")
                try:
                    self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                finally:
                    self._connection.execute(f"PRAGMA busy_timeout = {_PATIENCE * 1000}")

    def has_much_free(self) -> bool:
        """Tell whether much of the file is free."""
        free, pages = (
            self.read(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count")
        )
        return bool(free > _FREE_PAGES and free > pages * _FREE_PART)

    def give_back(self) -> bool:
        """Give some free pages back to the disk; tell whether there are more of them."""
        with self.lock, suppress(sqlite3.OperationalError, CannotStore):
            self.commit()
            # A statement of this pragma frees a page each time that it is stepped
            self._connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
            self.commits += 1
            return bool(self.read("PRAGMA freelist_count").fetchone()[0])
        return False

    def close(self) -> None:
        """Write what is left, and all of it into the database file."""
        with suppress(CannotStore, sqlite3.Error, OSError):
            self.commit()
            self.synchronize()
            self._copier.close()
            self._connection.close()

    def tell(self, error: Exception) -> None:
        """Tell the user that a request is refused, once in a while."""
        is_new = not self._is_failing and time.monotonic() > self._quiet_until
        self._is_failing = True
        if is_new:
            self._quiet_until = time.monotonic() + _QUIET
            tell(
                f"the local cloud cannot write {self.path} ({error}): "
                "it refuses what it cannot store, until it can"
            )


def create(path: Path, fill: Callable[[Store], None] = lambda store: None) -> None:
    """Create the database at ``path`` with what ``fill`` writes: all of it, or no file.

    Raises :class:`DamagedState`.
    """
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:
        raise DamagedState(path, f"is missing, and {log.name} is there")
    new = path.with_suffix(".new")
    for leftover in (new, Path(f"{new}-wal"), Path(f"{new}-shm")):
        leftover.unlink(missing_ok=True)
    # It has the mail and the keys of accounts; SQLite gives the log the same mode
    os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        for pragma in ("auto_vacuum = INCREMENTAL", "journal_mode = WAL"):
            connection.execute(f"PRAGMA {pragma}")
        connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    store = Store(new)
    with store.transaction():
        fill(store)
    store.close()
    _synchronize(new)
    new.rename(path)
    _synchronize(path.parent)


def check(path: Path) -> None:
    """Raise :class:`DamagedState` unless SQLite finds the database at ``path`` whole.

    A large database is checked for half a second: other damage shows when it is read.
    """
    if not path.stat().st_size:
        raise DamagedState(path, "is empty")
    deadline = time.monotonic() + _CHECK_SECONDS
    try:
        # Its end would write the log into a damaged file
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)
        application, version = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        if (application, version) != (_APPLICATION, VERSION):
            raise DamagedState(path, "is not a state of this version")
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _CHECK_STEP)
        (finding,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            connection.close()
            return
        raise DamagedState(path, f"is damaged ({error})") from None
    if finding != "ok":
        raise DamagedState(path, f"is damaged ({' '.join(finding.split())})")
    connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
        timeout=_PATIENCE,
    )
    for pragma in ("synchronous = NORMAL", "wal_autocheckpoint = 0", "cache_size = -16000"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(f"PRAGMA journal_size_limit = {_LARGEST_LOG}").fetchone()
    return connection


def _synchronize(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Synchronization:
    """Synchronizes commits with the disk; those who wait at a time share one synchronization."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._current: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None
        # Those that are on the disk
        self._commits = 0

    async def wait(self) -> None:
        """Wait until every commit so far is on the disk; raises OSError."""
        if self._commits == self._store.commits:
            return
        if self._next is None:
            self._next = asyncio.ensure_future(self._run_after(self._current))
        await asyncio.shield(self._next)

    async def keep(self, interval: float) -> None:
        """Synchronize every ``interval`` seconds while there are commits. Runs until cancelled."""
        commits = -1
        while True:
            await asyncio.sleep(interval)
            with suppress(CannotStore):
                self._store.commit()
            if self._store.commits == commits:
                continue
            latest = self._store.commits
            try:
                await asyncio.to_thread(self._store.synchronize)
                commits = latest
                await asyncio.to_thread(self._store.copy_log)
                self._store.shorten_log()
            except OSError as error:
                self._store.tell(error)

    async def _run_after(self, current: asyncio.Task[None] | None) -> None:
        if current is not None:
            with suppress(OSError):
                await asyncio.shield(current)
        self._current, self._next = self._next, None
        commits = self._store.commits
        await asyncio.to_thread(self._store.synchronize)
        self._commits = max(self._commits, commits)
