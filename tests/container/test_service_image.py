"""Build the image of the whole service and use it through published ports, as an application does.

It is skipped where an image cannot be built (`engine.py`) or its ports cannot be published.
"""

from __future__ import annotations

import json
import os
import smtplib
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.container.engine import BASE, ROOT, Engine, cannot_publish
from tests.container.network import own_network
from tests.free_ports import free_port
from tests.http_response import Response
from tests.journey.service import eventually

KEY = "image-key"
MOST_BYTES = 200_000_000
STOP_SECONDS = 10.0
_STATES = (
    "import glob; stats = [open(path).read() for path in glob.glob('/proc/[0-9]*/stat')]; "
    "print(*(stat.rpartition(')')[2].split()[0] for stat in stats))"
)

pytestmark = pytest.mark.skipif(cannot_publish() != "", reason=cannot_publish())


@dataclass
class Container:
    """A container of the image, whose ports are mapped to other ones of this machine."""

    engine: Engine
    name: str
    ports: dict[int, int] = field(
        default_factory=lambda: {port: free_port() for port in (8080, 8443, 2525, 2465)}
    )

    @property
    def url(self) -> str:
        return f"http://localhost:{self.ports[8080]}"

    def start(self, image: str, *options: str, **environment: str) -> None:
        published = [f"--publish=127.0.0.1:{host}:{port}" for port, host in self.ports.items()]
        settings = {"API_KEY": KEY, "PUBLIC_URL": self.url} | environment
        fixed = ("--detach", f"--name={self.name}", f"--volume={self.name}:/data")
        self.engine.run(image, settings, *fixed, *published, *options, network="bridge")
        self.wait_until_healthy()

    def wait_until_healthy(self) -> None:
        eventually(self._is_healthy)

    def _is_healthy(self) -> bool:
        try:
            self.engine.podman("healthcheck", "run", self.name)
        except AssertionError:
            assert self.state("Status") == "running", self.engine.logs(self.name)
            return False
        return True

    def state(self, name: str) -> str:
        return self.engine.podman("inspect", f"--format={{{{.State.{name}}}}}", self.name).strip()

    def stop(self) -> float:
        began = time.monotonic()
        self.engine.podman("stop", "--time=60", self.name)
        return time.monotonic() - began

    def run(self, *command: str) -> str:
        return self.engine.podman("exec", self.name, *command)

    def request(self, path: str, body: Any = None, **headers: str) -> Response:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": KEY, "Content-Type": "application/json"} | fields,
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return Response(response.status, dict(response.headers), response.read())
        except urllib.error.HTTPError as error:
            return Response(error.code, dict(error.headers), error.read())

    def send(self, to: str, subject: str) -> None:
        html = '<p><a href="https://shop.example/">Shop</a></p>'
        content = {"from": "hello@example.test", "subject": subject, "html": html}
        body = {"content": content, "recipients": [{"address": to}]}
        assert self.request("/api/v1/transmissions", body).status == 200

    def mail_to(self, address: str) -> list[dict[str, Any]]:
        query = urllib.parse.urlencode({"to": address})
        return self.request(f"/local/mailbox?{query}").json["results"]

    def event_types(self, address: str) -> list[str]:
        query = urllib.parse.urlencode({"recipients": address})
        return [
            each["type"] for each in self.request(f"/api/v1/events/message?{query}").json["results"]
        ]


@pytest.fixture(scope="module", autouse=True)
def network(engine: Engine) -> Iterator[None]:
    """Let no other test see the interfaces; the engine comes first, as it downloads packages."""
    with own_network():
        yield


@pytest.fixture(scope="module")
def container(engine: Engine, service_image: str) -> Iterator[Container]:
    container = Container(engine, "service")
    container.start(service_image)
    yield container
    engine.podman("rm", "--force", "--time=0", "service")


def _message(to: str, subject: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "hello@example.test", to, subject
    message.set_content("Hello")
    return message


def _trust(container: Container, directory: Path) -> ssl.SSLContext:
    path = directory / "authority.pem"
    container.engine.podman("cp", f"{container.name}:/data/tls/authority.pem", str(path))
    return ssl.create_default_context(cafile=str(path))


def test_a_message_by_http_is_in_the_mailbox_and_its_links_work_outside_and_inside(
    container: Container,
) -> None:
    container.send("click+http@inbox.test", "By HTTP")
    (message,) = eventually(lambda: container.mail_to("click+http@inbox.test"))
    assert message["subject"] == "By HTTP"
    links = container.request(f"/local/mailbox/{message['id']}/links").json["results"]
    assert links[0]["url"].startswith(f"{container.url}/")
    eventually(lambda: "click" in container.event_types("click+http@inbox.test"))
    hook = f"{container.url}/local/webhooks/mine"
    webhook = {"name": "Mine", "target": hook, "events": ["delivery"]}
    assert container.request("/api/v1/webhooks", webhook).status == 200


def test_a_message_by_smtp_is_in_the_mailbox(container: Container, tmp_path: Path) -> None:
    trust = _trust(container, tmp_path)
    with smtplib.SMTP("localhost", container.ports[2525], timeout=60) as connection:
        connection.starttls(context=trust)
        connection.login("SMTP_Injection", KEY)
        connection.send_message(_message("ann@inbox.test", "By SMTP"))
    with smtplib.SMTP_SSL("localhost", container.ports[2465], context=trust) as connection:
        connection.login("SMTP_Injection", KEY)
        connection.send_message(_message("ann@inbox.test", "By SMTPS"))
    eventually(lambda: len(container.mail_to("ann@inbox.test")) == 2)
    subjects = {each["subject"] for each in container.mail_to("ann@inbox.test")}
    assert subjects == {"By SMTP", "By SMTPS"}


@pytest.mark.parametrize("name", ["localhost", "postfinch", "host.docker.internal"])
def test_its_names_are_in_the_certificate(container: Container, tmp_path: Path, name: str) -> None:
    trust = _trust(container, tmp_path)
    with (
        socket.create_connection(("127.0.0.1", container.ports[8443]), 60) as connection,
        trust.wrap_socket(connection, server_hostname=name) as secured,
    ):
        secured.sendall(f"GET /local/mailbox HTTP/1.1\r\nHost: {name}:8443\r\n\r\n".encode())
        assert secured.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "localhost.evil.example:8080"},
        {"Origin": "http://evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
def test_web_pages_of_other_sites_cannot_read_the_mailbox(
    container: Container, headers: dict[str, str]
) -> None:
    assert container.request("/local/mailbox").status == 200
    assert container.request("/local/mailbox", **headers).status == 403


def test_the_console_is_served_and_its_pages_may_use_the_mailbox(container: Container) -> None:
    assert b"Postfinch" in container.request("/console/").body
    headers = {"Origin": container.url, "Sec_Fetch_Site": "same-origin"}
    assert container.request("/local/mailbox", **headers).status == 200


def test_the_command_in_the_container_uses_its_service(container: Container) -> None:
    container.send("cli@inbox.test", "For the command")
    eventually(lambda: container.mail_to("cli@inbox.test"))
    assert "For the command" in container.run("postfinch", "mail", "list")


def test_it_runs_without_privileges_and_writes_to_its_volume_only(container: Container) -> None:
    assert container.run("id", "-u").strip() == "10001"
    for path in ("/opt/postfinch/x", "/etc/x"):
        with pytest.raises(AssertionError, match="Read-only file system"):
            container.run("touch", path)


def test_its_first_process_takes_signals_from_its_first_line_on(container: Container) -> None:
    assert "infrastructure.local.container" in container.run("cat", "/proc/1/cmdline")


def test_orphans_do_not_stay_as_zombies(container: Container) -> None:
    container.run("sh", "-c", "sleep 0.5 & sleep 0.5 &")
    eventually(lambda: "sleep" not in container.run("sh", "-c", "cat /proc/[0-9]*/comm"))
    eventually(lambda: "Z" not in container.run("python3", "-c", _STATES))


def test_it_logs_to_stdout_and_nothing_about_health_checks(container: Container) -> None:
    log = container.engine.logs("service")
    assert f"{container.url}/console/#local={KEY}" in log
    assert '"message":"relay listening"' in log
    container.wait_until_healthy()
    assert container.engine.logs("service") == log
    assert container.run("ls", "/data/logs").split() == []


def test_it_stops_in_order_and_keeps_its_data(container: Container) -> None:
    container.send("kept@inbox.test", "To be kept")
    eventually(lambda: "delivery" in container.event_types("kept@inbox.test"))
    assert container.stop() < STOP_SECONDS
    assert container.state("ExitCode") == "0"
    assert "Stopping." in container.engine.logs("service")
    container.engine.podman("start", "service")
    container.wait_until_healthy()
    (message,) = container.mail_to("kept@inbox.test")
    assert message["subject"] == "To be kept"
    assert "delivery" in container.event_types("kept@inbox.test")


def test_any_user_may_run_it_under_names_of_their_own(engine: Engine, service_image: str) -> None:
    container = Container(engine, "another")
    try:
        container.start(service_image, "--user=12345:12345", LOCAL_NAMES="mail.lan")
        assert container.request("/local/mailbox", Host="mail.lan").status == 200
        assert container.request("/local/mailbox", Host="postfinch").status == 403
    finally:
        engine.podman("rm", "--force", "--time=0", "another")


def test_the_application_of_the_compose_example_sends_and_reads(container: Container) -> None:
    compose = yaml.safe_load((ROOT / "examples" / "compose" / "compose.yaml").read_text())
    app = compose["services"]["app"]
    address = container.engine.podman(
        "inspect", "--format={{.NetworkSettings.IPAddress}}", container.name
    )
    output = container.engine.run(
        BASE,
        app["environment"] | {"API_KEY": KEY},
        *("--rm", "--user=65534", f"--add-host=postfinch:{address.strip()}"),
        f"--volume={ROOT}/examples/compose/app.py:/app/app.py:ro",
        f"--volume={container.name}:/postfinch:ro",
        f"--entrypoint={json.dumps(['python3', *app['command'][1:]])}",
        network="bridge",
    )
    assert "Both messages are in the mailbox" in output


def test_the_testcontainers_example_passes(engine: Engine, service_image: str) -> None:
    file = ROOT / "examples" / "testcontainers" / "test_mail.py"
    with engine.docker_api() as socket_address:
        environment = {
            "DOCKER_HOST": socket_address,
            "POSTFINCH_IMAGE": service_image,
            "TESTCONTAINERS_CONNECTION_MODE": "docker_host",
            # It would have to be downloaded; the container ends with the example's fixture
            "TESTCONTAINERS_RYUK_DISABLED": "true",
        }
        options = ("-m", "pytest", "-p", "no:cacheprovider", str(file))
        assert "[100%]" in _run_python(*options, environment=environment)
    assert "testcontainers" not in engine.podman("ps", "--all", "--format={{.Labels}}")


def _run_python(*arguments: str, environment: dict[str, str]) -> str:
    process = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_the_image_is_small(engine: Engine, service_image: str) -> None:
    assert engine.size(service_image) - engine.size(BASE) < MOST_BYTES
