"""Send singles through production on one machine to a Postfix, then kill each of its processes.

Applications post :data:`RATE` messages a second over HTTP for ``MINUTES`` (2 by default), whether
or not the answers come. Printed are the rate that left, the mean of what was queued in both halves,
the times until messages were accepted, and the memory of all processes (PSS: memory that processes
share counts once). Then each process is killed once under the same load, and every message is
counted at the Postfix. It needs root and the Debian package postfix.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, quantiles

import psutil
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from tests.bench.timing import rates, verdict
from tests.free_ports import free_port
from tests.journey.service import eventually
from tests.machine.machine import DOMAIN, KEY, TOKEN, Machine
from tests.machine.outside import Outside, outside
from tests.mail_servers.postfix_process import postfix_process

Arrived = Callable[[], Counter[str]]
"""Returns how many messages each recipient got."""

RATE = 60
MOST_MS, MOST_MEGABYTES = 150.0, 600
_PROCESSES = ("delivery", "worker-1", "edge", "relay", "keeper", "store")
_KILL_EVERY = 12.0
_CLIENTS = 24
_MAIN = """
myhostname = mx.outside.example
mynetworks = 127.0.0.0/8
smtpd_tls_security_level = none
default_transport = discard:
relay_transport = discard:
"""
_SENT = re.compile(rb"to=<([^>]+)>.*status=sent \(")
_BODY = "Hello from the benchmark. " * 80


class _Load:
    """Posts messages at a rate; ``accepted`` are their recipients, ``seconds`` the times."""

    def __init__(self, machine: Machine, first: int = 0) -> None:
        self.accepted: list[str] = []
        self.seconds: list[float] = []
        self._machine = machine
        self._numbers = itertools.count(first)
        self._local = threading.local()

    def run(self, seconds: float) -> None:
        """Post for so long, and return when all was answered."""
        futures: list[Future[None]] = []
        began = time.perf_counter()
        with ThreadPoolExecutor(_CLIENTS) as clients:
            for number in range(int(seconds * RATE)):
                pause = began + number / RATE - time.perf_counter()
                if pause > 0:
                    time.sleep(pause)
                futures.append(clients.submit(self._post, time.perf_counter()))
        for future in futures:
            future.result()

    def _post(self, due: float) -> None:
        number = next(self._numbers)
        recipient = f"r{number}@inbox{number % 10}.example"
        content = {"from": "hello@acme.example", "subject": f"No. {number}", "text": _BODY}
        body = json.dumps({"recipients": [{"address": recipient}], "content": content})
        headers = {
            "Host": DOMAIN,
            "Authorization": KEY,
            "Content-Type": "application/json",
            "Idempotency-Key": f"bench-{number}",
        }
        # As a client does whose request was not answered
        status = eventually(lambda: self._try(body, headers))
        assert status == 200, status
        self.seconds.append(time.perf_counter() - due)
        self.accepted.append(recipient)

    def _try(self, body: str, headers: dict[str, str]) -> int:
        try:
            connection = self._connection()
            connection.request("POST", "/api/v1/transmissions", body, headers)
            response = connection.getresponse()
            response.read()
            # 409: the request that was cut off still has the key
            return 0 if response.status in (409, 502, 503) else response.status
        except (OSError, http.client.HTTPException):
            self._local.connection = None
            return 0

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            port = self._machine.ports["HTTP_PORT"]
            connection = self._local.connection = http.client.HTTPConnection(
                "127.0.0.1", port, timeout=30
            )
        return connection


class _Watch:
    """Looks at queues and memory every few seconds, in a thread."""

    def __init__(self, machine: Machine) -> None:
        self.queued: list[int] = []
        self.megabytes: list[float] = []
        self._machine = machine

    def look(self) -> None:
        """Add what is now."""
        response = self._machine.request("GET", "/metrics", key=f"Bearer {TOKEN}")
        counts = re.findall(r"^postfinch_queue_messages\{.*\} (\S+)$", response.body.decode(), re.M)
        self.queued.append(int(sum(map(float, counts))))
        self.megabytes.append(_megabytes(self._machine))


@contextmanager
def _watching(machine: Machine) -> Iterator[_Watch]:
    watch, stop = _Watch(machine), threading.Event()

    def look() -> None:
        while not stop.wait(5):
            watch.look()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield watch
    finally:
        stop.set()
        thread.join()


def main() -> None:
    """Measure and print the figures."""
    minutes = float(os.environ.get("MINUTES", "2"))
    with (
        tempfile.TemporaryDirectory() as folder,
        outside() as place,
        _postfix(Path(folder) / "postfix", place) as arrived,
        Machine(Path(folder), **place.environment()) as machine,
    ):
        machine.add_domain(place.zone)
        _sustain(machine, arrived, minutes * 60)
        _kill(machine, arrived)


def _sustain(machine: Machine, arrived: Arrived, seconds: float) -> None:
    load = _Load(machine)
    load.run(3)  # until caches are warm
    warm = len(load.accepted)
    load.seconds.clear()
    before = time.process_time(), time.perf_counter()
    with _watching(machine) as watch:
        load.run(seconds)
        passed = time.perf_counter() - before[1]
        count = sum((arrived() & Counter(load.accepted)).values()) - warm
    p99 = quantiles(load.seconds, n=100)[98] * 1000
    half = len(watch.queued) // 2
    first, second = mean(watch.queued[:half]), mean(watch.queued[half:])
    rate = count / passed
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    signatures = rates({"rsa": lambda: key.sign(b"x" * 700, PKCS1v15(), SHA256())})["rsa"]
    print(
        f"left for the Postfix{rate:8.1f} messages/s of {RATE} posted, "
        f"{rate / signatures:.3f} of the RSA-2048 rate [{verdict(rate >= RATE * 0.98)}]"
    )
    print(
        f"queued             {first:8.0f} messages in the first half, {second:.0f} in the second "
        f"[{verdict(second <= 1.5 * first + RATE)}: flat]"
    )
    print(
        f"accepted within    {p99:8.0f} ms (99 percent) [{verdict(p99 < MOST_MS)}: {MOST_MS:.0f}]"
    )
    most = max(watch.megabytes)
    size = sum(each.stat().st_size for each in machine.data_dir.rglob("*") if each.is_file())
    print(f"disk               {size / len(load.accepted) / 1000:8.1f} GB for a million messages")
    print(
        f"memory             {most:8.0f} MB [{verdict(most <= MOST_MEGABYTES)}: {MOST_MEGABYTES}]"
    )


def _kill(machine: Machine, arrived: Arrived) -> None:
    load = _Load(machine, 10_000_000)
    thread = threading.Thread(target=load.run, args=(_KILL_EVERY * (len(_PROCESSES) + 1),))
    thread.start()
    for name in _PROCESSES:
        time.sleep(_KILL_EVERY)
        for process in machine.running(name):
            process.kill()
    thread.join()
    began = time.perf_counter()
    recipients = set(load.accepted)
    eventually(lambda: recipients <= arrived().keys() or time.sleep(1), 900)
    counts = arrived()
    duplicates = sum(counts[recipient] - 1 for recipient in recipients)
    most = len(_PROCESSES) + 1  # the container has two processes
    print(
        f"killed             {', '.join(_PROCESSES)}: 0 of {len(recipients)} lost, {duplicates} "
        f"sent twice [{verdict(duplicates <= most)}: {most}], the last one "
        f"{time.perf_counter() - began:.0f} s after the last answer"
    )


def _megabytes(machine: Machine) -> float:
    total = 0.0
    for process in machine.family():
        try:
            total += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return total / 1e6


@contextmanager
def _postfix(folder: Path, place: Outside) -> Iterator[Arrived]:
    """Have a Postfix in place of the mail host; yield what counts its messages by recipient."""
    folder.mkdir()
    folder.parent.chmod(0o755)
    place.mail_port = free_port()
    log, counts, position = folder / "log", Counter[str](), [0]

    def arrived() -> Counter[str]:
        if log.exists():
            with log.open("rb") as file:
                file.seek(position[0])
                text = file.read()
            lines = text[: text.rfind(b"\n") + 1]
            position[0] += len(lines)
            counts.update(recipient.decode() for recipient in _SENT.findall(lines))
        return counts

    with postfix_process(folder, _MAIN, f"127.0.0.1:{place.mail_port} inet n - n - - smtpd"):
        yield arrived


if __name__ == "__main__":
    main()
