"""Remember how far a move has come, in ``DATA_DIR/move/<target>.sqlite3``.

- For each item and object that was copied: a digest of the source's, and the pass that met it last.
- For kinds that are counted: the source's item as well, to take only what was counted since.
- The step that is being made: its writes are sent again after a kill, and change nothing then if
  they were made before.

A pass reads the whole source once. It goes on where it was killed.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infrastructure.machine.moving.failures import MoveRefused

_SCHEMA = """
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS copies (
    place TEXT, pk TEXT, sk TEXT, digest BLOB, base TEXT, at_target TEXT,
    pass INTEGER, written INTEGER, PRIMARY KEY (place, pk, sk)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS steps (number INTEGER PRIMARY KEY, writes TEXT);
"""

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Copy:
    """What was copied of a key: the digest of the source's, and for some kinds its image as JSON.

    ``at_target`` is the tag of an object at the target; or ``gone`` if the target deleted what it
    got.
    """

    digest: bytes
    base: str | None = None
    at_target: str = ""


GONE = "gone"


class Checkpoint:
    """The progress of one move, which only one process may continue."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise MoveRefused(f"another process makes this move ({path})") from None
        path.touch(mode=0o600)
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.executescript(_SCHEMA)
        self.move_id = self.note("id") or self._new_id()

    def close(self) -> None:
        """Let go of the database, so that another process may go on."""
        self._database.close()
        os.close(self._lock)

    def note(self, name: str) -> str:
        """Return a note, empty if there is none."""
        row = self._one("SELECT value FROM notes WHERE name = ?", name)
        return str(row[0]) if row else ""

    def set_note(self, name: str, value: str) -> None:
        """Set a note."""
        self._database.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def remove_note(self, name: str) -> None:
        """Remove a note, if there is one."""
        self._database.execute("DELETE FROM notes WHERE name = ?", (name,))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all changes of the block or none."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def begin_pass(self) -> int:
        """Return the number of the pass that was interrupted, or else of a new one."""
        number = int(self.note("pass") or 0)
        if self.note("ended") == str(number):
            number += 1
            with self.transaction():
                self._database.execute("DELETE FROM notes WHERE name LIKE 'cursor %'")
                self.set_note("pass", str(number))
        return number

    def end_pass(self, number: int) -> None:
        """Note that a pass has read everything and that both sides were compared."""
        self.set_note("ended", str(number))

    def copies(self, place: str, keys: Iterable[Key]) -> dict[Key, Copy]:
        """Return what was copied of these keys."""
        result: dict[Key, Copy] = {}
        for key in keys:
            row = self._one(
                "SELECT digest, base, at_target FROM copies WHERE (place, pk, sk) = (?, ?, ?)",
                place,
                *key,
            )
            if row:
                result[key] = Copy(*row)
        return result

    def meet(self, place: str, keys: Iterable[Key], number: int) -> None:
        """Note that the source still has these keys unchanged."""
        self._database.executemany(
            "UPDATE copies SET pass = ? WHERE (place, pk, sk) = (?, ?, ?)",
            [(number, place, *key) for key in keys],
        )

    def store(self, place: str, copies: Mapping[Key, Copy], number: int) -> None:
        """Note what was copied in this pass."""
        self._database.executemany(
            "INSERT OR REPLACE INTO copies VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (place, *key, copy.digest, copy.base, copy.at_target, number, number)
                for key, copy in copies.items()
            ],
        )

    def forget(self, place: str, keys: Iterable[Key]) -> None:
        """Forget keys that the source has no more."""
        self._database.executemany(
            "DELETE FROM copies WHERE (place, pk, sk) = (?, ?, ?)",
            [(place, *key) for key in keys],
        )

    def not_met(self, place: str, number: int, most: int) -> dict[Key, Copy]:
        """Return some of what was copied that this pass has not met at the source."""
        rows = self._database.execute(
            "SELECT pk, sk, digest, base, at_target FROM copies WHERE place = ? AND pass < ? "
            "LIMIT ?",
            (place, number, most),
        ).fetchall()
        return {(row[0], row[1]): Copy(*row[2:]) for row in rows}

    def count(self, place: str) -> int:
        """Return how many keys were copied and not deleted at the target since."""
        row = self._one(
            "SELECT COUNT(*) FROM copies WHERE place = ? AND at_target != ?", place, GONE
        )
        assert row is not None
        return int(row[0])

    def begin_comparison(self) -> None:
        """Forget which keys :meth:`compare` got."""
        self._database.execute(
            "CREATE TEMP TABLE IF NOT EXISTS present (pk TEXT, sk TEXT, PRIMARY KEY (pk, sk))"
        )
        self._database.execute("DELETE FROM present")

    def compare(self, keys: Iterable[Key]) -> None:
        """Note keys that the target has."""
        self._database.executemany("INSERT OR IGNORE INTO present VALUES (?, ?)", keys)

    def absent(self, place: str) -> list[tuple[Key, bool]]:
        """Return each copied key that the target lacks, and whether this pass wrote it."""
        number = int(self.note("pass") or 0)
        rows = self._database.execute(
            "SELECT pk, sk, written FROM copies WHERE place = ? AND at_target != ? "
            "AND NOT EXISTS (SELECT 1 FROM present WHERE (present.pk, present.sk) = "
            "(copies.pk, copies.sk))",
            (place, GONE),
        ).fetchall()
        return [((pk, sk), last_write == number) for pk, sk, last_write in rows]

    def step(self) -> tuple[int, str] | None:
        """Return number and writes of the step that was begun and is not noted as made."""
        row = self._one("SELECT number, writes FROM steps")
        return (row[0], row[1]) if row else None

    def begin_step(self, writes: str) -> int:
        """Note writes before they are sent; return the step's number."""
        number = int(self.note("step") or 0) + 1
        with self.transaction():
            self.set_note("step", str(number))
            self._database.execute("INSERT INTO steps VALUES (?, ?)", (number, writes))
        return number

    def end_step(self, number: int) -> None:
        """Note that a step was made, within the transaction that notes what it copied."""
        self._database.execute("DELETE FROM steps WHERE number = ?", (number,))

    def _new_id(self) -> str:
        name = secrets.token_hex(8)
        with self.transaction():
            self.set_note("id", name)
            self.set_note("pass", "0")
            self.set_note("ended", "0")
        return name

    def _one(self, sql: str, *values: str) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._database.execute(sql, values).fetchone()
        return row
