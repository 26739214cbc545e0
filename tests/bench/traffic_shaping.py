"""Send to a provider that allows five messages a second, beside 50 other destinations.

Two delivery containers, each a machine of its own as far as the service knows, share a local cloud.
They deliver the mail of the other destinations alone, and with a backlog for the provider before it
in the same queue, in alternating rounds. Printed are the rates of the others and the ratio of their
medians (bar: 0.90). The last run goes on for a while: printed are also how many messages a second
the provider got (bar: 4.7), and the most in any second of ten seconds (bar: 5.5).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median

import psutil

from chalicelib.core import ids
from chalicelib.core.settings import settings
from chalicelib.delivery import delivery_batch
from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.delivery.shaping import store
from chalicelib.delivery.shaping.providers import Limits
from chalicelib.delivery.store.work_units import WorkUnit
from infrastructure.local.dns.resolver import Records
from infrastructure.local.dns.server import DnsServer
from tests.bench.local_cloud import local_cloud
from tests.bench.receiving_host import Arrivals, ReceivingHost, receiving_host
from tests.bench.timing import alternating
from tests.unit.infrastructure.clouds import ROOT, eventually

BACKLOG = 10_000
DESTINATIONS = 50
OTHERS = 40_000
ROUNDS = 7
RATE = 5
OBSERVED_SECONDS = 40
CHUNK = 100
MACHINES = 2
_SLOW = "slow.test"
_BODY = b"From: a@sender.test\r\nSubject: s\r\n\r\n" + b"Some words of a message.\r\n" * 200


class _Zone:
    """Every domain has a mail host of its own, at this machine."""

    def lookup(self, name: str) -> Records | None:
        return [("A", "127.0.0.1")] if name.startswith("mx.") else [("MX", f"10 mx.{name}")]


def main() -> None:
    """Measure both runs and print the figures."""
    print(f"{DESTINATIONS} other destinations, {OTHERS:,} messages of 5 KB, {MACHINES} machines")
    beside = f"beside a backlog of {BACKLOG:,}"
    rounds = alternating(
        {"alone": lambda: _run(backlog=0)[0], beside: lambda: _run(BACKLOG)[0]}, ROUNDS
    )
    for name, each in rounds.items():
        rates = ", ".join(f"{rate:,.0f}" for rate in each)
        print(f"{name:34}{median(each):10,.0f} messages/s, the median of {rates}")
    best = max(rounds[beside]) / max(rounds["alone"])
    ratio = median(rounds[beside]) / median(rounds["alone"])
    print(f"{'ratio (bar 0.90)':34}{ratio:10.2f} (of the best rounds {best:.2f})")
    _, arrivals = _run(BACKLOG, OBSERVED_SECONDS)
    times = [at for at, domain in arrivals if domain == _SLOW]
    seconds = times[-1] - times[0]
    print(f"the provider allows {RATE} a second: {len(times)} messages in {seconds:.0f} s")
    print(f"{'rate used (bar 4.7)':34}{(len(times) - 1) / seconds:10.2f} messages/s")
    print(f"{'most in any ten seconds (bar 5.5)':34}{_most(times) / 10:10.2f} messages/s")


def _most(times: list[float]) -> int:
    return max(sum(start <= each < start + 10 for each in times) for start in times)


def _run(backlog: int, seconds: float = 0) -> tuple[float, Arrivals]:
    """Deliver everything but the backlog, and go on until so many seconds have passed.

    Return the rate of the others, and all arrivals.
    """
    server = DnsServer("127.0.0.1", 0, _Zone())
    server.start()
    with ExitStack() as stack:
        host = stack.enter_context(receiving_host())
        stack.enter_context(local_cloud())
        journal = stack.enter_context(tempfile.TemporaryDirectory())
        os.environ |= {
            "TRANSPORT": "mx",
            "MX_PORT": str(host.port),
            "DNS_SERVERS": f"127.0.0.1:{server.port}",
            "ALLOW_PRIVATE_ADDRESSES": "true",
            "DELIVERY": "container",
            "DELIVERY_PROCESSES": "1",
            "DELIVERY_JOURNAL": journal,
        }
        settings.cache_clear()
        limits = Limits(4, 1_000, per_second=RATE, is_shared=True)
        store.change_overrides(lambda before: before | {_SLOW: limits})
        _queue(backlog, 1, [_SLOW])
        _queue(OTHERS, 2, [f"d{number}.test" for number in range(DESTINATIONS)])
        stack.enter_context(_machines())
        return _observe(host, seconds)


def _observe(host: ReceivingHost, seconds: float) -> tuple[float, Arrivals]:
    arrivals: Arrivals = []
    started = time.time()

    def is_done() -> bool:
        arrivals.extend(host.arrivals())
        time.sleep(0.2)
        return sum(domain != _SLOW for _, domain in arrivals) >= OTHERS

    eventually(is_done, 600)
    others = [at for at, domain in arrivals if domain != _SLOW]
    while time.time() < started + seconds:
        time.sleep(1)
    arrivals.extend(host.arrivals())
    return OTHERS / (max(others) - min(at for at, _ in arrivals)), arrivals


def _queue(count: int, account: int, domains: list[str]) -> None:
    random.seed(7)
    transmission = ids.transmission_id()
    for first in range(0, count, CHUNK):
        unit = WorkUnit(transmission, str(first // CHUNK))
        messages = [
            _message(transmission, n, random.choice(domains)) for n in range(first, first + CHUNK)
        ]
        event = {
            "customer_id": str(account),
            "transmission_id": transmission,
            "ip_pool": "default",
        }
        delivery_batch.queue(DeliveryBatch(unit, 1, int(time.time() * 1000), event, messages))


def _message(transmission: str, index: int, domain: str) -> FinishedMessage:
    name = ids.message_id(transmission, index)
    recipient = f"r{index}@{domain}"
    event = {"message_id": name, "rcpt_to": recipient, "subject": "s"}
    return FinishedMessage(index, "b@sender.test", recipient, event, _BODY)


@contextmanager
def _machines() -> Iterator[None]:
    command = [sys.executable, "-m", "outbound"]
    machines = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) for _ in range(MACHINES)
    ]
    try:
        yield
    finally:
        for machine in machines:
            machine.send_signal(signal.SIGTERM)
        psutil.wait_procs(map(psutil.Process, [each.pid for each in machines]), timeout=5)
        for machine in machines:
            machine.kill()
            machine.wait()


if __name__ == "__main__":
    main()
