"""Check that the settings, files and outputs that pages under ``docs/`` name exist."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from chalicelib.core.settings import Settings
from infrastructure.deployment.functions import FunctionKind, functions
from infrastructure.deployment.merge_template import merge_template
from infrastructure.local.supervisor.ports import USUAL_MAILBOX_PORTS
from infrastructure.machine.settings import MachineSettings

ROOT = Path(__file__).parents[3]
PAGES = sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != "settings.md")
MERGED = merge_template(functions())

# What the command, the fixture and the local runtime read besides settings
READERS = [
    *(ROOT / "postfinch").rglob("*.py"),
    *(ROOT / "infrastructure" / "local").rglob("*.py"),
]
VARIABLES = {
    word
    for path in READERS
    for word in re.findall(r'"([A-Z]+(?:_[A-Z0-9]+)+)"', path.read_text(encoding="utf-8"))
} | set(USUAL_MAILBOX_PORTS.variables())

# Words in capitals that are not settings: names of AWS, make, log levels, HTTP, other programs'
# variables, arguments of commands and images
FOREIGN = {
    "ALARM",
    "API_KEY",
    "ARCHITECTURE",
    "BASE",
    "CATCH",
    "CHAOS",
    "DATA_DIR",
    "DOCKER_HOST",
    "API",
    "SUBACCOUNT",
    "COPIES",
    "EMAIL_HOST",
    "EMAIL_PORT",
    "FILE",
    "FOLDER",
    "IMAGE",
    "INFO",
    "LOGIN",
    "MAILER_DSN",
    "MAIL_ENCRYPTION",
    "MAIL_HOST",
    "MAIL_MAILER",
    "MAIL_PORT",
    "NAME",
    "NODE_EXTRA_CA_CERTS",
    "NUL",
    "OPTIONS",
    "SPARKPOST_API_URL",
    "SPARKPOST_TRACK_INITIAL_OPEN_AS_OPENED",
    "WEBHOOK_SECRET",
    "OUT",
    "PIP_INDEX_URL",
    "PLAIN",
    "DOMAIN",
    "GET",
    "POST",
    "PROFILE",
    "PROGRAM",
    "PUT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "TEXT",
    "URL",
}


def variable(parameter: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", parameter).upper()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_variables_that_a_page_names_exist(page: Path) -> None:
    known_names = {setting.name.upper() for setting in fields(Settings)}
    known_names |= {setting.name.upper() for setting in fields(MachineSettings)}
    known_names |= {variable(parameter) for parameter in MERGED["Parameters"]}
    code = re.findall(r"```.*?```|`[^`]+`", page.read_text(), re.DOTALL)
    names = {
        word
        for part in code
        for word in re.findall(r"\b[A-Z]{3,}(?:_[A-Z0-9]+)*\b(?==|`|,|$)", part)
    }
    known_names |= VARIABLES
    ours = {word for word in names if not word.startswith("AWS_")}
    assert ours - known_names - FOREIGN == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_defaults_that_a_page_gives_are_those_of_the_settings(page: Path) -> None:
    """A page gives a default in parentheses after the name: `DELIVERY_CONNECTIONS` (16)."""
    defaults = {setting.name.upper(): setting.default for setting in fields(Settings)}
    for name, number in re.findall(r"`([A-Z_]+)`\s\((\d+)\)", page.read_text()):
        assert defaults[name] == int(number), name


def test_the_costs_of_an_idle_stage_add_up() -> None:
    all_functions = functions()
    resources = MERGED["Resources"].values()
    queues = [
        each
        for each in all_functions
        if each.kind is FunctionKind.QUEUE
        # Those are not called without EVENT_TARGETS or TRANSPORT=ses
        and each.queue not in ("event-exports", "ses-notifications")
    ]
    alarms = [each for each in resources if each.get("Type") == "AWS::CloudWatch::Alarm"]
    calls = sum(
        30 * 86_400 / each.every for each in all_functions if each.kind is FunctionKind.SCHEDULE
    )
    text = (ROOT / "docs" / "costs.md").read_text().partition("## Cost of an idle stage")[2]
    *rows, total = [float(row) for row in re.findall(r"\| \**(\d+\.\d\d)\** \|$", text, re.M)]
    # Dollars for an alarm, dollars for a custom metric, and calls in millions
    assert f"{len(alarms) * 0.10:.2f}" in text
    assert f"{(4 + 3 * len(queues)) * 0.30:.2f}" in text
    assert f"{calls / 1e6:.1f} million calls" in text
    assert sum(rows) == pytest.approx(total)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_relative_links_point_to_existing_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_outputs_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text()
    for path in re.findall(r"`((?:infrastructure|tests|chalicelib|relay)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), path
    for output in re.findall(r"output `(\w+)`", text):
        assert output in MERGED["Outputs"], output
