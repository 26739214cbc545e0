"""Start and stop the service, and use it through its ports, API key and processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dns.resolver
import psutil
from botocore.session import get_session

from infrastructure.local.supervisor.cloud_access import ACCESS_KEY_ID, REGION, read_secret
from infrastructure.local.supervisor.ports import InternalPorts
from tests.cloud_requests import signed_get
from tests.free_ports import free_port
from tests.http_response import Response
from tests.polling import poll

ROOT = Path(__file__).parent.parent.parent
KEY = "journey-key"
# Longer than anything takes on a busy machine: only what never happens fails
PATIENCE = 300.0
# They are the same for every service, and several start at once
_MAILBOX_PORTS = dict.fromkeys(("CATCH_PORT", "MAILPIT_PORT", "POP3_PORT", "IMAP_PORT"), "0")


def eventually(condition: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Call ``condition`` until its result is true and return that; fail after ``seconds``."""
    result = poll(condition, seconds, 0.25)
    if not result:
        raise AssertionError(f"still {result!r} after {seconds} s")
    return result


def name_of(process: psutil.Process) -> str:
    """Return the name that the supervisor gave a process; a process that has ended has none."""
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def _at_least(count: int, items: list[Any]) -> list[Any]:
    return items if len(items) >= count else []


@dataclass(frozen=True, slots=True)
class CloudCounts:
    """The local cloud's requests by operation, and the DynamoDB write units that they took."""

    by_operation: dict[str, int]
    write_units: float
    latest: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """The number of all requests."""
        return sum(self.by_operation.values())

    @property
    def writes(self) -> int:
        """The number of requests that are not reads or polls."""
        quiet = ("SQS.Receive", "DynamoDB.Get", "DynamoDB.Query")
        return sum(n for name, n in self.by_operation.items() if not name.startswith(quiet))

    def minus(self, earlier: CloudCounts) -> CloudCounts:
        """Return the counts since ``earlier``."""
        difference = {
            name: count - earlier.by_operation.get(name, 0)
            for name, count in self.by_operation.items()
        }
        return CloudCounts(
            {name: count for name, count in difference.items() if count},
            self.write_units - earlier.write_units,
            self.latest[-sum(self.by_operation.values()) + sum(earlier.by_operation.values()) :],
        )


class Service:
    """The service, run by the same code as ``make run``."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.api_port = free_port()
        self.smtp_port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Service:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self, **environment: str) -> None:
        """Start the service and wait until it is ready."""
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AWS_", "EVENTS_", "STAGE", "SECRET_KEY"))
        }
        env |= {
            "API_PORT": str(self.api_port),
            "SMTP_PORT": str(self.smtp_port),
            "API_KEY": KEY,
            "DATA_DIR": str(self.data_dir),
            "XDG_STATE_HOME": str(self.data_dir),
            **_MAILBOX_PORTS,
        }
        with (self.data_dir / "output.log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "infrastructure.local.run"],
                cwd=ROOT,
                env=env | environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        eventually(self._is_ready)

    @property
    def inbound_port(self) -> int:
        """The port of mail that comes in."""
        ports: dict[str, int] = json.loads((self.data_dir / "ports.json").read_text())
        return ports["inbound"]

    def operate(self, *arguments: str) -> str:
        """Run the operator's tool on the service and return what it prints."""
        process = subprocess.run(
            [sys.executable, "-m", "infrastructure.admin", "--local", *arguments],
            cwd=ROOT,
            env={**os.environ, "DATA_DIR": str(self.data_dir)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        return process.stdout

    def _is_ready(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"it ended: {(self.data_dir / 'output.log').read_text()}")
        return "Postfinch is ready" in (self.data_dir / "output.log").read_text()

    def stop(self) -> float:
        """Stop the service with SIGTERM; return the seconds until all its processes ended."""
        if self.process is None or self.process.poll() is not None:
            return 0.0
        family = self.family()
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=PATIENCE)
        _, alive = psutil.wait_procs(family, timeout=PATIENCE)
        assert not alive, f"still running: {alive}"
        return time.monotonic() - began

    def wait(self) -> None:
        """Wait until the supervisor, which was killed, has ended."""
        assert self.process is not None
        self.process.wait(timeout=PATIENCE)

    def family(self) -> list[psutil.Process]:
        """Return the supervisor's process and its descendants."""
        assert self.process is not None
        parent = psutil.Process(self.process.pid)
        return [parent, *parent.children(recursive=True)]

    def resolver(self) -> dns.resolver.Resolver:
        """Return a resolver that asks the service's own DNS server."""
        resolver = dns.resolver.Resolver(configure=False)
        resolver.nameservers = ["127.0.0.1"]
        resolver.port = json.loads((self.data_dir / "ports.json").read_text())["dns"]
        return resolver

    def cloud_get(self, path: str) -> Any:
        """Return the JSON at one of the local cloud's own paths."""
        url = InternalPorts.read(self.data_dir).cloud_url
        return signed_get(url + path, read_secret(self.data_dir))

    def cloud_counts(self) -> CloudCounts:
        """Return the counts of the local cloud; the service needs ``COUNT_REQUESTS="1"``."""
        counts = self.cloud_get("/_postfinch/counts")
        return CloudCounts(counts["requests"], counts["write_units"], counts["latest"])

    def dead_letters(self) -> int:
        """Return how many messages are in the dead-letter queues."""
        return self._queued(dead=True)

    def queued(self) -> int:
        """Return how many messages are on the other queues, delayed and received ones included."""
        return self._queued(dead=False)

    def _queued(self, *, dead: bool) -> int:
        sqs = get_session().create_client(
            "sqs",
            region_name=REGION,
            endpoint_url=InternalPorts.read(self.data_dir).cloud_url,
            aws_access_key_id=ACCESS_KEY_ID,
            aws_secret_access_key=read_secret(self.data_dir),
        )
        prefix = "ApproximateNumberOfMessages"
        names = [prefix, f"{prefix}NotVisible", f"{prefix}Delayed"]
        count = 0
        for url in sqs.list_queues()["QueueUrls"]:
            if url.endswith("-dead") == dead:
                response = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)
                count += sum(int(response["Attributes"][name]) for name in names)
        return count

    def log_files(self) -> list[Path]:
        """Return the logs of the processes; the pipe of notices beside them is none."""
        return sorted((self.data_dir / "logs").glob("*.log"))

    def mailbox_count(self) -> int:
        """Return how many messages the sink holds."""
        return sum(1 for _ in (self.data_dir / "mail" / "new").iterdir())

    def workers(self) -> list[psutil.Process]:
        """Return the worker processes."""
        return self.running("worker-1", "worker-2")

    def running(self, *names: str) -> list[psutil.Process]:
        """Return the processes that the supervisor calls by one of ``names``."""
        return [each for each in self.family() if name_of(each) in names]

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = KEY,
        headers: dict[str, str] | None = None,
    ) -> Response:
        """Make an HTTP request; ``body`` is sent as JSON unless it is bytes."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.api_port}{path}", data=data, method=method
        )
        if data is not None:
            request.add_header("Content-Type", "application/json")
        if key:
            request.add_header("Authorization", key)
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return Response(response.status, dict(response.headers), response.read())
        except urllib.error.HTTPError as error:
            return Response(error.code, dict(error.headers), error.read())

    def send(self, *recipients: str, **content: Any) -> str:
        """Send a message over HTTP and return the transmission's id."""
        response = self.request(
            "POST",
            "/api/v1/transmissions",
            {
                "recipients": [{"address": recipient} for recipient in recipients],
                "content": {
                    "from": "hello@example.test",
                    "subject": "Hello",
                    "text": "Hello from the tests",
                    **content,
                },
            },
        )
        assert response.status == 200, response.body
        return response.json["results"]["id"]

    def events(self, **query: str) -> list[dict[str, Any]]:
        """Search the message events."""
        response = self.request("GET", "/api/v1/events/message?" + urllib.parse.urlencode(query))
        assert response.status == 200, response.body
        return response.json["results"]

    def publish(self, name: str, *records: tuple[str, str]) -> None:
        """Write the records of a name into the local DNS."""
        body = {"records": [{"type": rtype, "value": value} for rtype, value in records]}
        response = self.request("PUT", f"/local/dns/{name}", body, key=None)
        assert response.status == 200, response.body

    def mailbox(self, **query: str) -> list[dict[str, Any]]:
        """List the mail that arrived in the sink."""
        response = self.request("GET", "/local/mailbox?" + urllib.parse.urlencode(query), key=None)
        return response.json["results"]

    def message(self, message_id: str) -> bytes:
        """Return one message of the sink."""
        return self.request("GET", f"/local/mailbox/{message_id}", key=None).body

    def arrived(self, recipient: str, count: int = 1) -> list[bytes]:
        """Wait for ``count`` messages to a recipient; return them, newest first."""
        messages = eventually(lambda: _at_least(count, self.mailbox(to=recipient)))
        return [self.message(each["id"]) for each in messages]

    def event_types(self, recipient: str) -> list[str]:
        """Return the types of a recipient's events, oldest first."""
        return [event["type"] for event in reversed(self.events(recipients=recipient))]
