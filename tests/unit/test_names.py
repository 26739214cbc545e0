"""Variables, parameters and fields are named by nouns, and never by a participle alone."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: A name says what a thing is (``transmission``), not what was done to it (``sent``).
_WORDS = """
found given sent told asked made whole named known wanted shown refused kept left gone taken held
noted begun written mine chosen drawn caught stored listed counted waiting
"""
BANNED = frozenset(_WORDS.split())


def bound_names(node: ast.AST) -> list[str]:
    """Return the names that a node of the syntax tree introduces."""
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.attr]
    if isinstance(node, ast.ExceptHandler) and node.name:
        return [node.name]
    if isinstance(node, ast.alias) and node.asname:
        return [node.asname]
    return []


def is_item(node: ast.ClassDef) -> bool:
    """Tell whether a class declares an item or a part of one (``core.dynamo.items``)."""
    return bool({ast.unparse(base) for base in node.bases} & {"Attributes", "Keyed", "OwnedKeys"})


def banned_names(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each banned name that ``source`` introduces.

    ``left`` is the name of an operand, and allowed, in a module that has a ``right`` as well. The
    attributes of items are allowed too: they are stored under these names.
    """
    module = ast.parse(source)
    stored_names = {
        attribute.target
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef) and is_item(node)
        for attribute in node.body
        if isinstance(attribute, ast.AnnAssign)
    }
    bindings = [
        (getattr(node, "lineno", 0), name)
        for node in ast.walk(module)
        if node not in stored_names
        for name in bound_names(node)
    ]
    has_right = any(name.lstrip("_") == "right" for _, name in bindings)
    for line, name in bindings:
        is_operand = has_right and name.lstrip("_") == "left"
        if name.lstrip("_") in BANNED and not is_operand:
            yield line, name


def test_names_are_nouns_of_what_they_hold() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    places = [
        f"{path}:{line} {name}"
        for path in listing.stdout.split()
        if (ROOT / path).exists()
        for line, name in banned_names((ROOT / path).read_text(encoding="utf-8"))
    ]
    assert not places, "name these after what they hold:\n" + "\n".join(places)


def test_every_way_to_introduce_a_name_is_checked() -> None:
    source = """
import json as sent
found = 1
def f(given, *, plain): pass
class A:
    told: int = 0
    def __init__(self): self._made = 1
try: pass
except ValueError as caught: pass
for kept, item in []: pass
with open("x") as taken: pass
[each for asked in []]
(known := 1)
"""
    names = {name for _, name in banned_names(source)}
    assert names == {
        *("sent", "found", "given", "told", "_made"),
        *("caught", "kept", "taken", "asked", "known"),
    }
    assert list(banned_names("transmission.sent\nfound()")) == []


def test_left_is_allowed_next_to_right() -> None:
    assert list(banned_names("def add(left, right): pass")) == []
    assert list(banned_names("def rest(left): pass")) == [(1, "left")]


def test_the_attributes_of_items_are_allowed() -> None:
    source = "class CounterItem({}):\n    left: int"
    assert list(banned_names(source.format("Fields, Keyed"))) == []
    assert list(banned_names(source.format("NamedTuple"))) == [(2, "left")]
