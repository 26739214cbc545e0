"""The configuration is written from options, from what is there, and from answers."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import typer

from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.machine import config_file
from infrastructure.machine.checks import configure, questions
from infrastructure.machine.checks.questions import Answers
from infrastructure.machine.settings import DATA_DIR

DOMAIN = "mail.acme.example"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration file, which does not exist."""
    path = tmp_path / "etc" / "postfinch.toml"
    monkeypatch.setenv(config_file.VARIABLE, str(path))
    return path


def test_with_yes_the_defaults_are_taken(path: Path) -> None:
    assert configure.main(["--yes", f"--domain={DOMAIN}"]) == 0
    assert config_file.read(path) == {
        "system_domain": DOMAIN,
        "transport": "mx",
        "data_dir": DATA_DIR,
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_smarthost_is_how_mail_leaves(path: Path) -> None:
    configure.main(["--yes", f"--domain={DOMAIN}", "--smarthost=relay.acme.example:587"])
    assert config_file.read(path)["transport"] == "smtp"
    assert config_file.read(path)["smarthost"] == "relay.acme.example:587"


def test_what_is_there_and_was_not_asked_is_kept(path: Path) -> None:
    present = {"system_domain": DOMAIN, "log_level": "DEBUG", "transport": "ses"}
    config_file.write(path, present)
    assert configure.main(["--yes", "--admin-email=ann@acme.example"]) == 0
    values = config_file.read(path)
    assert values == {**present, "admin_email": "ann@acme.example", "data_dir": DATA_DIR}
    before = path.stat().st_mtime_ns
    assert configure.main(["--yes"]) == 0
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "say it by --domain"),
        ((f"--domain={DOMAIN}", "--transport=smtp"), "say it by --smarthost"),
        ((f"--domain={DOMAIN}", "--transport=pigeon"), "TRANSPORT='pigeon'"),
        ((f"--domain={DOMAIN}", "--admin-email=ann"), "ADMIN_EMAIL='ann'"),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_nothing_is_written(
    path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], text: str
) -> None:
    assert configure.main(["--yes", *arguments]) == 2
    assert text in capsys.readouterr().err
    assert not path.exists()


def test_a_file_that_cannot_be_read_is_not_replaced(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("system_domain = [")
    assert configure.main(["--yes", f"--domain={DOMAIN}"]) == 2
    assert path.read_text() == "system_domain = ["


def test_what_the_environment_says_is_not_asked_and_not_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYSTEM_DOMAIN", DOMAIN)
    monkeypatch.setenv("DATA_DIR", "/srv/mail")
    assert configure.main(["--yes"]) == 0
    assert config_file.read(path) == {"transport": "mx"}
    monkeypatch.setenv("SMARTHOST", "relay.acme.example:587")
    path.unlink()
    assert configure.main(["--yes"]) == 0
    assert not path.exists()  # there is nothing to write


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_root_writes_belongs_to_the_owner_of_its_folder(path: Path) -> None:
    path.parent.mkdir()
    os.chown(path.parent, 10_001, 10_002)
    configure.main(["--yes", f"--domain={DOMAIN}"])
    assert (path.stat().st_uid, path.stat().st_gid) == (10_001, 10_002)
    config_file.read(path)


class Person:
    """Answers questions by their beginnings; others get their default."""

    def __init__(self, answers: Mapping[str, str]) -> None:
        self.answers = answers
        self.asked_names: list[str] = []

    def __call__(self, question: str, default: str | None = None, **_: object) -> str:
        self.asked_names.append(question.split(",")[0])
        answer = next((a for key, a in self.answers.items() if question.startswith(key)), default)
        assert answer is not None, question
        return answer


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    person = Person(
        {
            "The service's own mail domain": DOMAIN,
            "How mail leaves": "smtp",
            "The smarthost": "relay.acme.example",
            "User name": "acme",
            "Password": "secret",  # pragma: allowlist secret
        }
    )
    monkeypatch.setattr(questions.typer, "prompt", person)
    return person


def test_on_a_terminal_what_is_missing_is_asked(person: Person) -> None:
    values = Answers({"admin_email": "ann@acme.example"}, {}, {}, can_ask=True).values()
    assert values == {
        "admin_email": "ann@acme.example",
        "system_domain": DOMAIN,
        "transport": "smtp",
        "smarthost": "relay.acme.example",
        "smarthost_username": "acme",
        "smarthost_password": "secret",  # pragma: allowlist secret
        "data_dir": DATA_DIR,
    }
    assert not any("administrator" in each for each in person.asked_names)


def test_what_is_configured_is_not_asked_again(person: Person) -> None:
    first = Answers({}, {}, {}, can_ask=True).values()
    person.asked_names.clear()
    assert Answers({}, first, {}, can_ask=True).values() == first
    # An address was not given, and may be given now
    assert [each for each in person.asked_names if "administrator" not in each] == []


def test_a_password_is_asked_for_a_user_name_of_the_command_line(person: Person) -> None:
    present = {"system_domain": DOMAIN, "transport": "smtp", "smarthost": "relay.acme.example"}
    options = {"smarthost_username": "acme"}
    values = Answers(options, present, {}, can_ask=True).values()
    assert values["smarthost_password"] == "secret"  # pragma: allowlist secret
    assert "User name at the smarthost (empty: no login)" not in person.asked_names


def test_leaving_the_questions_writes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_: object, **__: object) -> str:
        raise typer.Abort

    monkeypatch.setattr(questions.typer, "prompt", leave)
    monkeypatch.setattr(configure.sys, "stdin", type("Terminal", (), {"isatty": lambda _: True})())
    assert configure.main([]) == 2
    assert not path.exists()


def test_a_question_without_answer_is_an_error_of_the_command_line() -> None:
    with pytest.raises(ConfigError, match="--domain"):
        Answers({}, {}, {}, can_ask=False).values()
