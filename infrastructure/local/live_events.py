"""Bring recorded events from the workers to the gateway, while somebody listens to its stream.

The gateway opens a port on loopback then, and writes it with a secret to a file in the data
directory. A worker that finds no file does nothing. One that finds it sends a line for each event,
in the form in which searches show it.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from chalicelib.core.message_event import Event
from chalicelib.events.documentation import TYPES
from chalicelib.events.view import event_view
from infrastructure.local.supervisor.private_files import replace_private

#: The most events of one batch that are sent; the others are a gap
MOST_IN_BATCH = 200
_FILE = "live-events.json"
_HOST = "127.0.0.1"
_TIMEOUT_SECONDS = 0.5
_LONGEST_LINE = 4 * 1024 * 1024


class EventSender:
    """Sends events to the gateway if it listens; an observer of recorded events."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / _FILE

    def __call__(self, events: Sequence[Event]) -> None:
        """Send a batch. A gateway that does not take it soon misses it."""
        try:
            address = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return
        views = [event_view(event) for event in events if event["type"] in TYPES]
        lines = [address["secret"], *map(json.dumps, views[:MOST_IN_BATCH])]
        if len(views) > MOST_IN_BATCH:
            lines.append(json.dumps(None))
        with (
            suppress(OSError),
            socket.create_connection((_HOST, address["port"]), _TIMEOUT_SECONDS) as connection,
        ):
            connection.sendall("".join(f"{line}\n" for line in lines).encode())


class EventReceiver:
    """Receives events in the gateway, between ``start`` and ``stop``.

    ``receive`` gets each event, and ``None`` where some are missing.
    """

    def __init__(self, data_dir: Path, receive: Callable[[Any], None]) -> None:
        self._path = data_dir / _FILE
        self._receive = receive
        self._secret = ""
        self._server: asyncio.Server | None = None
        # Of a process that was killed
        self._path.unlink(missing_ok=True)

    async def start(self) -> None:
        """Listen, and let the workers know."""
        self._secret = secrets.token_hex(16)
        self._server = await asyncio.start_server(self._serve, _HOST, 0, limit=_LONGEST_LINE)
        port = self._server.sockets[0].getsockname()[1]
        replace_private(self._path, json.dumps({"port": port, "secret": self._secret}))

    async def stop(self) -> None:
        """Stop listening."""
        self._path.unlink(missing_ok=True)
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            secret = (await reader.readline()).strip()
            if hmac.compare_digest(secret, self._secret.encode()):
                while line := await reader.readline():
                    self._receive(json.loads(line))
        except (OSError, ValueError):  # a worker that died, or a line that is too long
            self._receive(None)
        finally:
            writer.close()
