"""Collect the access patterns that the stores' docstrings list, for a table in ARCHITECTURE.md.

A store lists its patterns under a heading, one bullet for each question that it answers::

    Access patterns of ``config``:

    - one template of an owner → ``template#<account>#<id>`` / ``head#<owner>``
    - the templates of an owner → ``account#<account>/templates`` / ``<owner>/*`` [by_owner]
    - what is due → ``due#<concern>`` / ``<ms>#<key>`` (oldest first)

The heading names a table, or ``bucket`` for objects. A bullet is a question, an arrow, the
partition key, and optionally the sort key, the index, and a note.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent

_HEADING = re.compile(r"^Access patterns of ``(\w+)``:$")
_PATTERN = re.compile(
    r"(?P<question>[^→]+?) → ``(?P<pk>[^`]+)``(?: / ``(?P<sk>[^`]+)``)?"
    r"(?: \[(?P<index>\w+)\])?(?: \((?P<note>.+)\))?"
)


class UnreadablePatterns(ValueError):
    """A docstring lists access patterns in another form than the one that is read."""


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """One question that a store answers, and the key that it reads for it."""

    table: str
    question: str
    pk: str
    sk: str
    index: str
    note: str
    store: str

    def row(self) -> str:
        """Return the pattern as a row of the table."""
        key = f"`{self.pk}`" + (f" / `{self.sk}`" if self.sk else "")
        key += f" in `{self.index}`" if self.index else ""
        question = self.question + (f" ({_markdown(self.note)})" if self.note else "")
        return f"| `{self.table}` | {_markdown(question)} | {key} | `{self.store}` |"


def stored_patterns() -> list[AccessPattern]:
    """Return the access patterns of all stores, by table and store."""
    patterns = [
        pattern
        for path in sorted((ROOT / "chalicelib").rglob("*.py"))
        for pattern in patterns_of(path)
    ]
    return sorted(patterns, key=lambda pattern: (pattern.table, pattern.store))


def patterns_of(path: Path) -> Iterator[AccessPattern]:
    """Yield the access patterns of one module; raises :class:`UnreadablePatterns`."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    store = path.relative_to(ROOT).as_posix().removeprefix("chalicelib/")
    table = ""
    for paragraph in docstring.split("\n\n"):
        heading = _HEADING.match(paragraph)
        if heading:
            table = heading[1]
        elif table and paragraph.startswith("- "):
            for bullet in paragraph.removeprefix("- ").split("\n- "):
                yield _pattern(table, bullet, store)
        else:
            table = ""


def table_of_patterns() -> str:
    """Return the table for ARCHITECTURE.md."""
    head = ["| Table | Question | Key | Store |", "|---|---|---|---|"]
    return "\n".join([*head, *(pattern.row() for pattern in stored_patterns())])


def _pattern(table: str, bullet: str, store: str) -> AccessPattern:
    text = re.sub(r"\s+", " ", bullet)
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise UnreadablePatterns(f"{store}: {text}")
    fields = {name: value or "" for name, value in match.groupdict().items()}
    return AccessPattern(table=table, store=store, **fields)


def _markdown(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")
