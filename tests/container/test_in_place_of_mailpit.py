"""Run the Compose file of an application that had Mailpit, with another image and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.container.engine import BASE, ROOT, Engine, cannot_publish
from tests.container.network import own_network
from tests.container.terminal import Terminal, docker_variables
from tests.journey.service import eventually

FILES = ROOT / "examples" / "mailpit"
COMPOSE: dict[str, Any] = yaml.safe_load((FILES / "compose.yaml").read_text())
CONTAINER = "shop_mailpit_1"
URL = "http://localhost:8025"

pytestmark = pytest.mark.skipif(cannot_publish() != "", reason=cannot_publish())


@pytest.fixture(scope="module")
def terminal(
    engine: Engine, service_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Terminal]:
    """A terminal in the folder of the application, in a network where the usual ports are free."""
    shop = tmp_path_factory.mktemp("home") / "shop"
    shop.mkdir()
    for file in FILES.iterdir():
        shutil.copy(file, shop)
    with own_network():
        variables = docker_variables(engine, shop.parent / "bin")
        terminal = Terminal(shop, HOME=str(shop), POSTFINCH_IMAGE=service_image, **variables)
        try:
            terminal.run("docker compose up -d mailpit")
            yield terminal
        finally:
            print(terminal.run("docker compose logs", may_fail=True))
            terminal.run("docker compose down --volumes", may_fail=True)


@pytest.fixture(scope="module")
def healthy(engine: Engine, terminal: Terminal) -> Terminal:
    """The same when the health check of the file passes."""

    def passes() -> bool:
        try:
            engine.podman("healthcheck", "run", CONTAINER)
        except AssertionError:
            return False
        return True

    eventually(passes)
    return terminal


def test_the_application_sends_and_reads_as_before(engine: Engine, healthy: Terminal) -> None:
    app = COMPOSE["services"]["app"]
    template = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
    address = engine.podman("inspect", f"--format={template}", CONTAINER).strip()
    variables = " ".join(f"--env={name}={value}" for name, value in app["environment"].items())
    # The network has no DNS here
    options = f"--rm --network=shop_default --add-host=mailpit:{address} {variables}"
    volume = f"--volume={FILES}/app.py:/app/app.py:ro"
    output = healthy.run(f"podman run {options} {volume} {BASE} python3 {app['command'][1]}")
    assert output == "Your order: Thank you.\n"


def test_other_health_checks_and_waits_for_mailpit_pass(engine: Engine, healthy: Terminal) -> None:
    for command in (
        ("wget", "-q", "--spider", "http://localhost:8025/readyz"),
        ("wget", "-qO-", "http://localhost:8025/livez"),
        ("/mailpit", "readyz", "--wait"),
    ):
        engine.podman("exec", CONTAINER, *command)
    log = engine.logs(CONTAINER)
    assert re.search(r"^.*\[http\] accessible via.*\n", log, re.MULTILINE)
    assert "[smtpd] starting on [::]:1025" in log


def test_every_variable_of_the_file_has_a_counterpart_here(
    engine: Engine, healthy: Terminal
) -> None:
    variables = COMPOSE["services"]["mailpit"]["environment"]
    log = engine.logs(CONTAINER)
    assert not [name for name in variables if name in log]


def test_the_mailbox_is_at_the_usual_port_in_a_browser(healthy: Terminal) -> None:
    with urllib.request.urlopen(f"{URL}/", timeout=60) as response:
        assert b"<html" in response.read()


def test_the_mailpit_of_testcontainers_starts_with_this_image(
    engine: Engine, service_image: str, terminal: Terminal
) -> None:
    """Start it in a program of its own, as the engine is told by variables."""
    program = Path(__file__).with_name("mailpit_of_testcontainers.py")
    with engine.docker_api() as socket_address:
        environment = {
            "DOCKER_HOST": socket_address,
            "POSTFINCH_IMAGE": service_image,
            "TESTCONTAINERS_CONNECTION_MODE": "docker_host",
            "TESTCONTAINERS_RYUK_DISABLED": "true",
        }
        process = subprocess.run(
            [sys.executable, str(program)],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert process.stdout == "caught with and without a login\n", process.stderr
