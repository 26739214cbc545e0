"""Run the installed package, in a folder whose modules have the names of ours."""

from __future__ import annotations

import json
import os
import signal
import smtplib
import subprocess
import urllib.request
import zipfile
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from tests.free_ports import free_port
from tests.journey.service import eventually


class Installed:
    """The installed command, for a user with folders of their own."""

    def __init__(self, programs: Path, home: Path) -> None:
        self.programs = programs
        self.folder = home / "project"
        self.folder.mkdir(parents=True)
        for name in ("app.py", "relay.py", "chalicelib.py", "infrastructure.py", "typing.py"):
            (self.folder / name).write_text("raise SystemExit('the module of a user was imported')")
        keep = {"PATH", "HOME", "LANG", "TMPDIR"}
        self.environment = {name: os.environ[name] for name in keep & set(os.environ)} | {
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_CONFIG_HOME": str(home / "config"),
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the command."""
        return subprocess.Popen(
            [self.programs / "postfinch", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def call(self, *arguments: str) -> str:
        """Run the command, and return what it writes."""
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
        return output


@pytest.fixture(scope="module")
def installed(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(programs, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def service(installed: Installed) -> Iterator[dict[str, Any]]:
    """The address of the service that `postfinch run` has started."""
    ports = "--port", str(free_port()), "--smtp-port", str(free_port())
    process = installed.start("run", *ports)
    path = Path(installed.environment["XDG_DATA_HOME"], "postfinch", "service.json")
    try:
        eventually(lambda: path.exists() or process.poll() is not None)
        assert process.poll() is None, process.stdout and process.stdout.read()
        yield json.loads(path.read_text())
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert not path.exists()


def test_the_package_has_no_modules_beside_its_own(wheel: Path) -> None:
    names = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"postfinch"}
    assert wheel.stat().st_size < 20_000_000


def test_it_tells_its_version(installed: Installed, wheel: Path) -> None:
    assert installed.call("--version").strip() == wheel.name.split("-")[1]


def test_a_message_by_smtp_is_seen_in_the_mailbox_with_its_events(service: dict[str, Any]) -> None:
    message = EmailMessage()
    message["From"], message["To"] = "shop@example.test", "reader@inbox.test"
    message["Subject"] = "From the installed package"
    message.set_content("It works.")
    with smtplib.SMTP(service["smtp_host"], service["smtp_port"]) as connection:
        connection.starttls()
        connection.login("SMTP_Injection", service["api_key"])
        connection.send_message(message)
    mail = eventually(lambda: _get(service, "/local/mailbox?to=reader@inbox.test")["results"])
    assert mail[0]["subject"] == "From the installed package"
    events = eventually(lambda: _get(service, "/api/v1/events/message?events=delivery")["results"])
    assert events[0]["rcpt_to"] == "reader@inbox.test"


def test_the_console_is_served(service: dict[str, Any]) -> None:
    with urllib.request.urlopen(f"{service['api_url']}/console/") as page:
        assert b"Postfinch" in page.read()


_TESTS = """
import pytest

@pytest.mark.parametrize("number", range(4))
def test_mail_arrives(postfinch, number):
    postfinch.send(to=f"reader-{number}@inbox.test", subject="Hello", text="Hello")
    message = postfinch.mailbox.wait_for(to="reader-*")
    assert message.to == f"reader-{number}@inbox.test"
    message.wait_for_event("delivery")
    assert len(postfinch.mailbox) == 1
"""


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_the_fixture_serves_the_tests_of_other_programs(
    installed: Installed, tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "test_mail.py").write_text(_TESTS)
    python = installed.programs / "python"
    # Settings of the tested program concern nobody else
    environment = installed.environment | {"SECRET_KEY": "of-the-program", "API_KEY": "another"}
    done = subprocess.run(
        [python, "-W", "error", "-m", "pytest", "-q", *options, str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def _get(service: dict[str, Any], path: str) -> Any:
    request = urllib.request.Request(
        service["api_url"] + path, headers={"Authorization": service["api_key"]}
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)
