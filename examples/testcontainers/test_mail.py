"""Start the image for the tests of a program that sends mail, and read what it sent.

pip install pytest testcontainers, and `make image` in the root of the project.
"""

import json
import os
import smtplib
import time
import urllib.request
from collections.abc import Iterator
from email.message import EmailMessage

import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

IMAGE = os.environ.get("POSTFINCH_IMAGE", "postfinch/postfinch")
KEY = "test-key"


class Postfinch:
    """A running container."""

    def __init__(self, container: DockerContainer) -> None:
        self.host = container.get_container_host_ip()
        self.smtp_port = int(container.get_exposed_port(2525))
        self.url = f"http://{self.host}:{container.get_exposed_port(8080)}"

    def mail_to(self, address: str) -> dict:
        """Wait for a message to this address; return it as the mailbox lists it."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with urllib.request.urlopen(f"{self.url}/local/mailbox?to={address}") as response:
                if messages := json.load(response)["results"]:
                    return messages[0]
            time.sleep(0.1)
        raise AssertionError(f"no mail to {address}")


@pytest.fixture(scope="session")
def postfinch() -> Iterator[Postfinch]:
    container = DockerContainer(IMAGE).with_exposed_ports(8080, 2525).with_env("API_KEY", KEY)
    # The engine may run on another machine, and the mailbox answers only under names that it knows
    container.with_env("LOCAL_NAMES", container.get_docker_client().host())
    container.waiting_for(LogMessageWaitStrategy("Postfinch is ready"))
    with container:
        yield Postfinch(container)


def test_the_confirmation_is_sent(postfinch: Postfinch) -> None:
    message = EmailMessage()
    message["From"], message["To"] = "shop@example.test", "ann@inbox.test"
    message["Subject"] = "Please confirm"
    message.set_content("Hello Ann")
    with smtplib.SMTP(postfinch.host, postfinch.smtp_port) as connection:
        connection.starttls()
        connection.login("SMTP_Injection", KEY)
        connection.send_message(message)
    assert postfinch.mail_to("ann@inbox.test")["subject"] == "Please confirm"
