"""Write results: for people as text and tables, in colour on terminals, or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

Json = Any

_WIDEST_NAME = 60


def write_json(value: Json) -> None:
    """Write a value as JSON, indented on a terminal and on one line elsewhere."""
    indent = 2 if sys.stdout.isatty() else None
    typer.echo(json.dumps(value, indent=indent, ensure_ascii=False))


def write_rows(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], *, as_json: bool, empty: str
) -> None:
    """Write rows as JSON, or as a table; ``columns`` has the heading of each field to show.

    Without a terminal, a row is one line with tabs between its fields and there are no headings.
    ``empty`` is what to say of no rows.
    """
    if as_json:
        write_json(list(rows))
    elif not sys.stdout.isatty():
        for row in rows:
            typer.echo("\t".join(_text(row.get(name)) for name in columns))
    elif not rows:
        typer.echo(empty)
    else:
        first, *others = columns.values()
        table = Table(box=None, pad_edge=False, header_style="bold")
        # It says what a row is, and is copied into other commands: narrow terminals cut the others
        width = max(cell_len(_text(row.get(name))) for row in rows for name in list(columns)[:1])
        table.add_column(first, no_wrap=True, min_width=min(width, _WIDEST_NAME))
        for heading in others:
            table.add_column(heading)
        for row in rows:
            table.add_row(*(escape(_text(row.get(name))) for name in columns))
        Console().print(table)


def write_line(text: str, *, style: str = "") -> None:
    """Write a line, in this style on a terminal; elsewhere tabs stay tabs."""
    if sys.stdout.isatty():
        Console(soft_wrap=True, highlight=False).print(escape(text), style=style or None)
    else:
        typer.echo(text)


def note(text: str) -> None:
    """Write a line about the command itself, which is no part of its result."""
    typer.echo(text, err=True)


def fail(text: str, code: int) -> NoReturn:
    """Say on the error stream what went wrong, and end the process."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(
        f"[red]postfinch:[/] {escape(text)}"
    )
    sys.exit(code)


def _text(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Iterable):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
