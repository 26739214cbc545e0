"""Listen to the live stream of the local runtime."""

from __future__ import annotations

import http.client
import json
import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.journey.service import PATIENCE, Service


class StreamEvent(NamedTuple):
    """One event of the stream."""

    event_id: str
    kind: str
    data: Any


class Listener:
    """A client of ``/local/stream``, which reads in a thread."""

    def __init__(self, service: Service, last_event_id: str = "") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", service.api_port, PATIENCE)
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        self._connection.request("GET", "/local/stream", headers=headers)
        self._response = self._connection.getresponse()
        assert self._response.status == 200
        self._events: queue.Queue[StreamEvent] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        assert self.next(lambda event: True).kind == "mailbox"

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._connection.sock is not None
        self._connection.sock.shutdown(2)
        self._thread.join(PATIENCE)
        self._connection.close()

    def next(self, condition: Callable[[StreamEvent], Any]) -> StreamEvent:
        """Return the next event for which the condition is true; earlier ones are lost."""
        while True:
            event = self._events.get(timeout=PATIENCE)
            if condition(event):
                return event

    def message_to(self, recipient: str) -> StreamEvent:
        """Return the arrival of the next message to a recipient."""
        return self.next(lambda each: each.kind == "message" and each.data["to"] == recipient)

    def event_of(self, recipient: str, kind: str) -> StreamEvent:
        """Return the next recorded event of a type about a recipient."""
        return self.next(
            lambda each: (
                each.kind == "event"
                and (each.data["type"], each.data.get("rcpt_to")) == (kind, recipient)
            )
        )

    def has_ended(self) -> bool:
        """Tell whether the service ended the stream."""
        self._thread.join(PATIENCE)
        return not self._thread.is_alive()

    def _read(self) -> None:
        fields: dict[str, str] = {}
        while line := self._read_line():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif "event" in fields:
                data = json.loads(fields["data"])
                self._events.put(StreamEvent(fields.get("id", ""), fields["event"], data))
                fields = {}

    def _read_line(self) -> bytes:
        try:
            return self._response.readline()
        except (OSError, ValueError, AttributeError):
            return b""
