from __future__ import annotations

import os
from typing import NoReturn

import pytest

from infrastructure.local.mailpit import command
from infrastructure.local.mailpit.command import address, main
from tests.free_ports import free_port
from tests.unit.infrastructure.local.supervisor.test_probes import server_that_says

_READY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_NOT_READY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("environ", "where"),
    [
        ({}, (8025, "/readyz")),
        ({"MP_UI_BIND_ADDR": "0.0.0.0:9025"}, (9025, "/readyz")),
        ({"MP_UI_BIND_ADDR": "[::]:9025", "MP_WEBROOT": "/mail/"}, (9025, "/mail/readyz")),
        ({"MAILPIT_PORT": "9026", "MP_UI_BIND_ADDR": ":9025"}, (9026, "/readyz")),
        ({"MAILPIT_ROOT": "box", "MP_WEBROOT": "mail"}, (8025, "/box/readyz")),
    ],
)
def test_the_check_asks_where_the_settings_say(
    environ: dict[str, str], where: tuple[int, str]
) -> None:
    assert address(environ) == where


def test_readyz_tells_by_its_status_whether_the_service_is_ready(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with server_that_says(_READY) as port:
        monkeypatch.setenv("MAILPIT_PORT", str(port))
        assert main(["readyz"]) == 0
        assert main(["readyz", "--listen", f"127.0.0.1:{free_port()}"]) == 1
    with server_that_says(_NOT_READY) as port:
        assert main(["readyz", "--wait", "--timeout=0s", "-l", f"localhost:{port}"]) == 1
        assert f"port {port}/readyz" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--timeout=soon"], ["-x"], ["--listen=x:y"]])
def test_a_flag_of_the_check_that_cannot_work_is_told(
    capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    assert main(["readyz", *flags]) == 2
    assert "mailpit readyz: " in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--smtp-auth-accept-any", "--max", "5"]])
def test_without_a_command_it_starts_the_service(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    class Replaced(Exception):
        """The process became another program."""

    calls = []

    def execv(program: str, words: list[str]) -> NoReturn:
        calls.append(words[1:])
        raise Replaced

    monkeypatch.setattr(os, "execv", execv)
    with pytest.raises(Replaced):
        main(arguments)
    assert calls == [["-m", "infrastructure.local.container", *arguments]]


def test_commands_that_are_not_here_name_what_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest", "/mail"]) == 2
    assert "postfinch mail import" in capsys.readouterr().err
    assert main(["version"]) == 0
    assert command.main(["sendmail"]) == 2
