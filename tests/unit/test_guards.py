"""Check rules that hold for the whole code base, which no test of a single module checks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chalicelib.api_keys.grants import PRIMARY_GRANTS
from chalicelib.core.http import PUBLIC
from chalicelib.core.routes import NO_GRANTS
from chalicelib.core.settings import Settings, table
from chalicelib.delivery import delivery_queues
from infrastructure.access_patterns import patterns_of
from infrastructure.bands import BAND_OF, BANDS
from tests.fake_cloud import declared
from tests.spec_coverage import citations, statements

ROOT = Path(__file__).parents[2]

EDGE = len(BANDS) - 1


class Import(NamedTuple):
    """One import statement's target."""

    importer: str
    line: int
    imported: str

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def sources(*folders: str) -> list[Path]:
    """Return the modules under these folders, and ``app.py``."""
    modules = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return sorted([ROOT / "app.py", *modules])


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def package_of(path: Path, level: int) -> tuple[str, ...]:
    """Return the package that the ``level`` dots of a relative import mean; ``()`` for no dots."""
    parts = path.relative_to(ROOT).parts
    return parts[: len(parts) - level] if level else ()


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or path.is_dir()


@cache
def imports() -> list[Import]:
    """Return every import of one of our modules, those inside functions as well."""
    return list(_imports())


def _imports() -> Iterator[Import]:
    for path in sources("chalicelib", "relay", "outbound", "infrastructure"):
        importer = name_of(path)
        for node in ast.walk(parsed(path)):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                origin = ".".join([*package_of(path, node.level), *filter(None, [node.module])])
                for alias in node.names:
                    inner = f"{origin}.{alias.name}"
                    names.append(inner if is_module(inner) else origin)
            for name in names:
                if name.split(".")[0] in (
                    "app",
                    "chalicelib",
                    "relay",
                    "outbound",
                    "infrastructure",
                ):
                    yield Import(importer, getattr(node, "lineno", 0), name)


def feature(module: str) -> str:
    """Return the package under ``chalicelib`` that a module belongs to, empty at the edge."""
    parts = module.split(".")
    return parts[1] if parts[0] == "chalicelib" and len(parts) > 1 else ""


def band(module: str) -> int:
    return BAND_OF[feature(module)] if feature(module) else EDGE


def test_every_package_has_its_band() -> None:
    packages = {path.parent.name for path in (ROOT / "chalicelib").glob("*/__init__.py")}
    assert packages - set(BAND_OF) == set()


def test_imports_descend_the_bands() -> None:
    modules = list(imports())
    assert len(modules) > 100
    assert [str(each) for each in modules if band(each.imported) > band(each.importer)] == []


def test_packages_do_not_import_each_other_in_a_circle() -> None:
    """Circles through several packages count too: a package stands above those that it imports."""
    uses: dict[str, set[str]] = {}
    for each in imports():
        package, used = feature(each.importer), feature(each.imported)
        if package and used and package != used:
            uses.setdefault(package, set()).add(used)
    assert len(uses) > 20
    while free := [package for package in uses if not uses[package] & uses.keys()]:
        for package in free:
            del uses[package]
    assert uses == {}, f"these packages import each other: {sorted(uses)}"


def test_routes_are_imported_by_the_application_only() -> None:
    routes = re.compile(r"chalicelib\.\w+\.routes(\.|$)")
    assert [
        str(each)
        for each in imports()
        if routes.match(each.imported)
        and each.importer != "app"
        and feature(each.imported) not in ("core", feature(each.importer))
    ] == []


def test_a_model_imports_neither_aws_nor_http_modules() -> None:
    foreign = re.compile(
        r"(boto3|botocore|chalice|chalicelib\.core\.(aws|blobs|dynamo|http|queues|reply))(\.|$)"
    )
    for path in sources("chalicelib"):
        if path.name != "model.py":
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            assert not any(map(foreign.match, names)), f"{name_of(path)}:{node.lineno}"


def test_nothing_but_the_clock_reads_the_time() -> None:
    readers = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today"}
    for path in sources("chalicelib"):
        if path.name == "clock.py":
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute):
                assert ast.unparse(node) not in readers, f"{name_of(path)}:{node.lineno}"


def test_nothing_but_the_settings_reads_the_environment() -> None:
    readers = {"os.environ", "os.getenv"}
    for path in sources("chalicelib", "relay", "outbound"):
        if name_of(path) == "chalicelib.core.settings":
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute):
                assert ast.unparse(node) not in readers, f"{name_of(path)}:{node.lineno}"


@cache
def application() -> Any:
    import app

    return app


def test_every_route_declares_a_grant_that_exists() -> None:
    declared_routes = application().app.declared_routes()
    assert declared_routes
    for route in declared_routes:
        assert route.grant in {*PRIMARY_GRANTS, *NO_GRANTS}, route


@pytest.mark.spec("1-r3")
@pytest.mark.spec("9-r1")
def test_routes_that_ask_other_hosts_say_so() -> None:
    """Add a route whose view connects to others, or asks the DNS: it must declare ``waits``."""
    paths = {
        f"{route.method} {route.path}"
        for route in application().app.declared_routes()
        if application().app.waits(route.method, route.path)
    }
    assert paths == {
        "POST /api/v1/inbound-domains",
        "POST /api/v1/inbound-domains/{domain}/verify",
        "POST /api/v1/relay-webhooks/{webhook_id}/validate",
        "POST /api/v1/webhooks",
        "PUT /api/v1/webhooks/{webhook_id}",
        "POST /api/v1/webhooks/{webhook_id}/validate",
        "PUT /api/v1/sending-domains/{domain}",
        "POST /api/v1/sending-domains/{domain}/verify",
        "POST /api/v1/sending-domains/{domain}/dkim-keys/{key_id}/verify",
        "GET /api/v1/sending-domains/{domain}/requirements",
        "POST /api/v1/tracking-domains/{domain}/verify",
        "GET /api/v1/ip-pools/{pool_id}/requirements",
        "GET /api/v1/recipient-validation/single/{address}",
        "POST /api/v1/recipient-validation/list/{list_id}",
        "GET /api/v1/sign-in/providers/{provider_id}",
        "GET /api/v1/sign-in/providers/{provider_id}/callback",
    }


def test_paths_are_in_lower_case_with_dashes_and_carry_the_version() -> None:
    path = re.compile(r"(/api/(v1|labs))?(/[a-z0-9.-]+|/\{[a-z_]+\})+")
    for route in application().app.declared_routes():
        assert path.fullmatch(route.path), route
        if route.grant != PUBLIC:
            assert route.path.startswith(("/api/v1/", "/api/labs/")), route


def test_every_feature_with_routes_is_registered() -> None:
    used = {each.imported for each in imports() if each.importer == "app"}
    for path in (ROOT / "chalicelib").glob("*/routes.py"):
        if feature(name_of(path)) != "core":
            assert name_of(path) in used, f"app.py does not register {name_of(path)}"


def queue_names() -> set[str]:
    prefix = Settings(stage="test").queue("")
    return {queue["QueueName"].removeprefix(prefix) for queue in declared("AWS::SQS::Queue")}


def test_every_queue_is_consumed() -> None:
    working = {name for name in queue_names() if not name.endswith("-dead")}
    assert working
    of_containers = {delivery_queues.SMALL, delivery_queues.HELD}
    assert {*application().QUEUE_HANDLERS, *of_containers} == working


def test_every_queue_has_a_dead_letter_queue() -> None:
    prefix = Settings(stage="test").queue("")
    for queue in declared("AWS::SQS::Queue"):
        name = queue["QueueName"].removeprefix(prefix)
        if name.endswith("-dead"):
            assert name.removesuffix("-dead") in queue_names(), f"{name} belongs to no queue"
            continue
        assert f"{name}-dead" in queue_names()
        policy = queue["RedrivePolicy"]
        resource = "".join(word.title() for word in name.split("-")) + "DeadQueue"
        assert policy["deadLetterTargetArn"] == f"${{{resource}.Arn}}", name
        assert policy["maxReceiveCount"] >= 3


def test_every_setting_is_explained() -> None:
    for setting in fields(Settings):
        text = setting.metadata["doc"]
        assert len(text) > 20, setting.name
        assert text[0].isupper() or text[0] == "`", setting.name


def test_the_documentation_has_the_table_of_settings() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert table() in page, "docs/settings.md is not up to date: run `make docs`"


def is_store(path: Path) -> bool:
    """Tell whether keys may be built in a module: a store, or the toolkit of stores."""
    return path.name == "store.py" or path.parent.name == "store" or "core" in path.parts


def uses_table(path: Path) -> bool:
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func) == "Table"
        for node in ast.walk(parsed(path))
    )


def builds_keys(path: Path) -> bool:
    """Tell whether a module builds an item with a key, or names the key in an expression."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Dict):
            if any(isinstance(key, ast.Constant) and key.value == "pk" for key in node.keys):
                return True
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "#pk" in node.value:
            return True
    return False


def lists_patterns(path: Path) -> bool:
    """Tell whether a module lists access patterns, in the form that is read, if it has a table."""
    patterns = list(patterns_of(path))
    headings = re.findall(r"Access patterns.*", ast.get_docstring(parsed(path)) or "")
    readable = all(re.fullmatch(r"Access patterns of ``\w+``:", text) for text in headings)
    return readable and bool(patterns or "core" in path.parts or not uses_table(path))


def test_keys_are_built_only_in_stores() -> None:
    assert [
        name_of(path)
        for path in sources("chalicelib")
        if not is_store(path) and (uses_table(path) or builds_keys(path))
    ] == []


def test_stores_list_their_access_patterns() -> None:
    assert [name_of(path) for path in sources("chalicelib") if not lists_patterns(path)] == []


def test_every_setting_is_used() -> None:
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for path in sources("chalicelib", "relay", "outbound", "infrastructure")
        if name_of(path) != "chalicelib.core.settings"
    )
    used = (ROOT / "chalicelib" / "core" / "settings.py").read_text(encoding="utf-8")
    for setting in fields(Settings):
        attribute = re.compile(rf"\.{setting.name}\b")
        assert attribute.search(code) or f"self.{setting.name}" in used, setting.name


@cache
def all_citations() -> list[tuple[str, str]]:
    return list(citations())


def test_every_statement_of_the_specification_is_cited() -> None:
    cited = {name for name, _ in all_citations()}
    assert [name for name in statements() if name not in cited] == []


def test_every_citation_names_a_statement_of_the_specification() -> None:
    statement_ids = statements()
    assert len(statement_ids) > 300
    assert [
        f"{place}: {name}" for name, place in all_citations() if name not in statement_ids
    ] == []


#: Modules that may give ``dict[str, Any]`` a name: one for the service, one for the package that is
#: used without it, and the items of tables, which their stores give types
NAMING_JSON = {
    "chalicelib.core.json_types",
    "postfinch.json_types",
    "chalicelib.core.dynamo.items",
}


def aliases(module: ast.Module) -> Iterator[str]:
    """Yield the names that a module gives to ``dict[str, Any]``, in whatever way."""
    for node in ast.walk(module):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        if is_json_type(value):
            yield from map(ast.unparse, targets)


def is_json_type(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant) and "Any" not in str(node.value):
        return False
    return isinstance(node, ast.Subscript | ast.Constant) and (
        re.fullmatch(
            r"""["']?(typing\.|t\.)?([dD]ict|Mapping)\[str, (typing\.|t\.)?Any\]["']?""",
            ast.unparse(node),
        )
        is not None
    )


def test_json_has_one_name() -> None:
    """What is not JSON of somebody else has a type that says what it holds."""
    paths = sources("chalicelib", "relay", "outbound", "infrastructure", "postfinch", "tests")
    assert [
        f"{name_of(path)}: {alias}"
        for path in paths
        if name_of(path) not in NAMING_JSON
        for alias in aliases(parsed(path))
    ] == []


@pytest.mark.parametrize(
    "statement",
    [
        "Event = dict[str, Any]",
        "Event = Dict[str, Any]",
        "Event: TypeAlias = typing.Mapping[str, Any]",
        "Event: TypeAlias = 'dict[str, Any]'",
        "def event():\n    Event = dict[str, Any]",
    ],
)
def test_another_name_of_json_is_noticed(statement: str) -> None:
    assert list(aliases(ast.parse(statement))) == ["Event"]


def test_a_typed_value_is_no_name_of_json() -> None:
    assert (
        list(aliases(ast.parse("event: dict[str, Any] = {}\nCall = Callable[[Json], Json]"))) == []
    )
