"""Find the statuses that a function can raise, by reading all code that it can reach.

The code is not run. A name in a function leads to the function, class or module-level value that
it stands for. A method counts as reached when its class is named in reached code and an attribute
with its name is used there. The search ends at the entries of the catalogue in ``core/errors.py``:
each has its status. The answer may hold too much (a branch that this caller never takes), but not
too little, since this code base calls nothing by computed names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from chalicelib.core import errors

_ERRORS = "chalicelib.core.errors"
_STATUSES = {
    "Unauthorized": 401,
    "Forbidden": 403,
    "NotFound": 404,
    "MethodNotAllowed": 405,
    "TooLarge": 413,
    "UnsupportedMediaType": 415,
    "sending_limit_exceeded": 420,
    "TooManyRequests": 429,
    "Unavailable": 503,
} | {
    name: entry.status
    for name, entry in vars(errors).items()
    if isinstance(entry, errors.Refusal | errors.BareRefusal)
}

Imports = dict[str, tuple[str, str]]


class Place(NamedTuple):
    """A definition; ``owner`` is the class of a method."""

    module: str
    name: str
    owner: str = ""


@dataclass(frozen=True)
class _Code:
    """What the code at a place mentions."""

    is_class: bool
    attributes: frozenset[str]
    places: frozenset[Place]
    statuses: frozenset[int]


@dataclass(frozen=True)
class _Module:
    definitions: dict[str, ast.AST]
    imports: Imports


def raised(module: str, name: str) -> dict[int, Place]:
    """Return status → a place that raises it, for all code that a function can reach."""
    statuses: dict[int, Place] = {}
    seen: set[Place] = set()
    classes: set[Place] = set()
    attributes: set[str] = set()
    pending = {Place(module, name)}
    while pending:
        place = pending.pop()
        seen.add(place)
        code = _code(place)
        statuses |= dict.fromkeys(code.statuses - statuses.keys(), place)
        attributes |= code.attributes
        pending |= code.places - seen
        if code.is_class:
            classes.add(place)
        if not pending:
            methods = {each for owner in classes for each in _methods(owner)}
            used = {each for each in methods if each.name in attributes or _is_special(each.name)}
            pending = used - seen
    return statuses


def _is_special(name: str) -> bool:
    return name.startswith("__")


@cache
def _code(place: Place) -> _Code:
    node = _node(place)
    if isinstance(node, ast.ClassDef):
        body = [each for each in node.body if not isinstance(each, ast.FunctionDef)]
        parts: list[ast.AST] = [*node.bases, *node.decorator_list, *body]
    else:
        parts = [node]
    imports = _module(place.module).imports | _imports(node)
    attributes: set[str] = set()
    places: set[Place] = set()
    statuses: set[int] = set()
    for each in (each for part in parts for each in _mentions(part)):
        if isinstance(each, ast.Call):
            statuses |= _several(each)
            continue
        if isinstance(each, ast.Attribute):
            attributes.add(each.attr)
        target = _target(each, place.module, imports)
        if target is None:
            continue
        if target.module == _ERRORS:
            statuses |= {_STATUSES[target.name]} if target.name in _STATUSES else set()
        else:
            places.add(target)
    return _Code(
        isinstance(node, ast.ClassDef),
        frozenset(attributes),
        frozenset(places),
        frozenset(statuses),
    )


def _mentions(part: ast.AST) -> Iterator[ast.Name | ast.Attribute | ast.Call]:
    """Yield the names, attributes and calls of code; ``except Forbidden`` raises nothing."""
    if isinstance(part, ast.Name | ast.Attribute | ast.Call):
        yield part
    inner = part.body if isinstance(part, ast.ExceptHandler) else ast.iter_child_nodes(part)
    for child in inner:
        yield from _mentions(child)


def _several(call: ast.Call) -> set[int]:
    """Return the status of ``ApiErrors(422, ...)``, which the catalogue does not name."""
    if ast.unparse(call.func) == "ApiErrors" and isinstance(call.args[0], ast.Constant):
        return {int(str(call.args[0].value))}
    return set()


def _target(
    node: ast.Name | ast.Attribute | ast.Call, module: str, imports: Imports
) -> Place | None:
    if isinstance(node, ast.Name):
        return _resolved(module, node.id, imports)
    assert isinstance(node, ast.Attribute)
    base = ".".join(filter(None, imports.get(ast.unparse(node.value), ())))
    return _resolved(base, node.attr, {}) if _is_module(base) else None


def _resolved(module: str, name: str, imports: Imports) -> Place | None:
    if not _is_module(module):
        return None
    if name in imports or name in _module(module).imports:
        origin, original = imports.get(name) or _module(module).imports[name]
        return _resolved(origin, original, {}) if original else None
    return Place(module, name) if name in _module(module).definitions else None


def _node(place: Place) -> ast.AST:
    if not place.owner:
        return _module(place.module).definitions[place.name]
    owner = _node(Place(place.module, place.owner))
    assert isinstance(owner, ast.ClassDef)
    return next(
        each for each in owner.body if isinstance(each, ast.FunctionDef) and each.name == place.name
    )


def _methods(owner: Place) -> Iterator[Place]:
    node = _node(owner)
    assert isinstance(node, ast.ClassDef)
    for each in node.body:
        if isinstance(each, ast.FunctionDef):
            yield Place(owner.module, each.name, owner.name)


@cache
def _is_module(name: str) -> bool:
    if not name.startswith("chalicelib."):
        return False
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the name of something in a module
        return False


@cache
def _module(name: str) -> _Module:
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    definitions: dict[str, ast.AST] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for each in (each for target in targets for each in ast.walk(target)):
                if isinstance(each, ast.Name):
                    definitions[each.id] = node.value
    return _Module(definitions, _imports(tree))


def _imports(tree: ast.AST) -> Imports:
    """Return name → (module, name in it) of imports; for a module itself the second is empty."""
    names: Imports = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {each.asname or each.name: (node.module, each.name) for each in node.names}
        elif isinstance(node, ast.Import):
            names |= {each.asname or each.name: (each.name, "") for each in node.names}
    return names
