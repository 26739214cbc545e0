"""Load a service that a backup is made of, and tell what the backup knows of it."""

from __future__ import annotations

import base64
import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path

from tests.journey.service import eventually

#: Of a message that is an object of the bucket, as its size does not fit into a queue message
LONG_TEXT = base64.encodebytes(random.Random(39).randbytes(400_000)).decode()


class Load:
    """Sends single messages and small campaigns one after the other, from a thread.

    ``send`` sends a text to recipients and returns the transmission's id.
    """

    def __init__(self, send: Callable[[list[str], str], str]) -> None:
        self._send_one = send
        self._is_over = threading.Event()
        #: Recipients of each transmission that was answered, by its id
        self.answers: dict[str, list[str]] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._send)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def wait_for(self, count: int) -> None:
        """Return when so many transmissions were answered."""
        eventually(lambda: len(self.answers) >= count)

    def _send(self) -> None:
        number = 0
        while not self._is_over.is_set():
            number += 1
            size = 60 if number % 10 == 0 else 1
            recipients = [f"load-{number}-{place}@example.test" for place in range(size)]
            text = LONG_TEXT if number % 25 == 0 else "a short text"
            try:
                id = self._send_one(recipients, text)
            except (OSError, HTTPException, AssertionError):  # the machine is dead, or dies
                return
            self.answers[id] = recipients


def recorded_recipients(data_dir: Path, answers: dict[str, list[str]]) -> set[str]:
    """Return the recipients whose delivery the journals of a restored folder have."""
    recipients = set()
    for path in (data_dir / "journal").iterdir():
        id = path.stem.partition("-")[0]
        for line in path.read_text().splitlines():
            index, entry = json.loads(line)
            if entry["outcome"]["outcome"] == "delivered" and id in answers:
                recipients.add(answers[id][index])
    return recipients
