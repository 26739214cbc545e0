"""Reach a machine from another network: sockets in a network namespace of their own.

A pair of virtual Ethernet devices joins the namespace to this one, so that the machine sees a peer
that is not on loopback. A thread enters the namespace and opens the sockets; a socket stays in the
namespace in which it was opened, and any thread may use it.
"""

from __future__ import annotations

import ctypes
import http.client
import json
import os
import shutil
import smtplib
import socket
import ssl
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.http_response import Response
from tests.machine.machine import DOMAIN, SecureMachine

SECONDS = 60.0
_NEW_NETWORK = 0x40000000
_LONGEST_ANSWER = 1 << 20


def can_have_networks() -> bool:
    """Tell whether this user may make network namespaces, as root in a container may not."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-n", "true"], check=False).returncode == 0


@dataclass(frozen=True, slots=True)
class Network:
    """A namespace; ``here`` is this machine's address as seen from it, ``there`` its own."""

    here: str
    there: str
    thread: ThreadPoolExecutor

    def connect(self, port: int) -> socket.socket:
        """Return a connection from the namespace to a port of this machine."""
        open_connection = partial(socket.create_connection, (self.here, port), SECONDS)
        return self.thread.submit(open_connection).result()


@contextmanager
def network() -> Iterator[Network]:
    """Have a namespace that is joined to this machine while the block runs."""
    number = os.getpid()
    name, ours, theirs = f"stranger-{number}", f"pf{number}a", f"pf{number}b"
    # Addresses for tests between networks (RFC 2544)
    prefix = f"198.{18 + number // 256 % 2}.{number % 256}"
    here, there = f"{prefix}.1", f"{prefix}.2"
    _ip("netns", "add", name)
    try:
        _ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", name)
        _ip("address", "add", f"{here}/30", "dev", ours)
        _ip("link", "set", ours, "up")
        _ip("-n", name, "address", "add", f"{there}/30", "dev", theirs)
        _ip("-n", name, "link", "set", theirs, "up")
        with ThreadPoolExecutor(1, initializer=_enter, initargs=(name,)) as thread:
            yield Network(here, there, thread)
    finally:
        _ip("netns", "delete", name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def _enter(name: str) -> None:
    """Move this thread into a namespace."""
    library = ctypes.CDLL(None, use_errno=True)
    with Path("/run/netns", name).open() as file:
        if library.setns(file.fileno(), _NEW_NETWORK):
            raise OSError(ctypes.get_errno(), "setns")


@dataclass(frozen=True, slots=True)
class Stranger:
    """A client in another network, which knows the certificate of the machine under TLS."""

    network: Network
    machine: SecureMachine

    @property
    def address(self) -> str:
        """The address that the machine sees."""
        return self.network.there

    def context(self) -> ssl.SSLContext:
        """Return a context that trusts the machine's certificate."""
        return ssl.create_default_context(cafile=str(self.machine.certificate))

    def connect(self, name: str) -> socket.socket:
        """Return a connection in the clear to the port of a setting."""
        return self.network.connect(self.machine.ports[name])

    def secure(
        self,
        name: str = "HTTPS_PORT",
        *,
        context: ssl.SSLContext | None = None,
        host: str | None = DOMAIN,
    ) -> ssl.SSLSocket:
        """Return a connection under TLS; ``host`` is the name that it asks for."""
        connection = self.connect(name)
        try:
            return (context or self.context()).wrap_socket(connection, server_hostname=host)
        except BaseException:
            connection.close()
            raise

    def exchange(self, octets: bytes, *, tls: bool = True) -> bytes:
        """Send octets to an HTTP port; return all that comes back until the machine closes."""
        connection = self.secure() if tls else self.connect("HTTP_PORT")
        with connection:
            return exchange(connection, octets)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        tls: bool = True,
        **headers: str,
    ) -> Response:
        """Make one request; ``_`` in the name of a header stands for a hyphen."""
        connection = http.client.HTTPConnection(DOMAIN)
        connection.sock = self.secure() if tls else self.connect("HTTP_PORT")
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        all_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if data is not None:
            all_headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body=data, headers=all_headers)
            response = connection.getresponse()
            return Response(response.status, _headers(response), response.read())
        finally:
            connection.close()

    def smtp(self, name: str) -> smtplib.SMTP:
        """Return a conversation with a port of mail; the one of ``SUBMISSIONS_PORT`` is secure."""
        client = smtplib.SMTP(timeout=SECONDS)
        client.sock = self.secure(name) if name == "SUBMISSIONS_PORT" else self.connect(name)
        client._host = DOMAIN  # type: ignore[attr-defined]
        code, _ = client.getreply()
        assert code == 220
        return client


def _headers(response: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def exchange(connection: socket.socket, octets: bytes) -> bytes:
    """Send octets; return all that comes back until the other side closes."""
    answer = b""
    try:
        connection.sendall(octets)
        while len(answer) < _LONGEST_ANSWER and (part := connection.recv(65_536)):
            answer += part
    except (ConnectionError, ssl.SSLError):  # it closes before it has read everything
        pass
    return answer
