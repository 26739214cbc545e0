from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from postfinch import profiles
from postfinch.commands import app
from postfinch.profiles import NoProfile


class Replaced(Exception):
    """The command has become another program."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        super().__init__()
        self.arguments = arguments
        self.environment = environment


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user with folders of their own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("POSTFINCH_URL", "POSTFINCH_PROFILE", "DATA_DIR"):
        monkeypatch.delenv(name, raising=False)

    def become(_: str, arguments: list[str], environment: dict[str, str]) -> None:
        raise Replaced(arguments, environment)

    monkeypatch.setattr(os, "execve", become)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


def program_of(*arguments: str) -> Replaced:
    result = run("move", *arguments)
    assert isinstance(result.exception, Replaced), result.output
    return result.exception


def test_the_move_gets_the_folder_and_the_place_of_the_profile(tmp_path: Path) -> None:
    options = ["--stage", "prod", "--aws-profile", "work", "--region", "eu-central-1"]
    assert run("profiles", "add", "aws", *options).exit_code == 0
    program = program_of("--data-dir", str(tmp_path), "--to", "aws", "--check")
    _, _, module, *rest = program.arguments
    assert module == "infrastructure.machine.moving"
    place = json.loads(rest.pop(rest.index("--other") + 1))
    assert place == {
        "name": "aws",
        "stage": "prod",
        "aws_profile": "work",
        "region": "eu-central-1",
    }
    expected = ["--data-dir", str(tmp_path), "--direction", "to", "--other", "--check"]
    assert rest == expected
    assert program.environment["DATA_DIR"] == str(tmp_path)


def test_the_way_back_is_from_a_profile(tmp_path: Path) -> None:
    run("profiles", "add", "old", "--data-dir", str(tmp_path / "old"))
    program = program_of("--data-dir", str(tmp_path), "--from", "old", "--last")
    assert program.arguments[program.arguments.index("--direction") + 1] == "from"
    assert program.arguments[-1] == "--last"


def test_a_profile_without_a_place_is_refused_in_one_line(tmp_path: Path) -> None:
    run("profiles", "add", "api", "--url", "https://x.test", "--key", "k", "--no-check")
    refusal = run("move", "--data-dir", str(tmp_path), "--to", "api").exception
    assert isinstance(refusal, NoProfile)
    assert "postfinch profiles add api --stage STAGE" in str(refusal)
    assert "\n" not in str(refusal)


def test_a_profile_that_is_missing_is_named(tmp_path: Path) -> None:
    refusal = run("move", "--data-dir", str(tmp_path), "--to", "none").exception
    assert isinstance(refusal, NoProfile)
    assert "'none'" in str(refusal)


@pytest.mark.parametrize("options", [[], ["--to", "a", "--from", "b"]])
def test_one_direction_is_needed(options: list[str]) -> None:
    result = run("move", *options)
    assert result.exit_code == 2


def test_a_profile_that_is_only_a_place_has_no_address_for_other_commands(tmp_path: Path) -> None:
    run("profiles", "add", "old", "--data-dir", str(tmp_path))
    with pytest.raises(NoProfile, match="has no address"):
        profiles.choose("old")


def test_a_place_stays_in_the_profile_beside_address_and_key(tmp_path: Path) -> None:
    options = ["--url", "https://x.test", "--key", "k", "--no-check", "--stage", "prod"]
    run("profiles", "add", "aws", *options)
    profile = profiles.choose("aws")
    assert (profile.url, profile.key, profile.place["stage"]) == ("https://x.test", "k", "prod")
