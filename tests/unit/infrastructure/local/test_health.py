from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.local import health
from infrastructure.local.health import ADDRESS_FILE, main, problem
from tests.free_ports import free_port
from tests.unit.infrastructure.local.supervisor.test_probes import server_that_says

_HTTP = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def test_a_service_whose_ports_answer_after_its_start_is_healthy(tmp_path: Path) -> None:
    (tmp_path / ADDRESS_FILE).write_text("{}")
    with server_that_says(_HTTP) as api, server_that_says(b"220 mail\r\n") as smtp:
        ports = {"API_PORT": str(api), "SMTP_PORT": str(smtp)}
        assert problem({"DATA_DIR": str(tmp_path), **ports}) == ""


def test_a_service_that_starts_or_stops_is_not(tmp_path: Path) -> None:
    assert "start" in problem({"DATA_DIR": str(tmp_path)})


def test_a_silent_port_is_named(tmp_path: Path) -> None:
    (tmp_path / ADDRESS_FILE).write_text("{}")
    port = str(free_port())
    environ = {"DATA_DIR": str(tmp_path), "API_PORT": port, "SMTP_PORT": port}
    assert f"API does not answer on port {port}" in problem(environ)
    with server_that_says(_HTTP) as api:
        assert f"relay does not greet on port {port}" in problem(environ | {"API_PORT": str(api)})


def test_the_exit_status_says_whether_it_is_healthy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(health, "problem", lambda environ: "")
    assert main() == 0
    monkeypatch.setattr(health, "problem", lambda environ: "not yet")
    assert main() == 1
    assert capsys.readouterr().err == "not yet\n"
