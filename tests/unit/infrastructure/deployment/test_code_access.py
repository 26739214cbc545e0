from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.deployment import code_access
from infrastructure.deployment.code_access import UnreadableAccess, access_of
from infrastructure.deployment.functions import Function, FunctionKind


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty project, to which a test writes modules."""
    monkeypatch.setattr(code_access, "ROOT", tmp_path)
    clear_caches()
    (tmp_path / "chalicelib" / "core").mkdir(parents=True)
    (tmp_path / "chalicelib" / "__init__.py").touch()
    (tmp_path / "chalicelib" / "core" / "__init__.py").touch()
    yield tmp_path
    clear_caches()


def clear_caches() -> None:
    for function in ("_imported_by", "_is_module", "_nodes", "_parsed", "_access_of_module"):
        getattr(code_access, function).cache_clear()


def schedule(name: str = "tidy") -> Function:
    return Function(name, "Tidy", FunctionKind.SCHEDULE, name)


def write(root: Path, module: str, text: str) -> None:
    path = root.joinpath(*module.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "__init__.py").touch()
    path.write_text(text)


def test_a_function_may_use_the_resources_of_all_modules_that_it_imports(code: Path) -> None:
    write(code, "app", "def tidy(event):\n    from chalicelib.tidying import tidy_up\n")
    write(code, "chalicelib.tidying", "from chalicelib import things\n")
    write(code, "chalicelib.things", '_config = Table("config")\nqueues.send("events", [])\n')
    write(code, "chalicelib.other", '_events = Table("events")\n')
    access = access_of(schedule())
    assert (access.tables, access.sends_to) == ({"config"}, {"events"})


def test_imports_inside_functions_and_relative_ones_count(code: Path) -> None:
    write(code, "app", "def tidy(event):\n    from chalicelib.box import a\n")
    write(code, "chalicelib.box.__init__", "from .a import x\n")
    write(code, "chalicelib.box.a", "def go():\n    from chalicelib import things\n")
    write(code, "chalicelib.things", '_config = Table("config")\n')
    assert access_of(schedule()).tables == {"config"}


def test_a_function_passed_as_an_argument_counts_as_used(code: Path) -> None:
    write(code, "app", "def tidy(event):\n    from chalicelib.things import x\n")
    write(code, "chalicelib.things", "def go():\n    return map(blobs.get, [])\n")
    assert access_of(schedule()).actions == {"s3:GetObject"}


@pytest.mark.parametrize("call", ["Table", "dynamo.Table", "chalicelib.core.dynamo.Table"])
@pytest.mark.parametrize("module", ["chalicelib.things", "chalicelib.core.things"])
def test_a_table_is_recognized_under_any_module_name(code: Path, module: str, call: str) -> None:
    write(code, "app", f"def tidy(event):\n    import {module}\n")
    write(code, module, f'_config = {call}("config")\n')
    assert access_of(schedule()).tables == {"config"}


def test_access_in_core_modules_does_not_count(code: Path) -> None:
    write(code, "app", "def tidy(event):\n    from chalicelib.core import offer\n")
    write(code, "chalicelib.core.offer", 'queues.send("events", [])\nsealing.seal(b"", "")\n')
    assert access_of(schedule()).actions == access_of(schedule()).sends_to == set()


@pytest.mark.parametrize(
    "line",
    [
        "Table(name)",
        "dynamo.Table(name)",
        "queues.send(choose(), [])",
        'boto3.client("ec2")',
        "boto3.client(name)",
        "from chalicelib.core.queues import send",
        "from chalicelib.core.blobs import get",
        "from chalicelib.core import blobs as objects",
        "from chalicelib.core.dynamo import Table as Store",
        "from chalicelib.core import aws",
        "partial(queues.send, 'events')",
    ],
)
def test_access_that_cannot_be_determined_raises_an_error(code: Path, line: str) -> None:
    write(code, "app", "def tidy(event):\n    from chalicelib.things import x\n")
    write(code, "chalicelib.things", f"def go():\n    {line}\n")
    with pytest.raises((UnreadableAccess, ImportError)):
        access_of(schedule())


def test_a_missing_handler_raises_an_error(code: Path) -> None:
    write(code, "app", "")
    with pytest.raises(UnreadableAccess, match="tidy"):
        access_of(schedule())
