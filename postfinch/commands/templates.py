"""``postfinch templates``: templates and snippets as files that can live in version control."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from postfinch import stored_templates, template_files
from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, note, write_json, write_line
from postfinch.http_api import Api, ApiError
from postfinch.stored_templates import Change
from postfinch.template_files import Fault, Item, Unreadable

app = typer.Typer(
    help="Keep templates and snippets in a folder that can live in git.", no_args_is_help=True
)

FolderArgument = Annotated[Path, typer.Argument(help="The folder of the templates.")]
# The sample template is in every account's list, but nobody can delete it
_SAMPLE = "belongs to the service"
_AS_DRAFT = {"template": " as a draft (--publish publishes it)", "snippet": ""}
_DONE = {
    "create": "created",
    "update": "updated",
    "publish": "published",
    "delete": "deleted",
    "unchanged": "unchanged",
}


@app.command()
def pull(
    folder: FolderArgument = Path("templates"),
    published: Annotated[
        bool, typer.Option("--published", help="Write the published versions, not the drafts.")
    ] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the templates and snippets of the account into a folder.

    Only files that differ are written. A part that a template no longer has is removed; folders of
    templates that the account does not have stay, and are named.
    """
    api = connect(profile)
    rows: list[dict[str, Any]] = []
    for item in _stored(api, published=published):
        if not template_files.can_have_folder(item.id):
            note(f"{item.kind} {item.id!r} is left out: a folder cannot have this name")
            continue
        paths = template_files.write(folder, item)
        rows.append({"kind": item.kind, "id": item.id, "changed": [str(path) for path in paths]})
        if not as_json:
            for path in paths:
                write_line(str(folder / path))
    stored_ids = {(row["kind"], row["id"]) for row in rows}
    for item in _local(folder)[0]:
        if (item.kind, item.id) not in stored_ids:
            note(f"{item.kind} {item.id} is only in the folder")
    if as_json:
        write_json(rows)
    else:
        count = sum(bool(row["changed"]) for row in rows)
        note(f"{count} of {len(rows)} templates and snippets differed")


@app.command()
def push(
    folder: FolderArgument = Path("templates"),
    publish: Annotated[
        bool,
        typer.Option(
            "--publish",
            help='Also publish, but for templates with `"published": false` in template.json.',
        ),
    ] = False,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete what is not in the folder.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before deleting.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
    ] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the account's drafts equal to a folder.

    Nothing is changed if a template or snippet has an error; each error is shown with file and
    line.
    """
    if not folder.is_dir():
        fail(f"there is no folder {folder}", 2)
    api = connect(profile)
    items, faults = _local(folder)
    if faults:
        _stop(faults, as_json=as_json)
    changes = stored_templates.plan(api, items, publish=publish, delete=delete)
    faults = _errors(api, folder, changes)
    if faults:
        _stop(faults, as_json=as_json)
    deleted = [change.item.id for change in changes if change.action == "delete"]
    if deleted and not yes and not dry_run:
        question = f"Delete {', '.join(deleted)} from {api.url}?"
        typer.confirm(question, abort=True, err=True)
    rows = [_carry_out(api, change, dry_run=dry_run, quiet=as_json) for change in changes]
    if as_json:
        write_json(rows)
    elif not any(row["action"] != "unchanged" for row in rows):
        note(f"Nothing differs: {len(rows)} templates and snippets")
    if any("error" in row for row in rows):
        raise typer.Exit(1)


@app.command()
def render(
    source: Annotated[
        str, typer.Argument(help="Id of a stored template, or the folder of one with files.")
    ],
    data: Annotated[
        str,
        typer.Option(help="Substitution data as JSON, or @ and the name of a file with it."),
    ] = "{}",
    html: Annotated[bool, typer.Option("--html", help="Write only the HTML part.")] = False,
    text: Annotated[bool, typer.Option("--text", help="Write only the text part.")] = False,
    published: Annotated[
        bool, typer.Option("--published", help="Render the published version, not the draft.")
    ] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a template rendered with data.

    A folder is rendered as it is, without storing it; its snippets are those of the account.
    """
    api = connect(profile)
    values = _data(data)
    path = Path(source)
    if path.is_dir():
        parts = _preview_of_folder(api, path, values)
    else:
        draft = "false" if published else "true"
        address = f"/templates/{quote(source, safe='')}/preview"
        parts = api.post(address, {"substitution_data": values}, draft=draft)
    if html or text:
        name = "html" if html else "text"
        if name not in parts:
            fail(f"the template has no part {name}", 1)
        parts = {name: parts[name]}
    if as_json:
        write_json(parts)
    elif html or text:
        typer.echo(next(iter(parts.values())))
    else:
        _write_parts(parts)


def _stored(api: Api, *, published: bool) -> Iterable[Item]:
    for template_id in stored_templates.own_ids(api, "template"):
        try:
            yield stored_templates.fetch(api, "template", template_id, draft=not published)
        except ApiError as error:
            if not published or error.status != 422:
                raise
            note(f"template {template_id} is left out: it is not published")
    for snippet_id in stored_templates.own_ids(api, "snippet"):
        yield stored_templates.fetch(api, "snippet", snippet_id)


def _local(folder: Path) -> tuple[list[Item], list[Fault]]:
    items: list[Item] = []
    faults: list[Fault] = []
    for each in template_files.read_all(folder):
        if isinstance(each, Fault):
            faults.append(each)
        else:
            items.append(each)
    return items, faults


def _errors(api: Api, folder: Path, changes: list[Change]) -> list[Fault]:
    return [
        template_files.place_of(folder, change.item, error)
        for change in changes
        if change.action in ("create", "update")
        for error in stored_templates.errors_of(api, change.item)
    ]


def _stop(faults: list[Fault], *, as_json: bool) -> None:
    """Show the faults and end the command."""
    if as_json:
        rows = [
            {
                "path": str(each.path),
                "line": each.line,
                "column": each.column,
                "error": each.message,
            }
            for each in faults
        ]
        write_json(rows)
    for fault in faults:
        note(str(fault))
    fail("nothing was changed", 1)


def _carry_out(api: Api, change: Change, *, dry_run: bool, quiet: bool) -> dict[str, Any]:
    """Make a change and say so; an error does not stop the others."""
    item = change.item
    row: dict[str, Any] = {"kind": item.kind, "id": item.id, "action": change.action}
    row |= {"changes": change.changes, "published": change.publishes}
    try:
        if not dry_run:
            stored_templates.apply(api, change)
    except ApiError as error:
        note(f"{item.kind} {item.id}: {error}")
        if error.status == 403 and _SAMPLE in str(error):
            return row | {"action": "unchanged"}
        return row | {"error": str(error)}
    if not quiet and change.action != "unchanged":
        verb = f"would {change.action}" if dry_run else _DONE[change.action]
        details = f": {', '.join(change.changes)}" if change.changes else ""
        also = " and publish" if dry_run else " and published"
        publishes = also if change.publishes and change.action != "publish" else ""
        draft = "" if change.publishes or change.action != "create" else _AS_DRAFT[item.kind]
        write_line(f"{verb}{publishes} {item.kind} {item.id}{draft}{details}")
    return row


def _data(text: str) -> dict[str, Any]:
    """Return the data of an option; a mistake ends the command."""
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            fail(f"the data cannot be read: {error}", 2)
    try:
        values = json.loads(text)
    except ValueError as error:
        fail(f"--data is not JSON: {error}", 2)
    if not isinstance(values, dict):
        fail("--data must be a JSON object", 2)
    return values


def _preview_of_folder(api: Api, folder: Path, data: dict[str, Any]) -> dict[str, Any]:
    try:
        item = template_files.read(folder, "template")
    except Unreadable as error:
        fail(str(error), 1)
    try:
        body = {"content": item.content, "substitution_data": data}
        return dict(api.post("/utils/content-previewer", body))
    except ApiError as error:
        if error.status != 422:
            raise
        for each in error.errors:
            note(str(template_files.place_of(folder.parent, item, each)))
        fail("the template cannot be rendered", 1)


def _write_parts(parts: dict[str, Any]) -> None:
    """Write the headers and then each part under a line with its name."""
    sender = parts.get("from") or {}
    headers = {
        "From": f"{sender['name']} <{sender['email']}>"
        if "name" in sender
        else sender.get("email"),
        "Reply-To": parts.get("reply_to"),
        "Subject": parts.get("subject"),
        **(parts.get("headers") or {}),
    }
    for name, value in headers.items():
        if value:
            write_line(f"{name}: {value}", style="bold")
    for name in ("text", "html", "amp_html", "email_rfc822"):
        if parts.get(name):
            if sys.stdout.isatty():
                write_line(f"\n{name}", style="dim")
            else:
                typer.echo(f"\n--- {name}")
            typer.echo(parts[name])
