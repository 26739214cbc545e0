"""Copy the database of a service that may be running, as it is at one instant.

SQLite's backup interface makes the copy, in steps, within one read transaction. So all of it is of
the instant at which the transaction began, and no write of the service lets it begin again, as
writes between two steps would do otherwise. Readers do not block writers. But while the transaction
lasts, the write-ahead log cannot be shortened, so nothing but copying happens meanwhile.

`VACUUM INTO` would take as long, and it hides when its transaction begins: a delivery journal may
be copied only after that.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from infrastructure.local.cloud import store
from infrastructure.local.cloud.store import DamagedState
from infrastructure.machine.backup.errors import BackupError

# About 4 MB
_PAGES_AT_ONCE = 1000
_OBJECT_FILES = "SELECT DISTINCT file FROM objects ORDER BY file"

#: Bytes that are copied, and bytes in all
OnStep = Callable[[int, int], None]


class Snapshot:
    """The state of a database at one instant."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @property
    def bytes(self) -> int:
        """The size of the database."""
        pages, size = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "page_size")
        )
        return int(pages * size)

    def copy(self, target: Path, on_step: OnStep) -> None:
        """Write it into the file ``target``, which is there and empty; raises sqlite3.Error."""
        size = self.bytes
        with closing(sqlite3.connect(target, isolation_level=None)) as copy:
            # Whatever fails removes the copy as a whole
            copy.execute("PRAGMA journal_mode = OFF").fetchone()
            copy.execute("PRAGMA synchronous = OFF")
            self._connection.backup(
                copy,
                pages=_PAGES_AT_ONCE,
                progress=lambda _, remaining, pages: on_step(
                    size * (pages - remaining) // pages, size
                ),
                sleep=0.0,
            )


@contextmanager
def snapshot(database: Path) -> Iterator[Snapshot]:
    """Within the block, everybody else's writes are not seen; raises :class:`BackupError`."""
    if not database.exists():
        raise BackupError(f"{database} does not exist: nothing of this version is stored there")
    try:
        store.check(database)
        # The end of a connection that may write would change the files of a service that died
        uri = f"{database.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            # The transaction begins with the first read
            connection.execute("SELECT 1 FROM queues LIMIT 1").fetchone()
            yield Snapshot(connection)
    except DamagedState as damage:
        raise BackupError(str(damage)) from None
    except sqlite3.Error as error:
        raise BackupError(f"{database} cannot be copied: {error}") from error


@contextmanager
def copied_objects(copy: Path) -> Iterator[Iterator[str]]:
    """Give the files of objects that a copy names; raises :class:`BackupError` if it is damaged."""
    # Nobody else has it, so it needs neither a log nor locks beside it
    uri = f"{copy.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            (finding,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if finding != "ok":
                raise BackupError(f"the database is damaged: {' '.join(finding.split())}")
            yield (row[0] for row in connection.execute(_OBJECT_FILES))
    except sqlite3.Error as error:
        raise BackupError(f"the database is damaged: {error}") from error
