"""Run production on one machine from outside: by its ports, its key and its processes."""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from relay.self_signed import self_signed_pair
from tests.free_ports import free_port
from tests.http_response import Response
from tests.journey.service import PATIENCE, ROOT, eventually

KEY = "machine-key"
DOMAIN = "mail.acme.example"
TOKEN = "metrics-token"  # pragma: allowlist secret
PORTS = ("HTTP_PORT", "HTTPS_PORT", "SUBMISSION_PORT", "SUBMISSIONS_PORT", "INBOUND_PORT")


class Machine:
    """``postfinch serve`` on a data directory; the API is on HTTP in the clear (``TLS=off``)."""

    #: A command that runs the command after it
    wrapper: tuple[str, ...] = ()

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.data_dir = folder / "data"
        self.output = folder / "output.log"
        self.ports = {name: free_port() for name in PORTS}
        self.process: subprocess.Popen[bytes] | None = None
        self._environment = environment

    def __enter__(self) -> Machine:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of the service, with nothing else of this process's settings."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "SYSTEM_DOMAIN": DOMAIN,
            "DATA_DIR": str(self.data_dir),
            "API_KEY": KEY,
            "TLS": "off",
            "METRICS_TOKEN": TOKEN,
            **{name: str(port) for name, port in self.ports.items()},
            **self._environment,
            **more,
        }

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command of ``postfinch`` to its end."""
        return subprocess.run(
            [sys.executable, "-m", "postfinch", *arguments],
            cwd=ROOT,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def start(self, *, module: str = "postfinch", **environment: str) -> None:
        """Start the service and wait until it is ready.

        ``module`` may be the service's own, without the command, whose modules come first.
        """
        arguments = ["serve"] if module == "postfinch" else []
        with self.output.open("wb") as log:
            self.process = subprocess.Popen(
                [*self.wrapper, sys.executable, "-m", module, *arguments],
                cwd=ROOT,
                env=self.environment(**environment),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        eventually(self._is_ready)

    def lines(self) -> list[dict[str, Any]]:
        """Return what the service logged; each line is JSON."""
        return [json.loads(line) for line in self.output.read_text().splitlines()]

    def _is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.output.read_text()
        return "Postfinch is ready" in self.output.read_text()

    def stop(self) -> None:
        """Stop the service with SIGTERM; all its processes end."""
        if self.process is None or self.process.poll() is not None:
            return
        family = self.family()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0
        _, alive = psutil.wait_procs(family, timeout=PATIENCE)
        assert not alive

    def kill(self) -> None:
        """Kill every process of the service at once."""
        for process in self.family():
            process.kill()
        assert self.process is not None
        self.process.wait(PATIENCE)

    def family(self) -> list[psutil.Process]:
        """Return the supervisor's process and its descendants."""
        assert self.process is not None
        parent = psutil.Process(self.process.pid)
        return [parent, *parent.children(recursive=True)]

    def running(self, name: str) -> list[psutil.Process]:
        """Return the processes that the supervisor calls ``name``."""
        return [each for each in self.family() if each.name() == name]

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = KEY,
        headers: dict[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        host: str = DOMAIN,
    ) -> Response:
        """Make a request; with ``tls`` at the port under TLS."""
        connection: http.client.HTTPConnection
        if tls:
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.ports["HTTPS_PORT"], timeout=120, context=tls
            )
        else:
            connection = http.client.HTTPConnection(
                "127.0.0.1", self.ports["HTTP_PORT"], timeout=120
            )
        all_headers = {"Host": host, **({"Authorization": key} if key else {}), **(headers or {})}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if data is not None:
            all_headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body=data, headers=all_headers)
            response = connection.getresponse()
            return Response(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def results(self, method: str, path: str, body: Any = None) -> Any:
        """Make a request of the API and return its results."""
        response = self.request(method, f"/api/v1{path}", body)
        assert response.status == 200, response.body
        return response.json["results"]

    def send(self, recipient: str, domain: str = "acme.example") -> str:
        """Send a message over HTTP and return the transmission's id."""
        content = {"from": f"hello@{domain}", "subject": "Hello", "text": "Hello from the tests"}
        transmission: str = self.results(
            "POST",
            "/transmissions",
            {"recipients": [{"address": recipient}], "content": content},
        )["id"]
        return transmission

    def add_domain(self, zone: Any, name: str = "acme.example") -> None:
        """Create a sending domain, publish its key and verify it."""
        dkim = self.results("POST", "/sending-domains", {"domain": name})["dkim"]
        record = f"v=DKIM1; k=rsa; p={dkim['public']}"
        zone.published[f"{dkim['selector']}._domainkey.{name}"] = [("TXT", record)]
        status = self.results("POST", f"/sending-domains/{name}/verify", {"dkim_verify": True})
        assert status["dkim_status"] == "valid"

    def events(self, recipient: str) -> list[str]:
        """Return the types of a recipient's events, oldest first, up to now."""
        query = f"/events/message?recipients={recipient}&to=2100-01-01T00:00:00Z"
        return [event["type"] for event in reversed(self.results("GET", query))]


class SecureMachine(Machine):
    """The same with a certificate of one's own (``TLS=files``); requests go to the port with TLS.

    ``certificate`` is the file that clients trust.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        pair = self_signed_pair([DOMAIN])
        self.certificate, key = folder / "certificate.pem", folder / "key.pem"
        self.certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        files = {"TLS_CERTIFICATE": str(self.certificate), "TLS_KEY": str(key)}
        super().__init__(folder, TLS="files", **files, **environment)

    def request(self, *arguments: Any, **options: Any) -> Response:
        """Make a request under TLS."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        context.check_hostname = False  # it connects to an address
        return super().request(*arguments, **{"tls": context, **options})
