"""Measure inbound mail: its rate from the first octet to the post, and the memory of a large one.

A host sends messages of 5 KB to an inbound domain as fast as they are taken, and a target takes
what is relayed; both run on the same cores as the service, whose limits are the default ones. The
rate is that of the whole journey: received, stored, read, judged, recorded and posted. Then
messages of 20 MB come: one is relayed, one is forwarded, and one is read. Each process shows the
most memory that it had meanwhile beyond what it had before.
"""

from __future__ import annotations

import base64
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil  # type: ignore[import-untyped]
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from tests.bench.inbound_hosts import Target, relay_target, send_all
from tests.bench.timing import rates, verdict
from tests.free_ports import free_port
from tests.journey.service import Service, eventually, name_of

MESSAGES = 3_000
COUNTED_MESSAGES = 1_000
CONNECTIONS = 20
RATE = 200.0
MEGABYTES = 60.0
DOMAIN = "inbound.test"
FORWARD_TO = "desk@inbox.test"
LARGE = 20 * 1024 * 1024
_HEAD = (
    b"From: Ann <ann@sender.test>\r\nTo: help@inbound.test\r\nSubject: A question\r\n"
    b"Message-ID: <%b@sender.test>\r\nMIME-Version: 1.0\r\n"
)
_LINE = b"Some words of a message, as they are in the lines of most.\r\n"


def small_message() -> bytes:
    """Return a message of 5 KB with a text and an html part."""
    head = _HEAD % b"small" + b'Content-Type: multipart/alternative; boundary="b"\r\n\r\n'
    text = b"--b\r\nContent-Type: text/plain\r\n\r\n" + _LINE * 38
    html = b"--b\r\nContent-Type: text/html\r\n\r\n<p>" + _LINE * 38 + b"</p>\r\n"
    return head + text + html + b"--b--\r\n"


def large_message(size: int = LARGE - 2_000) -> bytes:
    """Return a message of nearly 20 MB with one attachment."""
    head = _HEAD % b"large" + b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n'
    head += b"--b\r\nContent-Type: text/plain\r\n\r\n" + _LINE
    head += b'--b\r\nContent-Type: application/pdf; name="a.pdf"\r\n'
    head += b"Content-Transfer-Encoding: base64\r\n\r\n"
    end = b"--b--\r\n"
    octets = os.urandom((size - len(head) - len(end)) // 78 * 57)
    return head + base64.encodebytes(octets).replace(b"\n", b"\r\n") + end


def main() -> None:
    """Print the rate and the memory with their bars."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    signatures = rates({"rsa": lambda: key.sign(b"x" * 700, PKCS1v15(), SHA256())})["rsa"]
    port = free_port()
    with tempfile.TemporaryDirectory() as directory, relay_target() as target:
        service = Service(Path(directory))
        try:
            service.start(INBOUND_PORT=str(port))
            _register(service, target)
            _print_rate(service, port, target, signatures)
            _print_memory(service, port, target)
        finally:
            service.stop()
    with tempfile.TemporaryDirectory() as directory, relay_target() as target:
        service = Service(Path(directory))
        try:
            service.start(INBOUND_PORT=str(port), COUNT_REQUESTS="1")
            _register(service, target)
            _print_requests(service, port, target)
        finally:
            service.stop()


def _register(service: Service, target: Target) -> None:
    routes = [
        {"pattern": "forward", "action": "forward", "forward_to": FORWARD_TO},
        {"pattern": "store", "action": "store"},
    ]
    webhook = {"target": target.url, "match": {"domain": DOMAIN}, "name": "Bench"}
    for method, path, body in (
        ("POST", "inbound-domains", {"domain": DOMAIN}),
        ("PUT", f"inbound-domains/{DOMAIN}/routes", {"routes": routes}),
        # What is forwarded is sent from it
        ("POST", "sending-domains", {"domain": DOMAIN}),
        ("POST", f"sending-domains/{DOMAIN}/verify", {"dkim_verify": True}),
        ("POST", "relay-webhooks", webhook),
    ):
        response = service.request(method, f"/api/v1/{path}", body)
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {response.body!r}")


def _print_rate(service: Service, port: int, target: Target, signatures: float) -> None:
    message = small_message()
    send_all(port, [f"warm@{DOMAIN}"] * 100, message, 10)
    eventually(lambda: len(target.posts) >= 100)
    recipients = [f"help+{number}@{DOMAIN}" for number in range(MESSAGES)]
    used = _processor_seconds(service)
    began = time.monotonic()
    ids = send_all(port, recipients, message, CONNECTIONS)
    received = time.monotonic() - began
    batch_ids = {f"{each}00" for each in ids}
    eventually(lambda: batch_ids <= set(target.posts))
    relayed = target.last - began
    costs = _processor_seconds(service)
    repeated = sum(target.posts[each] - 1 for each in batch_ids)
    rate = MESSAGES / relayed
    print(f"received and stored: {MESSAGES / received:,.0f} messages a second of 5 KB")
    print(
        f"received, stored and relayed: {rate:,.0f} messages a second, {repeated} posted again, "
        f"{rate / signatures:.3f} of the RSA-2048 rate [{verdict(rate >= RATE)}: {RATE:.0f}]"
    )
    each = {name: (costs[name] - used.get(name, 0.0)) * 1000 / MESSAGES for name in costs}
    text = ", ".join(f"{name} {cost:.1f}" for name, cost in each.items() if cost >= 0.1)
    print(f"processor time: {sum(each.values()):.1f} ms a message ({text})")


def _processor_seconds(service: Service) -> dict[str, float]:
    """Return the processor time that the processes of each name have used so far."""
    seconds: dict[str, float] = {}
    for process in service.family():
        times = process.cpu_times()
        name = name_of(process)
        seconds[name] = seconds.get(name, 0.0) + times.user + times.system
    return seconds


def _print_requests(service: Service, port: int, target: Target) -> None:
    """Print the AWS requests of a message, in a run of its own: counting them takes time."""
    message = small_message()
    send_all(port, [f"warm@{DOMAIN}"] * 100, message, 10)
    eventually(lambda: len(target.posts) >= 100)
    eventually(lambda: not service.queued())
    before = service.cloud_counts()
    ids = send_all(port, [f"help@{DOMAIN}"] * COUNTED_MESSAGES, message, CONNECTIONS)
    eventually(lambda: {f"{each}00" for each in ids} <= set(target.posts))
    eventually(lambda: not service.queued())
    counts = service.cloud_counts().minus(before)
    names = sorted(counts.by_operation, key=counts.by_operation.__getitem__, reverse=True)
    each = ", ".join(
        f"{name} {count:.2f}"
        for name in names
        if (count := counts.by_operation[name] / COUNTED_MESSAGES) >= 0.02
    )
    print(f"AWS requests: {counts.requests / COUNTED_MESSAGES:.2f} a message ({each})")
    print(f"DynamoDB: {counts.write_units / COUNTED_MESSAGES:.1f} write units a message")


def _print_memory(service: Service, port: int, target: Target) -> None:
    """Print the most memory that each process takes for one large message."""
    message = large_message()
    with _growth_of_each(service, "relayed"):
        (message_id,) = send_all(port, [f"large@{DOMAIN}"], message, 1)
        eventually(lambda: f"{message_id}00" in target.posts)
    print(f"20 MB message, posted as {target.largest / 2**20:.1f} MB of JSON")
    with _growth_of_each(service, "forwarded"):
        send_all(port, [f"forward@{DOMAIN}"], message, 1)
        eventually(lambda: service.mailbox(to=FORWARD_TO), 60)
    (message_id,) = send_all(port, [f"store@{DOMAIN}"], message, 1)
    path = f"/api/v1/inbound-messages/{message_id}00"
    eventually(lambda: service.request("GET", path).status == 200)
    with _growth_of_each(service, "read"):
        raw = service.request("GET", f"{path}/raw")
        if len(raw.body) < len(message):
            raise RuntimeError(f"read: {raw.status}, {len(raw.body)} bytes")


@contextmanager
def _growth_of_each(service: Service, what: str) -> Iterator[None]:
    """Print the most memory of each process during the block beyond what it had before."""
    before = {}
    for process in service.family():
        Path(f"/proc/{process.pid}/clear_refs").write_text("5")  # the peak starts again
        before[process.pid] = _memory(process, "VmRSS")
    yield
    for process in service.family():
        if process.pid in before:
            growth = _memory(process, "VmHWM") - before[process.pid]
            if growth >= 1:
                holds = verdict(growth <= MEGABYTES)
                name = name_of(process)
                print(
                    f"20 MB message {what}, {name:10}: {growth:5.1f} MB [{holds}: {MEGABYTES:.0f}]"
                )


def _memory(process: psutil.Process, kind: str) -> float:
    """Return the memory of a process in megabytes: ``VmRSS`` now, ``VmHWM`` at its peak."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(kind))


if __name__ == "__main__":
    main()
