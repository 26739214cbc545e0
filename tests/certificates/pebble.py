"""Run Pebble, a small ACME authority for tests, whose names all lead to this machine."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infrastructure.local.dns.resolver import Records
from infrastructure.local.dns.server import DnsServer
from relay.tls import self_signed
from tests.free_ports import free_port

DEADLINE_SECONDS = 60.0
#: Names below it do not exist; all others are this machine
ELSEWHERE = "elsewhere.test"


@dataclass(frozen=True, slots=True)
class _Names:
    """Every name is this machine."""

    address: str

    def lookup(self, name: str) -> Records | None:
        return None if name.endswith(ELSEWHERE) else [("A", self.address)]


@dataclass(frozen=True, slots=True)
class Pebble:
    """A running authority: the address of its directory, and what that is trusted by."""

    directory: str
    ca_file: Path
    management: str

    def root(self) -> ssl.SSLContext:
        """Return a client's context that trusts the certificates of this authority."""
        return ssl.create_default_context(cadata=self.root_pem())

    def root_pem(self) -> str:
        """Return the certificate that those of this authority are trusted by."""
        trust = ssl.create_default_context(cafile=str(self.ca_file))
        with urllib.request.urlopen(f"{self.management}/roots/0", context=trust) as response:
            return str(response.read().decode())


@contextmanager
def run_pebble(
    folder: Path,
    http_port: int,
    *,
    days: float = 90,
    port: int = 0,
    name: str = "localhost",
    address: str = "127.0.0.1",
    **environ: str,
) -> Iterator[Pebble]:
    """Run it until the block ends, at ``address``. It checks names at ``http_port`` there.

    Those that ask it for certificates know it as ``name``. Its certificates live for so many
    ``days``. It remembers nothing of an earlier run at the same ``port``. ``environ`` are its
    variables.
    """
    folder.mkdir(exist_ok=True)
    dns = DnsServer("127.0.0.1", free_port(), _Names(address))
    dns.start()
    own = self_signed(folder / "tls", name)
    port, management_port = port or free_port(), free_port()
    options: dict[str, Any] = {
        "listenAddress": f"{address}:{port}",
        "managementListenAddress": f"127.0.0.1:{management_port}",
        "certificate": str(own.certificate),
        "privateKey": str(own.key),
        "httpPort": http_port,
        "tlsPort": free_port(),
        "certificateValidityPeriod": round(days * 86_400),
    }
    (folder / "pebble.json").write_text(json.dumps({"pebble": options}))
    with (folder / "pebble.log").open("w") as log:
        process = subprocess.Popen(
            ["pebble", "-config", folder / "pebble.json", "-dnsserver", f"127.0.0.1:{dns.port}"],
            env=os.environ | {"PEBBLE_VA_NOSLEEP": "1"} | environ,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            pebble = Pebble(
                f"https://{name}:{port}/dir",
                own.certificate,
                f"https://localhost:{management_port}",
            )
            _wait(pebble, process, folder / "pebble.log")
            socket.create_connection((address, port), DEADLINE_SECONDS).close()
            yield pebble
        finally:
            process.terminate()
            process.wait(DEADLINE_SECONDS)
            dns.stop()


def _wait(pebble: Pebble, process: subprocess.Popen[bytes], log: Path) -> None:
    trust = ssl.create_default_context(cafile=str(pebble.ca_file))
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{pebble.management}/roots/0", context=trust):
                return
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
