"""Collect the items that the stores declare, for docs/reference/access-patterns.md.

A store declares each kind of its items as a class with the base ``Keyed``, and its table as a
variable that names the class::

    class PaceItem(Keyed):
        \"""The pace of a path.\"""

        revision: int
        expires: NotRequired[int]


    _paces: Table[PaceItem] = Table("messages")

A table of ``AnyItem`` reads items that other stores declare.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parent.parent

#: The kind of an item that another store declares
ANY: Final = "AnyItem"
_ROOTS: Final = ("Attributes", "Keyed")


class UndeclaredItems(ValueError):
    """A table does not say which class its items have, or there is no such class."""


@dataclass(frozen=True, slots=True)
class StoredItem:
    """A kind of item in a table; ``attributes`` are the texts of all but ``pk`` and ``sk``."""

    table: str
    name: str
    summary: str
    attributes: tuple[str, ...]
    store: str

    def row(self) -> str:
        """Return the item as a row of the table."""
        summary = self.summary.replace("``", "`")
        cells = [f"`{self.table}`", f"`{self.name}`: {summary}", ", ".join(self.attributes)]
        cells = [cell.replace("|", "\\|") for cell in (*cells, f"`{self.store}`")]
        return f"| {' | '.join(cells)} |"


def stored_items() -> list[StoredItem]:
    """Return the items of all stores, by table and store, each followed by its parts.

    Raises :class:`UndeclaredItems`.
    """
    paths = sorted((ROOT / "chalicelib").rglob("*.py"))
    modules = {_store(path): ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    classes = _Classes(modules)
    tables = dict.fromkeys(
        (table, classes.item(name, store))
        for store, module in modules.items()
        for table, name in tables_of(store, module)
        if name != ANY
    )
    items = [item for table, node in tables for item in classes.described(table, node)]
    return sorted(items, key=lambda item: (item.table, item.store))


def tables_of(store: str, module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the short name of each table that a module has, with the class of its items.

    Raises :class:`UndeclaredItems`.
    """
    undeclared = {node for node in ast.walk(module) if _is_table(node)}
    for statement in module.body:
        match statement:
            case ast.AnnAssign(
                annotation=ast.Subscript(value=ast.Name("Table"), slice=ast.Name(name)),
                value=ast.Call(func=ast.Name("Table"), args=[ast.Constant(str(table))]) as call,
            ):
                undeclared.discard(call)
                yield table, name
    if undeclared:
        raise UndeclaredItems(f"{store}: a table does not say which class its items have")


class _Classes:
    """The classes that declare items or parts of them."""

    def __init__(self, modules: Mapping[str, ast.Module]) -> None:
        self._stores: dict[ast.ClassDef, str] = {}
        self._by_name: dict[str, list[ast.ClassDef]] = {}
        for store, module in modules.items():
            for node in module.body:
                if isinstance(node, ast.ClassDef):
                    self._stores[node] = store
                    self._by_name.setdefault(node.name, []).append(node)

    def item(self, name: str, store: str) -> ast.ClassDef:
        """Return the class of an item; raises :class:`UndeclaredItems`."""
        node = self._find(name, store)
        if node is None:
            raise UndeclaredItems(f"{store}: {name} is no class with the base Keyed")
        return node

    def described(self, table: str, node: ast.ClassDef) -> Iterator[StoredItem]:
        """Yield an item and the parts that its attributes have."""
        store, attributes = self._stores[node], self._attributes(node)
        summary = (ast.get_docstring(node) or "").partition("\n\n")[0]
        texts = tuple(_text(name, annotation) for name, annotation in attributes.items())
        yield StoredItem(table, node.name, summary, texts, store)
        for name in dict.fromkeys(map(ast.unparse, _names(attributes.values()))):
            if part := self._find(name, store):
                yield from (replace(each, store=store) for each in self.described(table, part))

    def _attributes(self, node: ast.ClassDef) -> dict[str, ast.expr]:
        """Return the attributes of a class and its bases, without those of ``Keyed``."""
        attributes: dict[str, ast.expr] = {}
        for base in map(ast.unparse, node.bases):
            if base not in _ROOTS:
                attributes |= self._attributes(self.item(base, self._stores[node]))
        own = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        return attributes | {ast.unparse(each.target): each.annotation for each in own}

    def _find(self, name: str, store: str) -> ast.ClassDef | None:
        """Return the class that a module means by a name: its own, or the only one."""
        nodes = [node for node in self._by_name.get(name, ()) if self._is_declaration(node)]
        own = [node for node in nodes if self._stores[node] == store]
        candidates = own or nodes
        return candidates[0] if len(candidates) == 1 else None

    def _is_declaration(self, node: ast.ClassDef) -> bool:
        bases = [ast.unparse(base) for base in node.bases]
        return any(
            base in _ROOTS or self._find(base, self._stores[node]) is not None for base in bases
        )


def _store(path: Path) -> str:
    return path.relative_to(ROOT / "chalicelib").as_posix()


def _is_table(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "Table"


def _names(annotations: Iterable[ast.expr]) -> Iterator[ast.Name]:
    for annotation in annotations:
        yield from (node for node in ast.walk(annotation) if isinstance(node, ast.Name))


def _text(name: str, annotation: ast.expr) -> str:
    """Return an attribute as the page has it: ``name``: type, with a question mark if optional."""
    match annotation:
        case ast.Subscript(value=ast.Name("NotRequired"), slice=inner):
            return f"`{name}?`: {ast.unparse(inner)}"
    return f"`{name}`: {ast.unparse(annotation)}"
