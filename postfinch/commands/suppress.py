"""``postfinch suppress``: the suppression list, whose recipients get no mail."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, urlsplit

import typer

from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, note, write_json, write_line, write_rows
from postfinch.http_api import Api, ApiError
from postfinch.json_types import Json
from postfinch.suppression_file import PATH, ForeignColumns, Report, load, rows_of

app = typer.Typer(help="Keep the suppression list.", no_args_is_help=True)


_NOT_FOUND = 404
_MOST_PER_PAGE = 1000
_COLUMNS = {
    "recipient": "Recipient",
    "type": "Type",
    "list_id": "List",
    "source": "Source",
    "updated": "Updated",
    "description": "Description",
}


class Type(StrEnum):
    """What a suppression entry concerns."""

    TRANSACTIONAL = "transactional"
    NON_TRANSACTIONAL = "non_transactional"
    OPEN_TRACKING = "open_tracking"


_BLOCKING = [Type.TRANSACTIONAL, Type.NON_TRANSACTIONAL]
Recipients = Annotated[list[str], typer.Argument(metavar="ADDRESS...", help="The recipients.")]
TypeOption = Annotated[
    list[Type] | None,
    typer.Option(
        "--type",
        "-t",
        help="What they do not get; repeat it for more.",
        show_default="transactional and non_transactional",
    ),
]
ListOption = Annotated[
    str | None, typer.Option("--list-id", help="Only for messages of this mailing list.")
]


@app.command()
def add(
    recipients: Recipients,
    types: TypeOption = None,
    list_id: ListOption = None,
    description: Annotated[str | None, typer.Option(help="Why, for people.")] = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Suppress recipients, or change the description of their entries."""
    optional = {"list_id": list_id, "description": description}
    fields = {name: value for name, value in optional.items() if value is not None}
    entries = [
        {"recipient": recipient, "type": type, **fields}
        for recipient in recipients
        for type in types or _BLOCKING
    ]
    answer: Json = connect(profile).document("PUT", PATH, {"recipients": entries})
    errors = answer.get("errors", [])
    if as_json:
        write_json({"entries": entries, "errors": errors})
    for each in errors:
        note(": ".join(filter(None, (each.get("message"), each.get("description")))))
    if errors:
        raise typer.Exit(1)


@app.command()
def remove(
    recipients: Recipients,
    types: TypeOption = None,
    list_id: ListOption = None,
    profile: ProfileOption = None,
) -> None:
    """Let recipients get mail again."""
    api = connect(profile)
    failures = 0
    for recipient in recipients:
        try:
            bodies: list[Json | None] = [{"type": type} for type in types or []]
            for body in bodies or [None]:
                api.delete(_path(recipient), body, list_id=list_id)
        except ApiError as error:
            note(f"{recipient}: {error}")
            failures += 1
    if failures:
        raise typer.Exit(1)


@app.command("list")
def list_entries(
    types: TypeOption = None,
    list_id: ListOption = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Such as 'Bounce Rule'; repeat it for more.")
    ] = None,
    domain: Annotated[
        list[str] | None, typer.Option(help="Only recipients of this domain.")
    ] = None,
    description: Annotated[
        str | None, typer.Option(help="Only entries with these words in the description.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--from", help="Only entries updated since 2026-01-31T09:00.")
    ] = None,
    until: Annotated[str | None, typer.Option("--to", help="Only entries updated until then.")] = (
        None
    ),
    limit: Annotated[int, typer.Option(help="The most entries to list.", min=1)] = 100,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the entries updated last."""
    query = {
        "types": ",".join(types or []) or None,
        "list_id": list_id,
        "sources": ",".join(source or []) or None,
        "domain": ",".join(domain or []) or None,
        "description": description,
        "from": since,
        "to": until,
        "per_page": min(limit, _MOST_PER_PAGE),
    }
    rows = list(islice(_entries(connect(profile), query), limit))
    write_rows(rows, _COLUMNS, as_json=as_json, empty="No entry matches.")


@app.command()
def check(
    recipients: Recipients, profile: ProfileOption = None, as_json: JsonOption = False
) -> None:
    """Show the entries of recipients; the exit code is 1 if one of them is suppressed."""
    api = connect(profile)
    rows = [entry for recipient in recipients for entry in _entries_of(api, recipient)]
    write_rows(rows, _COLUMNS, as_json=as_json, empty="None of them is suppressed.")
    if any(row["type"] in _BLOCKING for row in rows):
        raise typer.Exit(1)


@app.command("import")
def import_entries(
    file: Annotated[str, typer.Argument(help="A CSV file, or - for standard input.")],
    types: TypeOption = None,
    list_id: ListOption = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add the entries of a CSV file; the exit code is 1 if some are refused.

    The first line has the names of the columns: recipient (or email), and if you like type,
    description and list_id. Without such a line, the first column is the recipient. The types of a
    row without one are those of --type.
    """
    report = Report()
    api = connect(profile)
    try:
        with _opened(file) as lines:
            for report in load(api, rows_of(lines, types or _BLOCKING, list_id)):
                _show_progress(report)
    except ForeignColumns as error:
        fail(f"{file} is not taken: {error}", 1)
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{file} cannot be read: {error}", 2)
    if sys.stderr.isatty():
        note("")
    if as_json:
        write_json({"loaded": report.loaded, "refused": report.refusals})
    else:
        for each in report.refusals:
            write_line(f"line {each['line']}: {each['recipient']}: {each['reason']}")
        note(f"{report.loaded} entries loaded, rows refused: {len(report.refusals)}")
    if report.refusals:
        raise typer.Exit(1)


def _opened(file: str) -> Any:
    if file == "-":
        return nullcontext(sys.stdin)
    return Path(file).open(encoding="utf-8-sig", newline="")


def _show_progress(report: Report) -> None:
    if sys.stderr.isatty():
        text = f"\r{report.loaded} loaded, {len(report.refusals)} refused"
        typer.echo(text, err=True, nl=False)


def _entries(api: Api, query: Json) -> Iterator[Json]:
    page_query: Json = query | {"cursor": "initial"}
    while True:
        page: Json = api.document("GET", PATH, query=page_query)
        yield from page["results"]
        links = {link["rel"]: link["href"] for link in page.get("links", [])}
        if "next" not in links:
            return
        page_query = dict(parse_qsl(urlsplit(links["next"]).query, keep_blank_values=True))


def _entries_of(api: Api, recipient: str) -> list[Json]:
    try:
        entries: list[Json] = api.get(_path(recipient), types=",".join(Type))
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        return []
    return entries


def _path(recipient: str) -> str:
    return f"{PATH}/{quote(recipient, safe='@')}"
