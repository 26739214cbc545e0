"""Build and run the relay's image, send it a message over SMTP, and stop it.

This takes about a minute. It is skipped where podman, buildah, runc or mmdebstrap is missing;
`.ci/run` installs them.
"""

from __future__ import annotations

import json
import smtplib
import ssl
import time
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from tests.container.conftest import KEY
from tests.container.engine import BASE, Engine
from tests.free_ports import free_port
from tests.journey.service import eventually

MESSAGE = "From: hello@example.test\r\nTo: you@inbox.test\r\nSubject: s\r\n\r\nHello\r\n"
MOST_BYTES = 70_000_000


@pytest.fixture
def port(engine: Engine, provisioned: dict[str, str], relay_image: str) -> Iterator[int]:
    """The port of a running container."""
    port = free_port()
    relay_settings = {
        "RELAY_PORTS": str(port),
        "RELAY_INBOUND_PORTS": str(free_port()),
        "RELAY_PROCESSES": "2",
        "RELAY_DRAIN": "5",
    }
    engine.run(relay_image, provisioned | relay_settings, "--detach", "--name=relay")
    eventually(lambda: _is_healthy(engine))
    yield port
    engine.podman("rm", "--force", "--time=0", "relay")


def _is_healthy(engine: Engine) -> bool:
    try:
        engine.podman("healthcheck", "run", "relay")
    except AssertionError:
        state = engine.podman("inspect", "--format={{.State.Status}}", "relay").strip()
        assert state == "running", engine.logs("relay")
        return False
    return True


def _connect(port: int) -> smtplib.SMTP:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    client = smtplib.SMTP("localhost", port, timeout=10)
    client.starttls(context=context)
    client.login("SMTP_Injection", KEY)
    return client


def _receive_messages(aws: dict[str, str]) -> list[dict[str, Any]]:
    """Receive the messages of the queue to which the relay publishes."""
    sqs = boto3.client(
        "sqs",
        endpoint_url=aws["AWS_ENDPOINT_URL"],
        aws_access_key_id="test",
        aws_secret_access_key="test",
        region_name=aws["AWS_DEFAULT_REGION"],
    )
    url = sqs.get_queue_url(QueueName=f"postfinch-{aws['STAGE']}-small-sends")["QueueUrl"]
    return sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5).get("Messages", [])


def test_a_container_accepts_a_message_and_stops_gracefully(
    engine: Engine, provisioned: dict[str, str], port: int
) -> None:
    with _connect(port) as client:
        client.mail("hello@example.test")
        client.rcpt("you@inbox.test")
        code, text = client.data(MESSAGE)
    assert code == 250
    transmission = text.decode().rpartition(" ")[2]
    (message,) = _receive_messages(provisioned)
    assert transmission in message["Body"]

    assert engine.podman("exec", "relay", "id", "-u").strip() == "10001"
    for path in ("/opt/postfinch/x", "/etc/x"):
        with pytest.raises(AssertionError, match="Read-only file system"):
            engine.podman("exec", "relay", "touch", path)

    idle_client = _connect(port)
    started = time.monotonic()
    engine.podman("stop", "--time=20", "relay")
    assert time.monotonic() - started < 10, "the relay must end without being killed"
    assert idle_client.getreply()[0] == 421
    assert engine.podman("inspect", "--format={{.State.ExitCode}}", "relay").strip() == "0"

    records = [json.loads(line) for line in engine.logs("relay").splitlines()]
    (accepted,) = [each for each in records if each["message"] == "message accepted"]
    assert accepted["message_id"] == transmission
    assert accepted["seconds"] > 0
    totals = [each for each in records if each["message"] == "relay counters"]
    assert sum(each["MessagesAccepted"] for each in totals) == 1
    assert len({each["process_id"] for each in totals}) == 2


def test_the_image_adds_little_to_its_base(engine: Engine, relay_image: str) -> None:
    assert engine.size(relay_image) - engine.size(BASE) < MOST_BYTES
