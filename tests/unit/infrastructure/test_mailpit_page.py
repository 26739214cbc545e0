"""The page about Mailpit names the variables that are translated, each with its setting."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from infrastructure.local.catching.choices import CatchChoices
from infrastructure.local.mailpit import flags, variables
from infrastructure.local.mailpit.variables import translated

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "mailpit.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(MP_\w+)` \| `(\w+)` \|", PAGE, re.MULTILINE)

# What each variable may be; the others may be a path, a name or a number
VALUES = {
    "MP_SMTP_BIND_ADDR": "0.0.0.0:1026",
    "MP_UI_BIND_ADDR": "[::]:8026",
    "MP_POP3_BIND_ADDR": ":1111",
    "MP_SMTP_REQUIRE_TLS": "1",
    "MP_SMTP_REQUIRE_STARTTLS": "true",
    "MP_ENABLE_CHAOS": "true",
    "MP_TAG": "shop=from:shop.test",
    "MP_TAGS_TITLE_CASE": "true",
    "MP_TAGS_DISABLE": "x-tags",
    "MP_ALLOW_INTERNAL_HTTP_REQUESTS": "true",
    "MP_SMTP_AUTH": "ann:secret",
    "MP_POP3_AUTH": "ann:secret",
    "MP_SEND_API_AUTH_ACCEPT_ANY": "true",
}
RELAY = {
    "MP_SMTP_RELAY_HOST": "mail.test",
    "MP_SMTP_RELAY_ALLOWED_RECIPIENTS": "@shop.test",
    "MP_SMTP_RELAY_MATCHING": "@shop.test",
}
FORWARD = {"MP_SMTP_FORWARD_HOST": "mail.test", "MP_SMTP_FORWARD_TO": "ann@shop.test"}


@pytest.mark.parametrize(("name", "setting"), ROWS)
def test_a_variable_sets_what_the_page_says(name: str, setting: str, tmp_path: Path) -> None:
    group = next((group for group in (RELAY, FORWARD) if name in group), {})
    value = VALUES.get(name, str(tmp_path / "file"))
    folder = {} if setting == "DATA_DIR" else {"DATA_DIR": str(tmp_path)}
    environ, notices = translated({**folder, **(group or {name: value})})
    assert environ[setting]
    assert not [line for line in notices if line.startswith(f"{name} ")]
    own, _ = translated({**folder, **(group or {name: value}), setting: "of the user"})
    assert own[setting] == "of the user"


def test_every_variable_with_a_setting_of_its_own_is_on_the_page() -> None:
    tables = (variables._PORTS, variables._TEXTS, variables._FLAGS, variables._LOGINS)
    names = {name for table in tables for name in table}
    assert names <= {name for name, _ in ROWS}


def test_the_flags_of_the_page_are_its_variables() -> None:
    assert flags.variables_of(["--max", "500"]) == {"MP_MAX_MESSAGES": "500"}
    assert "--max 500` is `MP_MAX_MESSAGES=500`" in " ".join(PAGE.split())


def test_the_page_has_the_choices_of_the_catching_port() -> None:
    for text in ("send", "store"):
        assert f"CATCH={text}" in PAGE
        CatchChoices.read({"CATCH": text})
