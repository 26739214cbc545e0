from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from chalicelib.core import settings
from infrastructure.local.cloud.server import LOCK_PATIENCE
from infrastructure.local.run import Runtime, announcement
from infrastructure.local.supervisor import forks
from infrastructure.local.supervisor.child import PATIENCE, Process
from infrastructure.local.supervisor.environment import LocalConfig, prepare
from infrastructure.local.supervisor.ports import MailboxPorts
from tests.free_ports import free_port
from tests.unit.infrastructure.clouds import ROOT


@pytest.fixture
def config(tmp_path: Path) -> Iterator[LocalConfig]:
    ports = dict.fromkeys(("CATCH_PORT", "MAILPIT_PORT", "POP3_PORT", "IMAP_PORT"), "0")
    ports |= {"API_PORT": str(free_port()), "SMTP_PORT": str(free_port())}
    config = prepare({**ports, "API_KEY": "the-key", "DATA_DIR": str(tmp_path / "data")})
    yield config
    os.close(config.lock)


def test_the_announcement_names_url_key_port_and_data_directory(config: LocalConfig) -> None:
    text = announcement(config)
    for part in (
        f"http://localhost:{config.api_port}/api/v1",
        "the-key",
        f"localhost:{config.smtp_port}",
        f"Inbound   localhost:{config.ports.inbound} ",
        str(config.data_dir),
        f"http://localhost:{config.api_port}/local/mailbox",
        f"http://localhost:{config.api_port}/console/#local=the-key",
    ):
        assert part in text


def test_the_announcement_says_where_mail_readers_find_the_mailbox(config: LocalConfig) -> None:
    ports = MailboxPorts(catch=0, mailpit=0, pop3=0, imap=1143)
    text = announcement(replace(config, mailbox_ports=ports))
    assert "  IMAP      localhost:1143 (the mailbox; any login)\n  Mailbox   " in text
    assert "POP3" not in text
    environ = {**config.environ, "MAILBOX_PASSWORDS": "names"}
    text = announcement(replace(config, mailbox_ports=replace(ports, pop3=1110), environ=environ))
    assert "  POP3      localhost:1110 (the mailbox; logins of MAILBOX_PASSWORDS)\n" in text


def test_the_announcement_says_whether_the_port_of_mailpits_api_asks_for_a_login(
    config: LocalConfig, tmp_path: Path
) -> None:
    ports = MailboxPorts(catch=0, mailpit=8025, pop3=0, imap=0)
    config = replace(config, mailbox_ports=ports)
    assert "localhost:8025/ (the mailbox, and Mailpit's API)\n" in announcement(config)
    path = tmp_path / "logins"
    path.write_text("ann:secret\n")
    config = replace(config, environ={**config.environ, "MAILPIT_PASSWORDS": str(path)})
    assert "Mailpit's API; logins of MAILPIT_PASSWORDS)\n" in announcement(config)


def test_the_announcement_says_by_what_mail_leaves(config: LocalConfig) -> None:
    assert "leaves this machine" not in announcement(config)
    environ = {**config.environ, "SMARTHOST": "mail.test:587", "DELIVER": "true"}
    text = announcement(replace(config, environ=environ))
    assert "\n  Mail leaves this machine by mail.test:587.\n" in text
    assert "you@example.com" not in text


def test_the_announcement_says_what_can_be_released(config: LocalConfig) -> None:
    assert "released" not in announcement(config)
    text = announcement(replace(config, release_warning="Mail can be released by mail.test:25."))
    assert "\n  Mail can be released by mail.test:25.\n" in text


def test_the_curl_line_can_be_pasted(config: LocalConfig) -> None:
    line = next(each for each in announcement(config).splitlines() if "transmissions" in each)
    words = shlex.split(line)
    assert words[:2] == ["curl", "-s"]
    assert words[2] == f"http://localhost:{config.api_port}/api/v1/transmissions"
    assert "Authorization: the-key" in words
    body = json.loads(words[words.index("-d") + 1])
    assert body["content"]["from"].endswith("@example.test")
    assert body["recipients"]


class StepsOfStart:
    """Notes what is started and imported, and in which order, and starts nothing."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def start(self, *processes: Process, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Note the names of processes."""
        self.steps += [each.name for each in processes]
        meanwhile()

    def run(self, process: Process, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Note the name of a process."""
        self.start(process, meanwhile=meanwhile)

    def preload(self, modules: Iterable[str], environment: Mapping[str, str]) -> None:
        """Note the names of modules."""
        self.steps += modules


@pytest.mark.parametrize("way", ["store", "send"])
def test_mail_is_caught_before_the_cloud_is_ready_and_the_application_imported(
    config: LocalConfig, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = StepsOfStart()
    monkeypatch.setattr(forks, "preload", start.preload)
    monkeypatch.setattr(forks, "FORKS", False)
    ports = replace(config.mailbox_ports, catch=1025)
    environ = {**config.environ, "CATCH": way}
    Runtime(replace(config, mailbox_ports=ports, environ=environ)).start(start)  # type: ignore[arg-type]
    order = [*start.steps]
    assert order[0] == "cloud"
    assert order.index("sink") < order.index("provision") < order.index("bootstrap")
    assert order.index("provision") < order.index("infrastructure.local.gateway")
    if way == "store":
        assert order.index("catching") < order.index("infrastructure.provision")
    else:
        # It sends with the key that a first start stores
        assert order.index("catching") > order.index("bootstrap")


def test_the_cloud_may_wait_for_the_lock_and_then_for_its_state(
    config: LocalConfig,
) -> None:
    assert Runtime(config)._cloud().patience >= LOCK_PATIENCE + PATIENCE


def test_a_worker_that_stops_may_wait_for_a_mail_hosts_reply(config: LocalConfig) -> None:
    current = settings.load(config.child_environment())
    grace = Runtime(config)._worker("worker").grace
    assert grace > current.smtp_command_timeout + current.smtp_final_timeout


def test_an_impossible_setting_is_reported_in_one_line_with_status_two(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as occupant:
        port = occupant.getsockname()[1]
        process = subprocess.run(
            [sys.executable, "-m", "infrastructure.local.run"],
            cwd=ROOT,
            env={
                **os.environ,
                "API_PORT": str(port),
                "SMTP_PORT": str(free_port()),
                "DATA_DIR": str(tmp_path),
            },
            capture_output=True,
            text=True,
        )
    assert process.returncode == 2
    assert process.stdout == ""
    assert process.stderr.splitlines() == [
        f"postfinch: port {port} is taken or not allowed: set API_PORT to another one"
    ]
