"""The relay's image is built and run, takes a message over SMTP, and stops gracefully.

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

from tests.container.engine import BASE, Engine
from tests.journey.service import eventually, free_port

KEY = "container-key"
MESSAGE = "From: hello@example.test\r\nTo: you@inbox.test\r\nSubject: s\r\n\r\nHello\r\n"
MOST_BYTES = 70_000_000


@pytest.fixture(scope="module")
def provisioned(engine: Engine, cloud: dict[str, str]) -> dict[str, str]:
    """The cloud with the service's resources and first account, made by the image for that."""
    engine.run(engine.build("provision"), cloud | {"API_KEY": KEY}, "--rm")
    return cloud


@pytest.fixture(scope="module")
def image(engine: Engine) -> str:
    return engine.build("relay")


@pytest.fixture
def port(engine: Engine, provisioned: dict[str, str], image: str) -> Iterator[int]:
    """A running container; its port."""
    port = free_port()
    more = {
        "RELAY_PORTS": str(port),
        "RELAY_INBOUND_PORTS": str(free_port()),
        "RELAY_PROCESSES": "2",
        "RELAY_DRAIN": "5",
    }
    engine.run(image, provisioned | more, "--detach", "--name=relay")
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


def _connected(port: int) -> smtplib.SMTP:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    client = smtplib.SMTP("localhost", port, timeout=10)
    client.starttls(context=context)
    client.login("SMTP_Injection", KEY)
    return client


def _queued(aws: dict[str, str]) -> list[dict[str, Any]]:
    """Take the bodies of what is on the queue that the relay publishes to."""
    sqs = boto3.client(
        "sqs",
        endpoint_url=aws["AWS_ENDPOINT_URL"],
        aws_access_key_id="test",
        aws_secret_access_key="test",
        region_name=aws["AWS_DEFAULT_REGION"],
    )
    url = sqs.get_queue_url(QueueName=f"postfinch-{aws['STAGE']}-generation")["QueueUrl"]
    return sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5).get("Messages", [])


def test_a_container_accepts_a_message_and_stops_gracefully(
    engine: Engine, provisioned: dict[str, str], port: int
) -> None:
    with _connected(port) as client:
        client.mail("hello@example.test")
        client.rcpt("you@inbox.test")
        code, text = client.data(MESSAGE)
    assert code == 250
    transmission = text.decode().rpartition(" ")[2]
    (queued,) = _queued(provisioned)
    assert transmission in queued["Body"]

    assert engine.podman("exec", "relay", "id", "-u").strip() == "10001"
    for place in ("/opt/postfinch/x", "/etc/x"):
        with pytest.raises(AssertionError, match="Read-only file system"):
            engine.podman("exec", "relay", "touch", place)

    idle_client = _connected(port)
    started = time.monotonic()
    engine.podman("stop", "--time=20", "relay")
    assert time.monotonic() - started < 10, "it ended by itself"
    assert idle_client.getreply()[0] == 421
    assert engine.podman("inspect", "--format={{.State.ExitCode}}", "relay").strip() == "0"

    records = [json.loads(line) for line in engine.logs("relay").splitlines()]
    (accepted,) = [each for each in records if each["message"] == "message accepted"]
    assert accepted["message_id"] == transmission
    assert accepted["seconds"] > 0
    totals = [each for each in records if each["message"] == "relay counters"]
    assert sum(each["MessagesAccepted"] for each in totals) == 1
    assert len({each["process_id"] for each in totals}) == 2


def test_the_image_adds_little_to_its_base(engine: Engine, image: str) -> None:
    assert engine.size(image) - engine.size(BASE) < MOST_BYTES
