"""A test that fails once is unstable, and the run passes; one that fails again fails the run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import rerun


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that says how the last run ended, and how the next one will."""

    def end(status: int, *names: str, again: int = 0) -> list[list[str]]:
        for key, value in ((rerun.STATUS_KEY, status), ("cache/lastfailed", dict.fromkeys(names))):
            path = tmp_path / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value))
        commands: list[list[str]] = []

        def run(command: list[str], **_: Any) -> Any:
            commands.append(command)
            return SimpleNamespace(returncode=again)

        monkeypatch.setattr(subprocess, "run", run)
        return commands

    monkeypatch.setattr(rerun, "_CACHE", tmp_path)
    return end


def test_what_passes_when_it_runs_alone_is_listed(ran: Any, capsys: Any) -> None:
    commands = ran(1, "b::two", "a::one", "c::three")
    assert rerun.main() == 0
    assert capsys.readouterr().out == "a::one\nb::two\nc::three\n"
    assert [command[-3:] for command in commands] == [["a", "b", "c"]]


def test_what_fails_again_fails_the_run(ran: Any, capsys: Any) -> None:
    ran(1, "a::one", again=1)
    assert rerun.main() == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("status", "names"),
    [
        (1, ["a::1", "a::2", "a::3", "a::4"]),
        (1, []),
        (2, ["a::1"]),  # interrupted: other tests did not run
        (3, ["a::1"]),
    ],
)
def test_many_failures_and_a_run_without_an_end_fail(
    ran: Any, status: int, names: list[str]
) -> None:
    commands = ran(status, *names)
    assert rerun.main() == 1
    assert commands == []


def test_without_an_earlier_run_there_is_nothing_to_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerun, "_CACHE", tmp_path)
    assert rerun.main() == 1
