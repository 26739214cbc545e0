from __future__ import annotations

import threading
from pathlib import Path

import pytest

from infrastructure.local import notices
from infrastructure.local.notices import Notices, tell


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / notices.PIPE
    monkeypatch.setenv(notices.VARIABLE, str(path))
    return path


def test_each_line_is_shown_once_in_the_terminal_and_in_the_log(
    pipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    supervisor = Notices(pipe)
    for number in range(3):
        tell(f"line {number}")
    assert capsys.readouterr().err == "line 0\nline 1\nline 2\n"
    for expected in ("line 0\nline 1\nline 2\n", ""):
        supervisor.show()
        assert capsys.readouterr().err == expected


def test_a_line_without_a_supervisor_is_in_the_log(
    pipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tell("nobody reads the pipe, which does not exist")
    pipe.touch()
    tell("it is no pipe")
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_nobody_waits_for_a_supervisor_that_does_not_read(pipe: Path) -> None:
    Notices(pipe)
    teller = threading.Thread(target=lambda: [tell("x" * 1000) for _ in range(200)])
    teller.start()
    teller.join(20)
    assert not teller.is_alive()
