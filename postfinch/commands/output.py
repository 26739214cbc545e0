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
#: A text of which fewer characters fit on a line is hard to read
_LEAST_TEXT = 16
#: Blanks between two columns
_GAP = 2


def write_json(value: Json) -> None:
    """Write a value as JSON, indented on a terminal and on one line elsewhere."""
    indent = 2 if sys.stdout.isatty() else None
    typer.echo(json.dumps(value, indent=indent, ensure_ascii=False))


def write_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str],
    *,
    as_json: bool,
    empty: str,
    expendable: Sequence[str] = (),
) -> None:
    """Write rows as JSON, or as a table; ``columns`` has the heading of each field to show.

    Without a terminal, a row is one line with tabs between its fields and there are no headings.
    ``empty`` is what to say of no rows. On a narrow terminal a table has fewer columns, and says
    which are not there: first the ``expendable`` ones go, then the last ones.
    """
    if as_json:
        write_json(list(rows))
    elif not sys.stdout.isatty():
        for row in rows:
            typer.echo("\t".join(_text(row.get(name)) for name in columns))
    elif not rows:
        typer.echo(empty)
    else:
        _write_table(rows, columns, expendable)


def write_line(text: str, *, style: str = "") -> None:
    """Write a line, in this style on a terminal; elsewhere tabs stay tabs."""
    if sys.stdout.isatty():
        Console(soft_wrap=True, highlight=False).print(escape(text), style=style or None)
    else:
        typer.echo(text)


def note(text: str, *, colour: str | None = None) -> None:
    """Write a line about the command itself, which is no part of its result."""
    typer.secho(text, err=True, fg=colour)


def ask(question: str, *, yes: bool) -> None:
    """End the process unless a person agrees; ``yes`` agrees beforehand, for programs."""
    if yes:
        return
    if not sys.stdin.isatty():
        fail(f"{question} Nobody can be asked here: call again with --yes", 1)
    typer.confirm(question, abort=True, err=True)


def fail(text: str, code: int) -> NoReturn:
    """Say on the error stream what went wrong, and end the process."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(
        f"[red]postfinch:[/] {escape(text)}"
    )
    sys.exit(code)


def _write_table(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], expendable: Sequence[str]
) -> None:
    console = Console()
    widths = {
        name: _least_width(heading, [row.get(name) for row in rows], is_first=place == 0)
        for place, (name, heading) in enumerate(columns.items())
    }
    names = _fitting(widths, expendable, console.width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(columns[name], no_wrap=name == names[0], min_width=widths[name])
    for row in rows:
        table.add_row(*(escape(_text(row.get(name))) for name in names))
    console.print(table)
    if others := [heading for name, heading in columns.items() if name not in names]:
        missing = f"Not shown at this width: {', '.join(others)}"
        console.print(missing, style="dim", highlight=False)


def _least_width(heading: str, values: Sequence[Json], *, is_first: bool) -> int:
    """Return the width below which a column says too little."""
    longest = max((cell_len(_text(value)) for value in values), default=0)
    if is_first:  # it is copied into other commands
        return max(_longest_word(heading), min(longest, _WIDEST_NAME))
    if all(map(_is_number, values)):
        return max(_longest_word(heading), longest)
    return max(_longest_word(heading), min(longest, _LEAST_TEXT))


def _fitting(widths: Mapping[str, int], expendable: Sequence[str], width: int) -> list[str]:
    """Return the columns that a terminal has room for, at least the first."""
    names = list(widths)
    last_ones = [name for name in reversed(names[1:]) if name not in expendable]
    for name in [*expendable, *last_ones]:
        if sum(widths[each] + _GAP for each in names) - _GAP <= width:
            break
        names.remove(name)
    return names


def _longest_word(heading: str) -> int:
    return max(map(cell_len, heading.split()), default=0)


def _is_number(value: Json) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


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
