"""Read from the code which AWS resources each function and the relay use.

A function reaches the modules that its handler in ``app.py`` imports, and those that they import in
turn. The relay reaches the modules of its own package. In these modules ``Table("config")`` or
``dynamo.Table("config")`` is access to that table, ``queues.send("events", ...)`` to that queue,
``blobs.get`` to the bucket, ``sealing.seal`` to the key, and so on. A use that cannot be read
raises :class:`UnreadableAccess`, because AWS would refuse it later.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from infrastructure.deployment.functions import Function, FunctionKind

ROOT = Path(__file__).resolve().parents[2]

# module.function of chalicelib.core → the permission that a call of it needs
_CALLS = {
    "blobs.get": "s3:GetObject",
    "blobs.put": "s3:PutObject",
    "blobs.delete": "s3:DeleteObject",
    "sealing.seal": "kms:Encrypt",
    "sealing.open_sealed": "kms:Decrypt",
}
_SENDS = ("queues.send", "queues.send_again")
# The results of the calls that choose a queue; a name that ends with * begins the names of several
_CHOICES = {
    "chalicelib.delivery.delivery_queues": {
        "queue_of": ("delivery", "small-deliveries", "held-deliveries", "container-*")
    }
}
# Names of the core under which the calls above are looked for
_OFFERING = ("blobs", "queues", "sealing", "Table")
# AWS service of a client that a module creates itself → the permissions that it needs
_CLIENTS = {
    "sesv2": ("ses:SendEmail", "ses:SendRawEmail"),
    "events": ("events:PutEvents",),
    "sns": ("sns:Publish",),
    "sqs": ("sqs:GetQueueUrl", "sqs:SendMessage"),
    "kinesis": ("kinesis:PutRecords",),
    "firehose": ("firehose:PutRecordBatch",),
}


class UnreadableAccess(ValueError):
    """The code uses something of AWS in a way that this module cannot read."""


@dataclass(slots=True)
class Access:
    """The resources that a part of the code uses.

    Short names of tables and queues, and single permissions.
    """

    tables: set[str] = field(default_factory=set)
    sends_to: set[str] = field(default_factory=set)
    actions: set[str] = field(default_factory=set)

    def add(self, other: Access) -> None:
        """Add what ``other`` uses."""
        self.tables |= other.tables
        self.sends_to |= other.sends_to
        self.actions |= other.actions


def access_of(function: Function) -> Access:
    """Return what ``function`` uses."""
    access = _access_from(_entry_points(function))
    if function.kind is FunctionKind.QUEUE:
        access.actions.add("s3:GetObject")  # payloads of messages that do not fit into a queue
    return access


def access_of_folder(folder: str) -> Access:
    """Return what the container uses whose program is in a folder, such as ``relay``."""
    modules = (f"{folder}.{path.stem}" for path in sorted((ROOT / folder).glob("*.py")))
    return _access_from([name for module in modules for name in _imported_by(module)])


def _access_from(modules: list[str]) -> Access:
    access = Access()
    for module in _reached(modules):
        access.add(_access_of_module(module))
    if access.sends_to:
        access.actions.add("s3:PutObject")
    return access


def _entry_points(function: Function) -> list[str]:
    """Return the modules that the function's handler imports; the API's are those of ``app.py``."""
    tree = _parsed("app")
    if function.kind is FunctionKind.API:
        return list(_imports_of("app", [node for node in tree.body if _is_import(node)]))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function.handler:
            return list(_imports_of("app", ast.walk(node)))
    raise UnreadableAccess(f"app.py has no function {function.handler}")


def _reached(modules: list[str]) -> set[str]:
    """Return the modules of ours that importing ``modules`` and calling them can reach."""
    reached: set[str] = set()
    modules_to_read = list(modules)
    while modules_to_read:
        module = modules_to_read.pop()
        if module not in reached:
            reached.add(module)
            modules_to_read += _imported_by(module)
            package = module.rpartition(".")[0]
            modules_to_read += [package] if package != "chalicelib" else []
    return reached


@cache
def _imported_by(module: str) -> tuple[str, ...]:
    return tuple(_imports_of(module, _nodes(module)))


def _imports_of(module: str, nodes: Any) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(module, node)
            inner = [f"{origin}.{alias.name}" for alias in node.names]
            names = [name if _is_module(name) else origin for name in inner]
        else:
            continue
        yield from (name for name in names if name.startswith("chalicelib.") and _is_module(name))


def _origin(module: str, node: ast.ImportFrom) -> str:
    """Return the whole name of the module that ``node`` imports from."""
    if not node.level:
        return str(node.module)
    parts = module.split(".")
    package = parts if (ROOT.joinpath(*parts)).is_dir() else parts[:-1]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, *filter(None, [node.module])])


def _is_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


@cache
def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@cache
def _parsed(module: str) -> ast.Module:
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def _nodes(module: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a module: walking the tree takes longer than parsing it."""
    return tuple(ast.walk(_parsed(module)))


@cache
def _access_of_module(module: str) -> Access:
    access = Access()
    if _is_of_core(module):
        # The core offers access, and its callers use it. It uses only its own tables itself.
        access.tables |= {_table(node) for node in _calls(module) if _is_table(node)}
        return access
    _refuse_other_names(module)
    for node in _nodes(module):
        if isinstance(node, ast.Attribute) and (name := _dotted(node)) in _CALLS:
            access.actions.add(_CALLS[name])
    for node in _calls(module):
        name = _called(node)
        if _is_table(node):
            access.tables.add(_table(node))
        elif name in _SENDS:
            access.sends_to.update(_queues(module, node.args[0]))
        elif name == "boto3.client":
            access.actions.update(_client(module, node))
    return access


def _refuse_other_names(module: str) -> None:
    """Raise if the module uses what the core offers under names that are not looked for."""
    for node in _nodes(module):
        if not isinstance(node, ast.ImportFrom) or not _is_of_core(_origin(module, node)):
            continue
        offering = _origin(module, node).rpartition(".")[2]
        for alias in node.names:
            direct = f"{offering}.{alias.name}" in {*_CALLS, *_SENDS}
            renamed = alias.name in _OFFERING and alias.asname not in (None, alias.name)
            if direct or renamed or alias.name == "aws":
                raise UnreadableAccess(f"{module}: {ast.unparse(node)}")
    called = sum(_called(node) in _SENDS for node in _calls(module))
    mentions = sum(
        isinstance(node, ast.Attribute) and _dotted(node) in _SENDS for node in _nodes(module)
    )
    if mentions > called:
        raise UnreadableAccess(
            f"{module}: queues.send is passed on as a value: its queue cannot be read"
        )


def _is_of_core(module: str) -> bool:
    return module == "chalicelib.core" or module.startswith("chalicelib.core.")


def _calls(module: str) -> Iterator[ast.Call]:
    return (node for node in _nodes(module) if isinstance(node, ast.Call))


def _called(node: ast.Call) -> str:
    return _dotted(node.func)


def _dotted(node: ast.expr) -> str:
    """Return the dotted name of ``node``; what is no name is ``?`` in it."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _is_table(node: ast.Call) -> bool:
    """Tell whether a call makes a table, under whatever module name: ``dynamo.Table(...)``."""
    return _called(node).rpartition(".")[2] == "Table"


def _table(node: ast.Call) -> str:
    if not (node.args and isinstance(node.args[0], ast.Constant)):
        raise UnreadableAccess(f"the name of a table is not a constant: {ast.unparse(node)}")
    return str(node.args[0].value)


def _queues(module: str, argument: ast.expr) -> tuple[str, ...]:
    """Return the queues that a call may send to; a function of the same module may choose one."""
    choices = _CHOICES.get(module, {})
    if isinstance(argument, ast.Call) and _called(argument) in choices:
        return choices[_called(argument)]
    return (_queue(module, argument),)


def _queue(module: str, argument: ast.expr) -> str:
    """Return the queue's name, given as a string or as a constant of some module."""
    if isinstance(argument, ast.Constant):
        return str(argument.value)
    scope = vars(importlib.import_module(module))
    value: Any = None
    for part in ast.unparse(argument).split("."):
        value = scope.get(part) if value is None else getattr(value, part, None)
    if not isinstance(value, str):
        raise UnreadableAccess(f"{module}: which queue is {ast.unparse(argument)}?")
    return value


def _client(module: str, node: ast.Call) -> tuple[str, ...]:
    service = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
    if service not in _CLIENTS:
        raise UnreadableAccess(f"{module}: no permissions are known for {ast.unparse(node)}")
    return _CLIENTS[str(service)]
