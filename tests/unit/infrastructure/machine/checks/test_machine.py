"""Ports, clock, disk, memory and the running service are judged with what to do about them."""

from __future__ import annotations

import errno
import fcntl
import json
import resource
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from email.utils import formatdate
from pathlib import Path
from typing import NamedTuple

import pytest

from infrastructure.machine import alarms, configuration
from infrastructure.machine.backup.status import BackupStatus, write_status
from infrastructure.machine.certificates import service_certificate
from infrastructure.machine.checks import (
    checklist,
    clock_skew,
    port_25,
    public_ports,
    resources,
    running_service,
)
from infrastructure.machine.checks.finding import OK, PROBLEM, SKIPPED, WARNING
from tests.http_target import serving
from tests.unit.infrastructure.machine.checks.conftest import DOMAIN, Installing, by_check
from tests.unit.zones import Zone

NOW = 1_795_089_600.0
NO_PORTS = {"HTTPS_PORT": "1", "SUBMISSION_PORT": "0", "SUBMISSIONS_PORT": "0", "INBOUND_PORT": "0"}


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server


def on_port(listener: socket.socket) -> dict[str, str]:
    """Return settings with this port as the only one."""
    port = str(listener.getsockname()[1])
    return {**NO_PORTS, "TLS": "off", "HTTP_PORT": port, "LISTEN_ADDRESS": "127.0.0.1"}


def test_a_port_of_another_program_is_a_problem(
    install: Installing, listener: socket.socket
) -> None:
    (finding,) = public_ports.check_ports(install(**on_port(listener)))
    assert finding.status == PROBLEM
    assert "another program has this port" in finding.detail
    assert "set HTTP_PORT to another one" in finding.remedy


def test_a_free_port_is_fine(install: Installing, listener: socket.socket) -> None:
    values = on_port(listener)
    listener.close()
    (finding,) = public_ports.check_ports(install(**values))
    assert (finding.status, finding.detail) == (OK, "free (HTTP_PORT)")


def test_a_port_that_the_service_has_itself_is_fine(
    install: Installing, listener: socket.socket
) -> None:
    values = on_port(listener)
    subject = install(**values)
    subject.data_dir.mkdir()
    (subject.data_dir / configuration.SETTINGS_FILE).write_text(json.dumps(values))
    with (subject.data_dir / "lock").open("w") as lock:
        (finding,) = public_ports.check_ports(subject)
        assert finding.status == PROBLEM  # nothing runs
        fcntl.flock(lock, fcntl.LOCK_EX)
        (finding,) = public_ports.check_ports(subject)
    assert (finding.status, finding.detail) == (OK, "the service has it (HTTP_PORT)")


def test_ports_that_are_the_default_are_known_as_those_of_the_service(
    install: Installing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EADDRINUSE, "Address already in use")

    monkeypatch.setattr(public_ports.listening, "bind", refuse)
    subject = install()
    subject.data_dir.mkdir()
    with (subject.data_dir / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        results = list(public_ports.check_ports(subject))
    assert [finding.check for finding in results] == [
        f"Port {port}" for port in (80, 443, 587, 465, 25)
    ]
    assert {finding.status for finding in results} == {OK}


def test_ports_that_only_the_unit_may_bind_are_free(
    install: Installing, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(public_ports.listening, "bind", refuse)
    subject = install(**on_port(listener))
    (finding,) = public_ports.check_ports(subject)
    assert finding.status == PROBLEM  # another program answers there
    listener.close()
    (finding,) = public_ports.check_ports(subject)
    assert finding.status == OK
    assert "postfinch service" in finding.detail


def test_port_25_is_tried_at_the_mail_host_of_a_domain(
    install: Installing, zone: Zone, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(port_25.VARIABLE, "large.example")
    zone.set("large.example", ("MX", "10 mx.large.example"))
    zone.set("mx.large.example", ("A", "127.0.0.1"))
    subject = install(TRANSPORT="mx", MX_PORT=str(listener.getsockname()[1]))
    (finding,) = port_25.check_port_25(subject)
    assert (finding.status, finding.detail) == (OK, "mx.large.example answers")
    listener.close()
    (finding,) = port_25.check_port_25(subject)
    assert finding.status == PROBLEM
    assert "--transport smtp" in finding.remedy
    assert list(port_25.check_port_25(install(TRANSPORT="ses"))) == []


@pytest.mark.parametrize(
    ("seconds", "status"), [(0, OK), (-59, OK), (61, PROBLEM), (-3600, PROBLEM)]
)
def test_the_clock_may_be_wrong_by_a_minute(seconds: int, status: str) -> None:
    assert clock_skew.judge_date(formatdate(NOW - seconds, usegmt=True), NOW).status == status


def test_without_a_network_the_clock_is_not_judged(install: Installing) -> None:
    subject = install(ACME_DIRECTORY="https://127.0.0.1:1/directory")
    assert clock_skew.check_clock(subject).status == SKIPPED
    assert clock_skew.judge_date("", NOW).status == SKIPPED


class _Usage(NamedTuple):
    free: int


@pytest.mark.parametrize(
    ("free", "status"),
    [(7e9, OK), (4e9, WARNING), (4e8, PROBLEM)],
    ids=["7 GB", "4 GB", "0.4 GB"],
)
def test_the_disk_must_have_room_for_a_million_messages(
    install: Installing, monkeypatch: pytest.MonkeyPatch, free: float, status: str
) -> None:
    monkeypatch.setattr(resources.shutil, "disk_usage", lambda _: _Usage(int(free)))
    assert resources.check_disk(install()).status == status


def test_the_limit_of_a_container_is_its_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(resources, "_LIMIT", limit)
    limit.write_text("max\n")
    assert resources.check_memory().status == OK
    limit.write_text("500000000\n")
    assert resources.check_memory().status == WARNING


@pytest.mark.parametrize(
    ("most", "status"), [(resource.RLIM_INFINITY, OK), (4096, OK), (1024, WARNING), (256, PROBLEM)]
)
def test_a_process_must_be_able_to_open_many_files(
    monkeypatch: pytest.MonkeyPatch, most: int, status: str
) -> None:
    monkeypatch.setattr(resources.resource, "getrlimit", lambda _: (256, most))
    assert resources.check_open_files().status == status


def test_a_configuration_that_others_can_read_is_a_problem(
    install: Installing, tmp_path: Path
) -> None:
    path = tmp_path / "postfinch.toml"
    path.write_text(f'system_domain = "{DOMAIN}"\n')
    path.chmod(0o644)
    subject = install(POSTFINCH_CONFIG=str(path))
    (finding,) = resources.check_permissions(subject)
    assert (finding.status, finding.remedy) == (PROBLEM, f"chmod 600 {path}")
    path.chmod(0o600)
    (finding,) = resources.check_permissions(subject)
    assert finding.status == OK


def test_a_service_that_does_not_run_is_a_problem(
    install: Installing, listener: socket.socket
) -> None:
    values = on_port(listener)
    listener.close()
    (finding,) = running_service.check_health(install(**values))
    assert finding.status == PROBLEM
    assert "systemctl start postfinch" in finding.remedy


@pytest.mark.parametrize(
    ("parts", "status", "detail"),
    [({"storage": "ok"}, 200, "ok"), ({"storage": "failing"}, 503, "failing: storage")],
)
def test_health_names_the_parts_that_fail(
    parts: Mapping[str, str], status: int, detail: str
) -> None:
    body = json.dumps({"status": "", "parts": parts}).encode()
    finding = running_service._judge("GET /health", status, body, "look")
    assert (finding.status == OK, finding.detail) == (status == 200, detail)


def test_another_program_at_the_port_is_told_apart(install: Installing) -> None:
    with serving() as target:
        values = {**NO_PORTS, "TLS": "off", "HTTP_PORT": str(target.port)}
        results = list(running_service.check_health(install(**values)))
    assert "another program answers" in results[0].detail


def test_a_certificate_that_the_authority_has_not_issued_is_a_warning(install: Installing) -> None:
    subject = install()
    (finding,) = running_service.check_certificates(subject)
    assert finding.status == PROBLEM  # there is none
    service_certificate.provide(subject.data_dir, [DOMAIN])
    (finding,) = running_service.check_certificates(subject)
    assert finding.status == WARNING
    assert DOMAIN in finding.check
    (finding,) = running_service.check_certificates(install(TLS="off"))
    assert finding.status == OK


def test_backups_that_fail_or_are_not_made_are_shown(install: Installing) -> None:
    (finding,) = running_service.check_backups(install())
    assert (finding.status, finding.detail) == (WARNING, "none are scheduled")
    subject = install(BACKUP_DIR="/backups")
    subject.data_dir.mkdir()
    (finding,) = running_service.check_backups(subject)
    assert (finding.status, finding.detail) == (WARNING, "there is none yet")
    write_status(subject.data_dir, BackupStatus(success=NOW))
    (finding,) = running_service.check_backups(subject)
    assert finding.status == OK
    failure = BackupStatus(success=NOW, failure=NOW, text="the disk is full", is_failing=True)
    write_status(subject.data_dir, failure)
    (finding,) = running_service.check_backups(subject)
    assert finding.status == PROBLEM
    assert finding.detail.startswith("the disk is full; the last one is of 2026-")


def test_open_alarms_are_shown(install: Installing) -> None:
    subject = install()
    (finding,) = running_service.check_alarms(subject)
    assert finding.status == OK
    subject.data_dir.mkdir()
    alarm = {"disk": {"text": "The disk is 90% full.", "since": NOW, "told_at": NOW}}
    (subject.data_dir / alarms.FILE).write_text(json.dumps(alarm))
    finding = by_check(list(running_service.check_alarms(subject)))["Alarm disk"]
    assert finding.status == PROBLEM
    assert finding.detail.startswith("The disk is 90% full. (since 2026-")


def test_what_this_user_may_not_read_is_skipped() -> None:
    def check() -> Iterator[None]:
        raise PermissionError(13, "Permission denied", "/var/lib/postfinch")

    (finding,) = checklist.results({"Certificates": check})  # type: ignore[dict-item]
    assert (finding.check, finding.status) == ("Certificates", SKIPPED)
    assert "/var/lib/postfinch" in finding.detail
