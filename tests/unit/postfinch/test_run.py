from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from postfinch import commands, locations

Call = tuple[Sequence[str], Mapping[str, str]]


class Replaced(Exception):
    """This process would have become another program."""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Call the command; return the program that it becomes, and its environment."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    calls: list[Call] = []

    def become(program: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        calls.append((arguments, environment))
        raise Replaced

    monkeypatch.setattr(os, "execve", become)

    def run(*arguments: str) -> Call:
        monkeypatch.setattr(sys, "argv", ["postfinch", *arguments])
        with pytest.raises(Replaced):
            commands.main()
        return calls.pop()

    return run


@pytest.mark.parametrize("arguments", [(), ("run",)])
def test_without_a_command_the_service_runs(call: Any, arguments: tuple[str, ...]) -> None:
    program, environment = call(*arguments)
    assert program[1:] == ["-m", "infrastructure.local.run"]
    assert environment["API_PORT"] == "8080"
    assert environment["PYTHONPATH"] == str(locations.service_root())


def test_the_start_tells_how_other_commands_find_a_folder_of_ones_own(
    call: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("run")
    assert capsys.readouterr().out == ""
    call("run", "--data-dir", str(tmp_path / "other"))
    assert f"With DATA_DIR={tmp_path / 'other'}, commands" in capsys.readouterr().out


def test_ports_key_and_folder_are_chosen_by_options(call: Any, tmp_path: Path) -> None:
    options = ("--port", "18080", "--smtp-port", "12525", "--api-key", "k")
    _, environment = call("run", *options, "--data-dir", str(tmp_path / "other"))
    names = ("API_PORT", "SMTP_PORT", "API_KEY", "DATA_DIR")
    values = [environment[name] for name in names]
    assert values == ["18080", "12525", "k", str(tmp_path / "other")]


def test_variables_of_the_environment_count_where_no_option_is_there(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_PORT", "18081")
    assert call()[1]["API_PORT"] == "18081"
