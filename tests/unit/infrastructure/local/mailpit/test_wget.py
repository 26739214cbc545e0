from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.local.mailpit.wget import main
from tests.free_ports import free_port
from tests.unit.infrastructure.local.supervisor.test_probes import server_that_says

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
_GONE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    "options",
    [
        ["-q", "--spider"],
        ["--no-verbose", "--tries=1", "--spider"],
        ["-qO-"],
        ["-q", "-O", "/dev/null", "-T", "3"],
        ["-nv", "-t1", "--spider"],
    ],
)
def test_health_checks_of_compose_files_pass_when_it_answers(options: list[str]) -> None:
    for scheme in ("http://", ""):
        with server_that_says(_OK) as port:
            assert main([*options, f"{scheme}127.0.0.1:{port}/readyz?once"]) == 0


def test_the_status_is_printed_where_a_script_looks_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with server_that_says(_OK) as port:
        assert main(["--server-response", "--spider", f"http://127.0.0.1:{port}/"]) == 0
    assert capsys.readouterr().err == "  HTTP/1.1 200\n"


def test_it_fails_for_an_error_and_for_silence(capsys: pytest.CaptureFixture[str]) -> None:
    with server_that_says(_GONE) as port:
        assert main(["--spider", f"http://localhost:{port}/"]) == 1
        assert "404" in capsys.readouterr().err
    assert main(["-q", f"http://localhost:{free_port()}/"]) == 1
    assert main(["http://localhost:port/"]) == 1


def test_the_answer_is_written_where_it_shall_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    for options, path in (["-O", "-"], "/x"), ([], "/x"), ([], ""):
        with server_that_says(_OK) as port:
            assert main([*options, f"http://127.0.0.1:{port}{path}"]) == 0
    assert capfdbinary.readouterr().out == b"ok"
    assert [(tmp_path / name).read_bytes() for name in ("x", "index.html")] == [b"ok", b"ok"]
