"""List every module with the first sentence of its docstring, for the index in ARCHITECTURE.md."""

from __future__ import annotations

import ast
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Folders whose modules are listed; those of the tests mirror them
FOLDERS = ("chalicelib", "relay", "outbound", "postfinch")


def purpose_of(path: Path) -> str:
    """Return the first paragraph of a module's docstring, as one line without a full stop."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.partition("\n\n")[0].split()).rstrip(".").replace("``", "`")


def index_of_modules() -> str:
    """Return the index in Markdown: a list for each package, with a line for each module."""
    modules = [
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"), key=lambda path: (path.parent, path.name))
        if path.name != "__init__.py"
    ]
    lists = []
    for folder, paths in groupby(modules, key=lambda path: path.parent):
        name = folder.relative_to(ROOT).as_posix()
        about = folder / "__init__.py"
        heading = f"**`{name}/`**" + (f": {text}" if (text := purpose_of(about)) else "")
        rows = [f"- `{path.name}`: {purpose_of(path)}" for path in paths]
        lists.append("\n".join([heading, "", *rows]))
    return "\n\n".join(lists)
