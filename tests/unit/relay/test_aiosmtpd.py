"""The relay uses private names of aiosmtpd, so its version is pinned, and they are listed here.

A test that fails here after an upgrade of aiosmtpd names what `relay` has to do otherwise.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from aiosmtpd.smtp import SMTP
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
SOURCE = inspect.getsource(SMTP)
PRIVATE = frozenset(re.findall(r"self\.(_[a-z]\w+)", SOURCE)) | frozenset(
    re.findall(r"def (_[a-z]\w+)", SOURCE)
)
USED = {
    # Calls the handler in a task of its own, which `connection_made` creates
    "_handle_client",
    "_handler_coroutine",
    # Tells of a lost connection after STARTTLS which one it was
    "_original_transport",
    # The idle timer
    "_reset_timeout",
    "_timeout_cb",
    "_timeout_handle",
    # Ends a mail transaction
    "_set_rset_state",
    # The table of commands
    "_smtp_methods",
}


def requirement(lines: list[str]) -> Requirement:
    (line,) = [line for line in lines if line.startswith("aiosmtpd")]
    return Requirement(line)


def test_every_requirement_is_of_the_installed_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "relay" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pin = f"=={version('aiosmtpd')}"
    assert str(requirement(project["dependencies"]).specifier) == pin
    assert str(requirement(lines).specifier) == pin


@pytest.mark.parametrize("name", sorted(USED))
def test_the_name_is_there(name: str) -> None:
    assert name in PRIVATE


def test_no_other_private_name_is_used() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "relay").glob("*.py")]
    words = {word for text in texts for word in re.findall(r"\b_[a-z]\w+", text)}
    own = {word for text in texts for word in re.findall(r"def (_[a-z]\w+)|class (_\w+)", text)}
    assert words & PRIVATE - {name for pair in own for name in pair} <= USED
