"""Serve HTTP and HTTPS with the certificates of a data directory, as on one machine."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infrastructure.local.gateway.application import FurtherPort, server
from infrastructure.machine.certificates import service_certificate
from infrastructure.machine.certificates.server_certificates import ServerCertificates
from relay.tls import CertificateFiles
from tests.free_ports import free_port

SERVICE_NAMES = ("mail.sender.test", "links.sender.test")
_DEADLINE_SECONDS = 60.0
_CHALLENGE = "/.well-known/acme-challenge/"


@dataclass(frozen=True, slots=True)
class Machine:
    """A running server: the data directory whose certificates it shows, and its ports."""

    data_dir: Path
    service: CertificateFiles
    http_port: int
    https_port: int

    def connect(self, name: str, trust: ssl.SSLContext) -> ssl.SSLSocket:
        """Return a connection whose certificate is valid for ``name``, or raise an SSLError."""
        address = ("127.0.0.1", self.https_port)
        return trust.wrap_socket(
            socket.create_connection(address, _DEADLINE_SECONDS), server_hostname=name
        )

    def serial(self, name: str, trust: ssl.SSLContext) -> str:
        """Return the serial number of the certificate that a client is shown for ``name``."""
        with self.connect(name, trust) as connection:
            certificate = connection.getpeercert()
            assert certificate
            return str(certificate["serialNumber"])


@contextmanager
def running_machine(data_dir: Path) -> Iterator[Machine]:
    service = service_certificate.provide(data_dir, SERVICE_NAMES)
    certificates = ServerCertificates(data_dir)

    async def answer(scope: dict, receive: object, send: object) -> None:  # type: ignore
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] != "lifespan.shutdown":
                await send({"type": message["type"] + ".complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        token = scope["path"].removeprefix(_CHALLENGE)
        text = certificates.challenge(token)
        await send({"type": "http.response.start", "status": 200 if text else 404, "headers": []})
        await send({"type": "http.response.body", "body": (text or "").encode()})

    http_port, https_port = free_port(), free_port()
    further = [FurtherPort("127.0.0.1", https_port, certificates.context())]
    serving = server(answer, host="127.0.0.1", port=http_port, further=further)
    thread = threading.Thread(target=lambda: asyncio.run(serving.serve()), daemon=True)
    thread.start()
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not serving.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    try:
        yield Machine(data_dir, service, http_port, https_port)
    finally:
        serving.should_exit = True
        thread.join(_DEADLINE_SECONDS)
