"""Set a machine up beside its running service: what is left is said until nothing is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.journey.service import eventually
from tests.machine.machine import Machine
from tests.machine.outside import Outside

_RECORD = re.compile(r"\b(A|AAAA|MX|TXT|PTR|CNAME) (\S+\.\S+) (.+)$")
#: A record may be judged only when another one is there, such as that of the name in a PTR record
_ROUNDS = 5

Findings = dict[str, dict[str, str]]


def findings(machine: Machine, *arguments: str, **environment: str) -> tuple[int, Findings]:
    """Run a command with ``--json``; return its exit code and findings by check."""
    result = machine.run(*arguments, "--json", **environment)
    assert result.stderr == ""
    return result.returncode, {each["check"]: each for each in json.loads(result.stdout)}


@pytest.fixture
def config(tmp_path: Path) -> str:
    return str(tmp_path / "postfinch.toml")


def publish(place: Outside, results: Findings) -> None:
    """Publish the records that findings ask for."""
    for finding in results.values():
        if finding["status"] == "problem" and (record := _RECORD.search(finding["remedy"])):
            kind, name, value = record.groups()
            place.zone.published.setdefault(name, []).append((kind, value))


def test_nothing_is_left_once_the_records_that_it_shows_are_published(
    machine: Machine, place: Outside, config: str
) -> None:
    setup = ("setup", "--config", config, "--yes", "--admin-email", "ann@reader.example")
    code, results = findings(machine, *setup)
    assert code == 1
    domain = machine.environment()["SYSTEM_DOMAIN"]
    assert results[f"SPF of {domain}"]["status"] == "problem"
    assert "v=DKIM1" in results[f"DKIM of {domain}"]["remedy"]
    for name in ("HTTP_PORT", "SUBMISSION_PORT", "INBOUND_PORT"):
        port = results[f"Port {machine.ports[name]}"]
        assert port["detail"] == f"the service has it ({name})"
    for _ in range(_ROUNDS):
        publish(place, results)
        code, results = findings(machine, *setup)
        if code == 0:
            break
    assert code == 0, results
    assert results[f"Outgoing port {place.mail_port}"]["status"] == "ok"

    eventually(lambda: machine.request("GET", "/ready", key=None).status == 200)
    code, results = findings(machine, "doctor")
    assert code == 0, results
    for check in ("GET /health", "GET /ready", "Alarms", "Dead letters", f"DKIM of {domain}"):
        assert results[check]["status"] == "ok", results[check]
    assert place.messages("ann@reader.example") == []


def test_doctor_knows_a_machine_without_its_environment_by_its_data(machine: Machine) -> None:
    environment = machine.environment()
    others = {name: "" for name in environment if name not in ("PATH", "HOME", "DATA_DIR")}
    _, results = findings(machine, "doctor", **others)
    assert results["GET /health"]["status"] == "ok"
    assert f"Address of {environment['SYSTEM_DOMAIN']}" in results


def test_the_operator_manages_the_accounts_of_the_machine(machine: Machine) -> None:
    result = machine.run("admin", "--local", "list-accounts")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("0\t")
    assert machine.run("admin", "--local", "list-dead-letters").stdout == ""


def test_a_stopped_service_is_a_problem(tmp_path: Path, place: Outside) -> None:
    machine = Machine(tmp_path, **place.environment(), POSTFINCH_CONFIG="/dev/null")
    code, results = findings(machine, "doctor")
    assert code == 1
    assert "postfinch serve" in results["Service"]["remedy"]
    assert not machine.data_dir.exists()


def test_doctor_tries_the_smarthost_with_its_tls_setting(tmp_path: Path, place: Outside) -> None:
    smarthost = f"127.0.0.1:{place.mail_port}"
    machine = Machine(tmp_path, POSTFINCH_CONFIG="/dev/null", SMARTHOST=smarthost)
    _, results = findings(machine, "doctor")
    assert results[f"Smarthost {smarthost}"]["status"] == "problem"
    assert "SMARTHOST_TLS" in results[f"Smarthost {smarthost}"]["remedy"]
    _, results = findings(machine, "doctor", SMARTHOST_TLS="off")
    assert results[f"Smarthost {smarthost}"]["status"] == "ok"


def test_a_value_that_cannot_be_ends_setup_with_status_2(machine: Machine, config: str) -> None:
    result = machine.run("setup", "--yes", "--config", config, "--smarthost-tls", "none", TLS="no")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "TLS" in result.stderr
    assert not Path(config).exists()
