"""The operator's tools run as commands, apart from the modules of the folder they are called in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infrastructure.deploy import missing_choices

ROOT = Path(__file__).parents[3]


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder whose modules have the names of the service's."""
    for name in ("app.py", "chalicelib.py", "infrastructure.py"):
        (folder / name).write_text("raise SystemExit('the module of a user was imported')")
    start = "import sys; sys.path.insert(0, sys.argv.pop(1)); import postfinch.__main__"
    return subprocess.run(
        [sys.executable, "-P", "-c", start, str(ROOT), *arguments],
        cwd=folder,
        env={**os.environ, "DATA_DIR": str(folder / "data")},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("tool", "text"), [("admin", "list-accounts"), ("deploy", "--architecture {arm64,x86_64}")]
)
def test_help_is_that_of_the_tool(tmp_path: Path, tool: str, text: str) -> None:
    result = call(tmp_path, tool, "--help")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"usage: postfinch {tool} ")
    assert text in result.stdout


def test_arguments_and_exit_codes_pass_through(tmp_path: Path) -> None:
    result = call(tmp_path, "admin", "set-plan", "1", "--daily", "5", "--colour")
    assert result.returncode == 2
    assert "unrecognized arguments: --colour" in result.stderr
    result = call(tmp_path, "admin", "--local", "list-accounts")
    assert result.returncode == 1
    assert str(tmp_path / "data") in result.stderr


def test_advice_names_the_command_that_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = {"Transport": "", "Smarthost": "", "SystemDomain": ""}
    assert "make deploy STAGE=dev" in missing_choices("dev", parameters)[0]
    monkeypatch.setenv("COMMAND_NAME", "postfinch deploy")
    assert "postfinch deploy --stage dev" in missing_choices("dev", parameters)[0]
