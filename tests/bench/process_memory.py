"""Measure what memory the service's processes keep after calls with large bodies.

Eight threads make calls of all kinds in random order, with bodies of up to 20 MB: sends over HTTP
and SMTP, templates and previews, stored lists, searches, and calls that are refused. Then the
service comes to rest, and what each process keeps is judged. The largest figure on the way is shown
too; it depends on how many large bodies are in work at once.

``python -m tests.bench.process_memory MINUTES`` takes another time than four minutes.
"""

from __future__ import annotations

import base64
import itertools
import os
import random
import smtplib
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from tests.journey.service import KEY, Service, eventually, name_of

MINUTES = 4.0
THREADS = 8
BARS = {"api": 220, "worker-1": 200, "worker-2": 200, "cloud": 150}
_SHOWN = (*BARS, "relay")
_MEGABYTE = 1_000_000
_LARGEST = 20 * _MEGABYTE
# Base64 of it, with the rest of a message, is just below the largest message
_FILE = base64.b64encode(os.urandom(14 * _MEGABYTE))
_PARAGRAPH = '<p class="a">Dear {{name}}, <a href="https://shop.example/%d">look: déjà vu</a></p>\n'
# A hundred thousand of them, the longest list, are 20 MB
_LISTED = (
    b'{"address": {"email": "reader.%d@inbox.test", "name": "A Reader"}, "tags": ["news", "daily"],'
    b' "metadata": {"city": "Utrecht"}, "substitution_data": {"name": "Reader", "number": %d}}'
)
_BREATH = 0.05


class Load:
    """Makes calls of all kinds to ``service``, each of which is checked for its status."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._numbers = itertools.count()
        self._context = ssl.create_default_context()
        self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE
        self._calls: dict[Callable[[random.Random], None], int] = {
            self._send: 6,
            self._send_file: 3,
            self._send_by_smtp: 3,
            self._write_template: 3,
            self._preview: 3,
            self._search: 3,
            self._store_list: 1,
            self._send_too_much: 1,
            self._send_broken: 1,
            self._send_without_key: 1,
        }
        #: Calls by kind
        self.counts = dict.fromkeys([call.__name__.strip("_") for call in self._calls], 0)

    def run(self, seed: int, until: float) -> None:
        """Make calls until a time of the monotonic clock."""
        rng = random.Random(seed)
        while time.monotonic() < until:
            (call,) = rng.choices(list(self._calls), list(self._calls.values()))
            call(rng)
            self.counts[call.__name__.strip("_")] += 1
            time.sleep(_BREATH)

    def _post(self, path: str, body: bytes, status: int, *, key: str = KEY) -> bytes:
        response = self._service.request("POST", path, body, key=key)
        assert response.status == status, (path, response.status, response.body[:500])
        return response.body

    def _address(self) -> str:
        return f"memory.{next(self._numbers)}@inbox.test"

    def _send(self, rng: random.Random) -> None:
        body = b'{"recipients": [%s], "content": {%s, "html": "%s"}}' % (
            b",".join(self._recipient() for _ in range(rng.choice((1, 1, 1, 50)))),
            b'"from": "hello@example.test", "subject": "Hello"',
            _html(rng, _size(rng, 400_000)),
        )
        self._post("/api/v1/transmissions", body, 200)

    def _send_file(self, rng: random.Random) -> None:
        self._post("/api/v1/transmissions", self._with_files(_size(rng, len(_FILE)), 1), 200)

    def _send_too_much(self, rng: random.Random) -> None:
        self._post("/api/v1/transmissions", self._with_files(_LARGEST, 1), 422)

    def _send_broken(self, rng: random.Random) -> None:
        body = self._with_files(_size(rng, _LARGEST), 1)
        self._post("/api/v1/transmissions", body[:-1] + b",", 422)

    def _send_without_key(self, rng: random.Random) -> None:
        body = self._with_files(_size(rng, _LARGEST), 1)
        self._post("/api/v1/transmissions", body, 401, key="wrong")

    def _with_files(self, size: int, count: int) -> bytes:
        file = b'{"name": "a.bin", "type": "application/octet-stream", "data": "%s"}'
        data = (_FILE * (size // len(_FILE) + 1))[: size // 4 * 4]
        return b'{"recipients": [%s], "content": {%s, "attachments": [%s]}}' % (
            self._recipient(),
            b'"from": "hello@example.test", "subject": "Hello", "text": "Hello"',
            b",".join([file % data] * count),
        )

    def _send_by_smtp(self, rng: random.Random) -> None:
        recipient = self._address()
        lines = [_FILE[at : at + 76] for at in range(0, _size(rng, len(_FILE) - 10**6), 76)]
        head = f"From: hello@example.test\r\nTo: {recipient}\r\nSubject: Hello\r\n\r\n".encode()
        with smtplib.SMTP("127.0.0.1", self._service.smtp_port, timeout=120) as client:
            client.starttls(context=self._context)
            client.login("SMTP_Injection", KEY)
            client.sendmail("hello@example.test", [recipient], head + b"\r\n".join(lines))

    def _write_template(self, rng: random.Random) -> None:
        body = b'{"id": "memory-%d", "published": true, "content": {%s, "html": "%s"}}' % (
            number := next(self._numbers),
            b'"from": "hello@example.test", "subject": "Hello"',
            _html(rng, _size(rng, 1_000_000)),
        )
        self._post("/api/v1/templates", body, 200)
        data = b'{"substitution_data": {"name": "Anna"}}'
        self._post(f"/api/v1/templates/memory-{number}/preview", data, 200)

    def _preview(self, rng: random.Random) -> None:
        body = b'{"substitution_data": {"name": "Anna"}, "content": {%s, "html": "%s"}}' % (
            b'"from": "hello@example.test", "subject": "Hello"',
            _html(rng, _size(rng, 1_000_000)),
        )
        self._post("/api/v1/utils/content-previewer", body, 200)

    def _search(self, rng: random.Random) -> None:
        query = rng.choice(("per_page=1000", "per_page=10", "recipients=memory.1@inbox.test"))
        response = self._service.request("GET", f"/api/v1/events/message?{query}")
        assert response.status == 200, response.body

    def _store_list(self, rng: random.Random) -> None:
        count = _size(rng, 100_000)
        recipients = b",".join(_LISTED % (each, each) for each in range(count))
        number = next(self._numbers)
        body = b'{"id": "memory-%d", "recipients": [%s]}' % (number, recipients)
        self._post("/api/v1/recipient-lists", body, 200)
        self._service.request("DELETE", f"/api/v1/recipient-lists/memory-{number}")

    def _recipient(self) -> bytes:
        address = self._address().encode()
        return b'{"address": "%s", "substitution_data": {"name": "Anna"}}' % address


def _size(rng: random.Random, most: int) -> int:
    """Draw a size between 1,000 and ``most``: most are small, as in practice."""
    return int(1000 * (most / 1000) ** rng.random())


def _html(rng: random.Random, size: int) -> bytes:
    """Return html of a size, as it stands in JSON; no two are the same."""
    number = rng.randrange(10**9)
    count = size // len(_PARAGRAPH) + 1
    text = "".join(_PARAGRAPH % each for each in range(number, number + count))
    return text.replace('"', '\\"').replace("\n", "\\n").encode()


def measure(service: Service, minutes: float) -> tuple[dict[str, float], dict[str, float]]:
    """Run the load; return the megabytes of each process at rest, and the most on the way."""
    load = Load(service)
    until = time.monotonic() + 60 * minutes
    threads = [threading.Thread(target=load.run, args=(n, until)) for n in range(THREADS)]
    processes = {name_of(each): each for each in service.running(*_SHOWN)}
    most = dict.fromkeys(processes, 0.0)
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.2)
        for name, process in processes.items():
            most[name] = max(most[name], _megabytes(process))
    print("calls:", ", ".join(f"{name} {count}" for name, count in load.counts.items()))
    eventually(lambda: service.queued() == 0, 300)
    time.sleep(5)
    return {name: _megabytes(process) for name, process in processes.items()}, most


def _megabytes(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / _MEGABYTE


def main(minutes: float = MINUTES) -> None:
    """Run the load for some minutes and print the figures with their bars."""
    with tempfile.TemporaryDirectory() as directory, Service(Path(directory)) as service:
        at_rest, most = measure(service, minutes)
    for name, megabytes in sorted(at_rest.items()):
        verdict = ""
        if name in BARS:
            verdict = f" [{'holds' if megabytes <= BARS[name] else 'FAILS'}: {BARS[name]}]"
        print(f"{name}: {megabytes:.0f} MB at rest{verdict}, at most {most[name]:.0f} MB")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
