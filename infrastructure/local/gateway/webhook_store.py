"""Store what the webhook receiver got, and how it behaves, within bounds."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chalicelib.core import clock

MOST_RECEIVERS = 50
MOST_REQUESTS = 200
MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a receiver answers: with a status, after ``delay`` seconds, for the next ``times``.

    ``times`` is ``None`` for always; afterwards the receiver answers 200 at once.
    """

    status: int = 200
    delay: float = 0.0
    times: int | None = None


@dataclass(frozen=True, slots=True)
class Receiver:
    """One receiver; ``secret`` verifies signatures, empty without one."""

    name: str
    secret: str
    behaviour: Behaviour
    requests: int = 0


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request; ``status`` is what it was answered with, ``received_ms`` the time."""

    id: int
    received_ms: int
    status: int
    delay: float
    headers: tuple[tuple[str, str], ...]
    body: bytes


class TooManyReceivers(Exception):
    """There is no room for another receiver."""


class WebhookStore:
    """Receivers and their latest requests, in SQLite. Any thread may call it."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
            "CREATE TABLE IF NOT EXISTS receivers (name TEXT PRIMARY KEY, secret, status, delay,"
            " times);"
            "CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY AUTOINCREMENT, receiver,"
            " received_ms, status, delay, headers, body, size);"
            "CREATE INDEX IF NOT EXISTS requests_of_receiver ON requests (receiver, id);"
        )

    def receivers(self) -> list[Receiver]:
        """Return all receivers by name."""
        query = (
            "SELECT name, secret, status, delay, times,"
            " (SELECT count(*) FROM requests WHERE receiver = name) FROM receivers ORDER BY name"
        )
        with self._lock:
            rows = self._database.execute(query).fetchall()
        return [
            Receiver(name, secret, Behaviour(status, delay, times), requests)
            for name, secret, status, delay, times, requests in rows
        ]

    def receiver(self, name: str) -> Receiver | None:
        """Return a receiver."""
        return next((each for each in self.receivers() if each.name == name), None)

    def put(self, receiver: Receiver) -> None:
        """Store a receiver's settings; raises TooManyReceivers."""
        with self._lock:
            self._make_room(receiver.name)
            behaviour = receiver.behaviour
            self._database.execute(
                "INSERT OR REPLACE INTO receivers VALUES (?, ?, ?, ?, ?)",
                (
                    receiver.name,
                    receiver.secret,
                    behaviour.status,
                    behaviour.delay,
                    behaviour.times,
                ),
            )

    def delete(self, name: str) -> bool:
        """Delete a receiver with its requests; tell whether there was one."""
        self.clear(name)
        with self._lock:
            delete = "DELETE FROM receivers WHERE name = ?"
            return self._database.execute(delete, (name,)).rowcount == 1

    def clear(self, name: str) -> int:
        """Delete a receiver's requests; return how many."""
        with self._lock:
            return self._database.execute(
                "DELETE FROM requests WHERE receiver = ?", (name,)
            ).rowcount

    def add(
        self, name: str, headers: Sequence[tuple[str, str]], body: bytes
    ) -> tuple[int, Behaviour]:
        """Store a request; return its id and how it is to be answered. Raises TooManyReceivers."""
        with self._lock:
            behaviour = self._next_behaviour(name)
            values = (clock.now_ms(), behaviour.status, behaviour.delay, json.dumps(headers), body)
            cursor = self._database.execute(
                "INSERT INTO requests VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
                (name, *values, len(body)),
            )
            self._trim(name)
            assert cursor.lastrowid is not None
            return cursor.lastrowid, behaviour

    def requests(self, name: str, limit: int) -> list[ReceivedRequest]:
        """Return the latest requests, newest first."""
        return self._requests("receiver = ? ORDER BY id DESC LIMIT ?", (name, limit))

    def request(self, name: str, request_id: int) -> ReceivedRequest | None:
        """Return one request."""
        requests = self._requests("receiver = ? AND id = ?", (name, request_id))
        return requests[0] if requests else None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _requests(self, where: str, values: Sequence[str | int]) -> list[ReceivedRequest]:
        query = f"SELECT id, received_ms, status, delay, headers, body FROM requests WHERE {where}"
        with self._lock:
            rows = self._database.execute(query, values).fetchall()
        return [
            ReceivedRequest(
                request_id, received_ms, status, delay, tuple(map(tuple, json.loads(headers))), body
            )
            for request_id, received_ms, status, delay, headers, body in rows
        ]

    def _next_behaviour(self, name: str) -> Behaviour:
        query = "SELECT status, delay, times FROM receivers WHERE name = ?"
        row = self._database.execute(query, (name,)).fetchone()
        if row is None:
            self._make_room(name)
            self._database.execute("INSERT INTO receivers VALUES (?, '', 200, 0.0, NULL)", (name,))
            return Behaviour()
        status, delay, times = row
        if times is not None:
            rest = Behaviour() if times <= 1 else Behaviour(status, delay, times - 1)
            self._database.execute(
                "UPDATE receivers SET status = ?, delay = ?, times = ? WHERE name = ?",
                (rest.status, rest.delay, rest.times, name),
            )
        return Behaviour(status, delay, times)

    def _make_room(self, name: str) -> None:
        query = "SELECT count(*) FROM receivers WHERE name <> ?"
        if self._database.execute(query, (name,)).fetchone()[0] >= MOST_RECEIVERS:
            raise TooManyReceivers

    def _trim(self, name: str) -> None:
        """Delete the oldest requests beyond the bounds; the latest one stays."""
        self._database.execute(
            "DELETE FROM requests WHERE receiver = ? AND id <="
            " (SELECT id FROM requests WHERE receiver = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
            (name, name, MOST_REQUESTS),
        )
        total = "SELECT coalesce(sum(size), 0) FROM requests"
        while self._database.execute(total).fetchone()[0] > MOST_BYTES:
            oldest = "DELETE FROM requests WHERE id = (SELECT min(id) FROM requests)"
            self._database.execute(oldest)
