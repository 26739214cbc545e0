"""Serve HTTP and HTTPS with the certificates of a data directory, as on one machine."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infrastructure.local.gateway.application import (
    AsgiCallable,
    FurtherPort,
    Receive,
    Scope,
    Send,
    server,
)
from infrastructure.machine.certificates import service_certificate
from infrastructure.machine.certificates.server_certificates import ServerCertificates
from relay.tls import TlsContexts
from tests.free_ports import free_port

SERVICE_NAMES = ("mail.sender.test", "links.sender.test")
DEADLINE_SECONDS = 60.0
_CHALLENGE = "/.well-known/acme-challenge/"


@dataclass(frozen=True, slots=True)
class Machine:
    """A running server: the data directory whose certificates it shows, and its ports."""

    data_dir: Path
    http_port: int
    https_port: int
    smtps_port: int

    def serial(self, name: str, trust: ssl.SSLContext, port: int | None = None) -> str:
        """Return the serial number of the certificate that a client is shown for ``name``.

        Raises ssl.SSLCertVerificationError if the client does not trust it.
        """
        address = ("127.0.0.1", port or self.https_port)
        client = socket.create_connection(address, DEADLINE_SECONDS)
        with client, trust.wrap_socket(client, server_hostname=name) as connection:
            certificate = connection.getpeercert()
        assert certificate
        return str(certificate["serialNumber"])


def eventually(check: Callable[[], bool]) -> None:
    """Wait until something is true; it must be before the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def running_machine(data_dir: Path) -> Iterator[Machine]:
    service = service_certificate.provide(data_dir, SERVICE_NAMES)
    certificates = ServerCertificates(data_dir)
    http_port, https_port, smtps_port = free_port(), free_port(), free_port()
    further = [
        FurtherPort("127.0.0.1", https_port, certificates.context()),
        FurtherPort("127.0.0.1", smtps_port, TlsContexts(service).following()),
    ]
    serving = server(_answers(certificates), host="127.0.0.1", port=http_port, further=further)
    thread = threading.Thread(target=lambda: asyncio.run(serving.serve()), daemon=True)
    thread.start()
    eventually(lambda: serving.started)
    try:
        yield Machine(data_dir, http_port, https_port, smtps_port)
    finally:
        serving.should_exit = True
        thread.join(DEADLINE_SECONDS)


def _answers(certificates: ServerCertificates) -> AsgiCallable:
    """Return the server on port 80: it has nothing but the answers to challenges."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": f"{message['type']}.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        text = certificates.challenge(scope["path"].removeprefix(_CHALLENGE))
        await send({"type": "http.response.start", "status": 200 if text else 404, "headers": []})
        await send({"type": "http.response.body", "body": (text or "").encode()})

    return answer
