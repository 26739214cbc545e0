"""Deploy the packaged application to a local cloud that enforces the functions' policies."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import boto3
from aiosmtpd.controller import Controller

from chalicelib.core.json_types import Json
from chalicelib.core.lambda_events import scheduled_event
from infrastructure.deploy import Deployed, deploy
from infrastructure.deploy_local import use
from infrastructure.local.supervisor.probes import answers_http
from infrastructure.package import Package
from tests.deployment import emulator
from tests.free_ports import free_port
from tests.http_response import Response
from tests.polling import poll

STAGE = "blue"
KEY = "key-of-the-first-account"
T = TypeVar("T")
_UNPACKED_BYTES = 4 << 30


def eventually(condition: Callable[[], T], seconds: float = 120.0) -> T:
    """Call ``condition`` until its result is true and return that; fail after ``seconds``.

    Each question to the stage may start a function, so the pauses are long.
    """
    result = poll(condition, seconds, 1.0)
    assert result, "it never happened"
    return result


def _response_of(status: int, body: Any) -> Response:
    """Return the response; header names are in lower case."""
    headers = {name.lower(): text for name, text in body.headers.items()}
    return Response(status, headers, body.read())


@dataclass(slots=True)
class Sink:
    """An SMTP server on loopback that accepts every message."""

    port: int
    messages: list[tuple[list[str], bytes]] = field(default_factory=list)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """Store the message in memory."""
        self.messages.append((envelope.rcpt_tos, envelope.content))
        return "250 OK"

    def messages_to(self, recipient: str) -> list[bytes]:
        """Return the messages to a recipient."""
        return [content for recipients, content in self.messages if recipient in recipients]


def _with_batch_actions(package: Package) -> Package:
    """Allow batch requests wherever requests of a single message are allowed.

    On AWS one permission covers both; MiniStack has a permission for each.
    """
    template = copy.deepcopy(package.template)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::IAM::Role":
            (policy,) = resource["Properties"]["Policies"]
            for statement in policy["PolicyDocument"]["Statement"]:
                actions = statement.get("Action", [])
                single = ("sqs:SendMessage", "sqs:ChangeMessageVisibility")
                actions += [f"{action}Batch" for action in actions if action in single]
    return Package(template, package.archive)


def _memory() -> str | None:
    """Return a directory in memory if it has room for the unpacked archive of each worker."""
    memory = Path("/dev/shm")
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > _UNPACKED_BYTES
    return str(memory) if has_room and os.access(memory, os.W_OK) else None


class Cloud:
    """MiniStack without the snapshots of the local runtime.

    Its environment holds no setting of the service, because the functions inherit it.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._unpacked = Path(tempfile.mkdtemp(dir=_memory()))
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL of the endpoint."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start the process and wait until it responds."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._directory),
            "TMPDIR": str(self._unpacked),
            "AUTH": "true",
            "AWS_DEFAULT_REGION": "us-east-1",
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self._port),
            "SFTP_ENABLED": "0",
            "IOT_MTLS_ENABLED": "0",
            "DOCKER_HOST": "unix:///nonexistent",
        }
        with (self._directory / "output.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(emulator.__file__))],
                cwd=self._directory,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        eventually(lambda: answers_http(self._port, "/_ministack/health", (200,)))

    def stop(self) -> None:
        """End the process and its functions, and remove the unpacked archives."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
        shutil.rmtree(self._unpacked, ignore_errors=True)

    def client(self, service: str) -> Any:
        """Return a client with the permissions of the account's owner."""
        session: Any = boto3.session.Session()
        return session.client(service, endpoint_url=self.url)


class Deployment:
    """A deployed stage, with the requests that tests make of it."""

    def __init__(self, cloud: Cloud, package: Package, sink: Sink, stage: str = STAGE) -> None:
        self.stage = stage
        self.cloud = cloud
        self.package = package
        self.sink = sink
        self.last: Deployed | None = None
        self._schedules: tuple[str, ...] | None = None

    def deploy(self, *, as_on_aws: bool = False, **parameters: str) -> Deployed:
        """Deploy the package with these parameters of the stack."""
        with patch.dict(os.environ):
            session = use(self.cloud.url)
            self.last = deploy(
                self.stage,
                _with_batch_actions(self.package),
                clients=session.client,
                parameters=parameters,
                cloud="" if as_on_aws else self.cloud.url,
                api_key=KEY,
            )
        if self._schedules is not None:  # the emulator enables them at each update
            self.keep_schedules(*self._schedules)
        return self.last

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Send a request to the deployed API; ``body`` is sent as JSON unless it is bytes."""
        assert self.last is not None
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        defaults = {"Authorization": KEY, "Content-Type": "application/json"}
        request = urllib.request.Request(
            self.last.url + path, data=data, method=method, headers={**defaults, **(headers or {})}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return _response_of(response.status, response)
        except urllib.error.HTTPError as error:
            return _response_of(error.code, error)

    def send(self, *recipients: str, **more: Any) -> str:
        """Send a message; return the transmission's id."""
        content = {"from": "a@example.test", "subject": "Hello", "text": "From the functions"}
        body = {"recipients": [{"address": each} for each in recipients], "content": content}
        response = self.request("POST", "/api/v1/transmissions", body | more)
        assert response.status == 200, response.body
        return response.json["results"]["id"]

    def events(self, recipient: str) -> list[str]:
        """Return the types of a recipient's events, oldest first."""
        response = self.request("GET", f"/api/v1/events/message?recipients={recipient}")
        assert response.status == 200, response.body
        return [event["type"] for event in reversed(response.json["results"])]

    def log_lines(self) -> list[str]:
        """Return all log lines of the functions."""
        client = self.cloud.client("logs")
        pages = client.get_paginator("filter_log_events")
        return [
            event["message"]
            for group in client.describe_log_groups()["logGroups"]
            for page in pages.paginate(logGroupName=group["logGroupName"])
            for event in page["events"]
        ]

    def queue_url(self, queue: str) -> str:
        """Return the URL of a queue of the stage."""
        client = self.cloud.client("sqs")
        return client.get_queue_url(QueueName=f"postfinch-{self.stage}-{queue}")["QueueUrl"]

    def visible_messages(self, queue: str) -> int:
        """Return the number of visible messages in a queue."""
        response = self.cloud.client("sqs").get_queue_attributes(
            QueueUrl=self.queue_url(queue), AttributeNames=["ApproximateNumberOfMessages"]
        )
        return int(response["Attributes"]["ApproximateNumberOfMessages"])

    def queued(self) -> int:
        """Return the number of messages in all queues of the stage, also those not visible."""
        client = self.cloud.client("sqs")
        urls = client.list_queues(QueueNamePrefix=f"postfinch-{self.stage}-")["QueueUrls"]
        names: Any = [
            f"ApproximateNumberOfMessages{kind}" for kind in ("", "NotVisible", "Delayed")
        ]
        counts = (client.get_queue_attributes(QueueUrl=url, AttributeNames=names) for url in urls)
        return sum(int(number) for each in counts for number in each["Attributes"].values())

    def keep_schedules(self, *functions: str) -> None:
        """Let the schedules of no other functions start them each minute, from now on."""
        self._schedules = functions
        client = self.cloud.client("events")
        for rule in client.list_rules(NamePrefix=f"postfinch-{self.stage}-")["Rules"]:
            if not any(f"-{function}" in rule["Name"] for function in functions):
                client.disable_rule(Name=rule["Name"])

    def invoke(self, function: str) -> Json:
        """Call a function by its logical id, as a schedule does."""
        client = self.cloud.client("lambda")
        (name,) = (
            each["FunctionName"]
            for each in client.list_functions()["Functions"]
            if each["FunctionName"].startswith(f"postfinch-{self.stage}-{function}-")
        )
        response = client.invoke(FunctionName=name, Payload=json.dumps(scheduled_event(name)))
        return {"error": response.get("FunctionError"), "payload": response["Payload"].read()}


@contextmanager
def deployment(package: Package, directory: Path) -> Iterator[Deployment]:
    """Start a cloud and a sink for a deployment, and stop both at the end."""
    sink = Sink(free_port())
    controller = Controller(sink, hostname="127.0.0.1", port=sink.port)
    controller.start()
    cloud = Cloud(directory)
    try:
        cloud.start()
        yield Deployment(cloud, package, sink)
    finally:
        cloud.stop()
        controller.stop()


__all__ = ["KEY", "STAGE", "Deployment", "Response", "Sink", "deployment", "eventually"]
