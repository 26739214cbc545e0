"""The mailbox for development, and its ports, exist where a developer's service runs, only there.

What takes any mail, shows it without a key or hands it out must not be in what is deployed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from chalicelib.core.settings import Settings
from infrastructure.local.supervisor.ports import USUAL_MAILBOX_PORTS
from infrastructure.machine import container

ROOT = Path(__file__).parents[3]
#: Packages below infrastructure/local/ that take any mail, or show and release it
LOCAL_ONLY = ("catching", "mail_readers", "mailpit", "messages", "releasing", "sink")
DEPLOYED = ("app", "relay", "outbound", "infrastructure.machine")


def _module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _modules() -> dict[str, Path]:
    folders = ("chalicelib", "relay", "outbound", "infrastructure")
    paths = [ROOT / "app.py", *(path for name in folders for path in (ROOT / name).rglob("*.py"))]
    return {_module_of(path): path for path in paths}


@cache
def _imported(module: str) -> frozenset[str]:
    """Return what a module imports or names as a module to run, wherever in its code."""
    return frozenset(_names(module))


def _names(module: str) -> Iterator[str]:
    for node in _run_code(ast.parse(_modules()[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _run_code(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree but for what only type checkers read."""
    yield tree
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from _run_code(node)


def _reached(start: str) -> dict[str, str]:
    """Return each module that the modules of ``start`` lead to, with the one that names it."""
    first = [each for each in _modules() if each == start or each.startswith(f"{start}.")]
    reached = dict.fromkeys(first, start)
    queue = list(first)
    while queue:
        module = queue.pop()
        for name in _imported(module):
            parts = name.split(".") if name.startswith("infrastructure.") else [name]
            for end in range(1, len(parts) + 1):
                each = ".".join(parts[:end])
                if each in _modules() and each not in reached:
                    reached[each] = module
                    queue.append(each)
    return reached


@pytest.mark.parametrize("start", DEPLOYED)
def test_nothing_deployed_leads_to_the_mailbox_for_development(start: str) -> None:
    forbidden = tuple(f"infrastructure.local.{name}" for name in LOCAL_ONLY)
    assert not {
        module: importer
        for module, importer in _reached(start).items()
        if module.startswith(forbidden)
    }


def test_the_search_for_imports_finds_them() -> None:
    assert "infrastructure.local.catching" in _reached("infrastructure.local.run")
    assert "infrastructure.local.supervisor.probes" in _reached("infrastructure.machine")


def test_production_listens_on_none_of_its_ports() -> None:
    ports = {str(port) for port in USUAL_MAILBOX_PORTS.variables().values()}
    assert not ports & set(container.PORTS.values())
    template = (ROOT / "infrastructure" / "template.yaml").read_text(encoding="utf-8")
    assert not [port for port in ports if f" {port}\n" in template]


def test_its_settings_are_not_settings_of_the_service() -> None:
    names = {
        "CATCH",
        "CATCH_RECIPIENTS",
        *USUAL_MAILBOX_PORTS.variables(),
        "MAILBOX_PASSWORDS",
        "MAILPIT_PASSWORDS",
        "MAILPIT_SEND_PASSWORDS",
        "MAILPIT_WEBHOOK",
        "RELEASE_HOST",
        "CHAOS",
    }
    assert not names & {name.upper() for name in Settings.__dataclass_fields__}


def test_what_lambda_gets_is_complete_without_infrastructure() -> None:
    assert "chalicelib.core.settings" in _reached("app")
    assert not [module for module in _reached("app") if module.startswith("infrastructure")]
