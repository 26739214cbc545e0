"""Deliver signed messages of 5 KB to a Postfix of this machine, beside a Postfix with OpenDKIM.

Both end at the same Postfix, which discards what it has accepted. Theirs is the usual way: a
program hands its mail to a Postfix, OpenDKIM signs it there, and Postfix sends it on. Ours signs
the messages in one process for each core, and a delivery container takes them from its queue in a
local cloud. Printed are the best rates of alternating rounds, their ratio (bar: 2.5), and each as a
fraction of the RSA-2048 signatures a second of one core. It needs root, and the Debian packages
postfix and opendkim.

The receiving Postfix stands for hosts elsewhere, which write to disks of their own. So it has its
queue in memory at first, then on the disk of this machine: there it writes each message before it
answers, once for each message of ours (one a process is between its dot and its record), and for
several at once of the 20 that the other Postfix sends at a time. What each side needs beside it (a
queue, a journal) is on the disk both times.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing.pool import Pool
from pathlib import Path
from statistics import median

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from chalicelib.core import ids
from chalicelib.core.process_group import usable_cores
from chalicelib.core.settings import settings
from chalicelib.delivery import delivery_batch
from chalicelib.delivery.delivery_batch import DeliveryBatch, FinishedMessage
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.delivery.transports import OutboundMessage, commit_at_once
from chalicelib.delivery.transports.session_pool import PoolLimits
from chalicelib.delivery.transports.smarthost import SmarthostTransport
from chalicelib.delivery.transports.smtp_opening import SessionOptions, TlsMode
from chalicelib.dkim.signing import Signer
from infrastructure.local.dns.resolver import Records
from infrastructure.local.dns.server import DnsServer
from tests.bench.local_cloud import local_cloud
from tests.bench.timing import alternating, rates
from tests.free_ports import free_port
from tests.mail_servers.postfix_process import postfix_process
from tests.unit.infrastructure.clouds import ROOT, eventually

#: Messages of a round, which lasts for about six seconds
THEIRS, OURS = 2_000, 5_000
CHUNK = 100
ROUNDS = 8
_THEIRS, _OURS = "Postfix with OpenDKIM", "Postfinch"
_DOMAIN, _SELECTOR = "sender.test", "s1"
_SENDER = f"a@{_DOMAIN}"
_HEADERS = (
    b"From: Sender <a@sender.test>\r\nTo: b@inbox.test\r\nSubject: bench\r\n"
    b"Date: Thu, 01 Jan 2026 00:00:00 +0000\r\nMessage-ID: <%d@sender.test>\r\n\r\n"
)
_LINE = b"Some words of a message, as they are in the lines of most.\r\n"
_CLIENTS = 20
_RECEIVER_QUEUES = {"in memory": "/dev/shm", "on the disk": None}

_MAIN = """
myhostname = {name}.test
mynetworks = 127.0.0.0/8
smtp_host_lookup = native
smtpd_tls_security_level = none
smtp_tls_security_level = none
"""
_RECEIVES = "default_transport = discard:\nrelay_transport = discard:\n"
_RELAYS = """
relayhost = [127.0.0.1]:{receiver}
smtpd_milters = unix:{milter}
milter_default_action = tempfail
"""
_OPENDKIM = """
Socket local:{socket}
UMask 000
Domain sender.test
Selector s1
KeyFile {key}
Canonicalization relaxed/relaxed
Mode s
RequireSafeKeys no
"""


class _Zone:
    """All domains have one mail host, this machine."""

    def lookup(self, name: str) -> Records | None:
        return [("A", "127.0.0.1")] if name.startswith("mx.") else [("MX", "10 mx.host.test")]


def main() -> None:
    """Measure both and print the figures."""
    if os.geteuid() or not shutil.which("postfix") or not shutil.which("opendkim"):
        print("needs root, and the Debian packages postfix and opendkim")
        return
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    rsa_rate = rates({"rsa": lambda: key.sign(b"x" * 700, PKCS1v15(), SHA256())})["rsa"]
    print(f"messages of 5 KB, the best of {ROUNDS} rounds")
    for place, parent in _RECEIVER_QUEUES.items():
        print(f"with the receiver's queue {place}")
        _print_rates(_rounds(key, parent), rsa_rate)


def _rounds(key: rsa.RSAPrivateKey, parent: str | None) -> dict[str, list[float]]:
    """Return the rates of both, with the receiver's queue in a folder of `parent`."""
    with ExitStack() as stack:
        folder = stack.enter_context(_folder())
        receiving = stack.enter_context(_folder(parent))
        receiver = stack.enter_context(_postfix(receiving, "receiver", _RECEIVES))
        milter = stack.enter_context(_opendkim(folder, key))
        relaying = _RELAYS.format(receiver=receiver.port, milter=milter)
        relay = stack.enter_context(_postfix(folder, "relay", relaying))
        container = stack.enter_context(_delivery_container(receiver.port, key))
        return alternating(
            {
                _THEIRS: lambda: _measure(receiver, THEIRS, lambda n: _inject(relay.port, n)),
                _OURS: lambda: _measure(receiver, OURS, container.send),
            },
            ROUNDS,
        )


def _print_rates(rounds: dict[str, list[float]], rsa_rate: float) -> None:
    for name, each in rounds.items():
        rate, all_rates = max(each), ", ".join(f"{rate:.0f}" for rate in each)
        print(f"{name:24}{rate:8,.0f} messages/s{rate / rsa_rate:8.3f} of the RSA-2048 rate")
        print(f"{'':24}(all rounds: {all_rates})")
    ours, theirs = rounds[_OURS], rounds[_THEIRS]
    medians = median(ours) / median(theirs)
    print(f"{'ratio (bar 2.5)':24}{max(ours) / max(theirs):8.2f} (of the medians {medians:.2f})")


@contextmanager
def _folder(parent: str | None = None) -> Iterator[Path]:
    """Make a folder that Postfix can enter; it is removed when the block ends."""
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _message(number: int) -> bytes:
    return _HEADERS % number + _LINE * 80


def _recipient(number: int) -> str:
    return f"r{number}@inbox{number % 10}.test"


def _measure(receiver: _Postfix, messages: int, send: Callable[[int], None]) -> float:
    """Return messages a second, from the first one until all have been received."""
    before = receiver.received()
    started = time.perf_counter()
    send(messages)
    eventually(lambda: time.sleep(0.05) or receiver.received() - before >= messages, 300)
    return messages / (time.perf_counter() - started)


class _Postfix:
    def __init__(self, folder: Path, port: int) -> None:
        self.port = port
        self._log = folder / "log"
        self._read = self._received = 0

    def received(self) -> int:
        """Return how many messages it has received and discarded."""
        if self._log.exists():
            with self._log.open("rb") as log:
                log.seek(self._read)
                text = log.read()
            # The last line may have no end yet
            lines = text[: text.rfind(b"\n") + 1]
            self._read += len(lines)
            self._received += lines.count(b"status=sent (")
        return self._received


@contextmanager
def _postfix(parent: Path, name: str, more: str) -> Iterator[_Postfix]:
    folder, port = parent / name, free_port()
    folder.mkdir()
    service = f"127.0.0.1:{port} inet n - n - - smtpd"
    with postfix_process(folder, _MAIN.format(name=name) + more, service):
        yield _Postfix(folder, port)


@contextmanager
def _opendkim(parent: Path, key: rsa.RSAPrivateKey) -> Iterator[Path]:
    socket, file = parent / "milter", parent / "dkim.pem"
    file.write_bytes(_pem(key))
    file.chmod(0o600)
    config = parent / "opendkim.conf"
    config.write_text(_OPENDKIM.format(socket=socket, key=file))
    process = subprocess.Popen(["opendkim", "-f", "-x", str(config)])
    try:
        eventually(socket.exists)
        yield socket
    finally:
        process.terminate()
        process.wait()


def _pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _inject(port: int, messages: int) -> None:
    """Hand so many messages to a Postfix, over several connections."""
    transport = SmarthostTransport(
        "127.0.0.1",
        port,
        SessionOptions(tls=TlsMode.OFF),
        PoolLimits(connections=_CLIENTS),
        "bench.test",
    )

    def send(index: int) -> None:
        message = OutboundMessage(_SENDER, _recipient(index), _message(index))
        outcome = transport.deliver(message, commit_at_once)
        assert outcome.code == 250, outcome

    with ThreadPoolExecutor(_CLIENTS) as threads:
        for each in threads.map(send, range(messages)):
            assert each is None
    transport.close()


class _Container:
    """A delivery container, and the processes that sign messages and queue them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def send(self, messages: int) -> None:
        """Sign so many messages, and queue them in chunks."""
        transmission = ids.transmission_id()
        chunks = ((transmission, first) for first in range(0, messages, CHUNK))
        self._pool.starmap(_send_chunk, chunks, chunksize=1)


_signers: list[Signer] = []


def _prepare(pem: bytes) -> None:
    _signers.append(Signer(pem.decode(), _SELECTOR, _DOMAIN))


def _send_chunk(transmission: str, first: int) -> None:
    """Sign and queue the messages of a chunk, as a worker that generates them does."""
    now = time.time()
    messages = [
        _finished(transmission, index, _signers[0].sign(data, int(now)) + data)
        for index in range(first, first + CHUNK)
        for data in [_message(index)]
    ]
    event = {"customer_id": "1", "transmission_id": transmission, "ip_pool": "default"}
    unit = WorkUnit(transmission, str(first // CHUNK))
    delivery_batch.queue(DeliveryBatch(unit, 1, int(now * 1000), event, messages))


@contextmanager
def _delivery_container(port: int, key: rsa.RSAPrivateKey) -> Iterator[_Container]:
    server = DnsServer("127.0.0.1", 0, _Zone())
    server.start()
    with local_cloud(), tempfile.TemporaryDirectory() as journal:
        os.environ |= {
            "TRANSPORT": "mx",
            "MX_PORT": str(port),
            "DNS_SERVERS": f"127.0.0.1:{server.port}",
            "ALLOW_PRIVATE_ADDRESSES": "true",
            "DELIVERY": "container",
            "DELIVERY_JOURNAL": journal,
        }
        settings.cache_clear()
        command = [sys.executable, "-m", "outbound"]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        context = multiprocessing.get_context("spawn")
        try:
            with context.Pool(usable_cores(), _prepare, (_pem(key),)) as pool:
                yield _Container(pool)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def _finished(transmission: str, index: int, data: bytes) -> FinishedMessage:
    name = ids.message_id(transmission, index)
    recipient = _recipient(index)
    event = {"message_id": name, "rcpt_to": recipient, "subject": "bench"}
    return FinishedMessage(index, _SENDER, recipient, event, data)


if __name__ == "__main__":
    main()
