"""``postfinch mail``: the mailbox of a local service, where all that it sends arrives."""

from __future__ import annotations

import re
import sys
import time
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn
from urllib.parse import quote

import typer

from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, note, write_json, write_line, write_rows
from postfinch.http_api import Api, ApiError
from postfinch.json_types import Json

app = typer.Typer(
    help="Read the mailbox of a local service, and let mail come in.", no_args_is_help=True
)

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of the message.")]
ToOption = Annotated[str | None, typer.Option(help="Only messages to this recipient.")]
FromOption = Annotated[
    str | None, typer.Option("--from", help="Only messages with this in the sender.")
]
SubjectOption = Annotated[
    str | None, typer.Option(help="Only messages with this text in the subject.")
]
QueryOption = Annotated[
    str | None,
    typer.Option(
        "--search", "-s", help='A search as in the console: has:attachment is:unread "spring sale".'
    ),
]

_MAILBOX = "/local/mailbox"
_COLUMNS = {
    "id": "Id",
    "received_at": "Received",
    "from": "From",
    "to": "To",
    "subject": "Subject",
}
_EXPENDABLE = ("received_at", "from")
_PAUSE = 0.1
_MOST_INSTEAD = 5
_NOT_FOUND = 404
_UNSAFE = re.compile(r"[^\w. @+=,()-]")


@app.command("list")
def list_messages(
    to: ToOption = None,
    sender: FromOption = None,
    subject: SubjectOption = None,
    search: QueryOption = None,
    limit: Annotated[int, typer.Option(help="The most messages to list.", min=1)] = 20,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the newest messages."""
    filters = _filters(to, sender, subject, search)
    api = _connect(profile)
    rows = _get(api, _MAILBOX, **filters, limit=limit)
    _warn_of_delivery(api)
    empty = "No message matches." if any(filters.values()) else "The mailbox is empty."
    write_rows(rows, _COLUMNS, as_json=as_json, empty=empty, expendable=_EXPENDABLE)


@app.command()
def show(
    message_id: IdArgument,
    html: Annotated[bool, typer.Option("--html", help="Write the HTML part, alone.")] = False,
    source: Annotated[
        bool, typer.Option("--source", help="Write the message as it arrived, alone.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(help="Save the attachments in this folder, alone.")
    ] = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show headers, text, links and attachments of a message."""
    api, path = _connect(profile), _path(message_id)
    if source:
        _write_bytes(_content(api, path))
        return
    message: Json = _get(api, f"{path}/content")
    if html:
        if message["html"] is None:
            fail(f"{message_id} has no HTML part", 1)
        _write_bytes(message["html"].encode())
    elif save is not None:
        files = _save(api, path, message, save)
        write_rows(files, {"file": "File"}, as_json=as_json, empty="It has no attachments.")
    else:
        links = _get(api, f"{path}/links")
        if as_json:
            write_json(message | {"links": links})
        else:
            _write_message(message, links)


@app.command("open")
def open_message(message_id: IdArgument, profile: ProfileOption = None) -> None:
    """Open a message in the console, in the browser of this machine."""
    api = _connect(profile)
    _get(api, f"{_path(message_id)}/content")
    address = f"{api.url}/console/#/mailbox/{quote(message_id, safe='')}"
    typer.echo(address)
    if not webbrowser.open(address):
        note("there is no browser on this machine: open the address in another one")


@app.command()
def wait(
    to: ToOption = None,
    sender: FromOption = None,
    subject: SubjectOption = None,
    search: QueryOption = None,
    count: Annotated[int, typer.Option(help="How many messages must be there.", min=1)] = 1,
    timeout: Annotated[float, typer.Option(help="Seconds to wait at most.")] = 30,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Wait for messages, and list them; those that are there already count.

    The exit code is 1 if they do not come in time, with what is in the mailbox instead.
    """
    api = _connect(profile)
    filters = _filters(to, sender, subject, search)
    deadline = time.monotonic() + timeout
    while True:
        rows = _get(api, _MAILBOX, **filters, limit=max(count, 100))
        if len(rows) >= count:
            write_rows(rows, _COLUMNS, as_json=as_json, empty="", expendable=_EXPENDABLE)
            return
        if (remaining := deadline - time.monotonic()) <= 0:
            _report_absence(api, filters, len(rows), count, timeout)
        time.sleep(min(_PAUSE, remaining))


@app.command()
def delete(
    message_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="The messages to delete.")
    ] = None,
    to: ToOption = None,
    sender: FromOption = None,
    subject: SubjectOption = None,
    search: QueryOption = None,
    every: Annotated[bool, typer.Option("--all", help="Delete every message.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete messages: these, those that match, or all."""
    filters = _filters(to, sender, subject, search)
    ways = (bool(message_ids), any(filters.values()), every)
    if sum(ways) != 1:
        fail("say which messages: their ids, a filter such as --to, or --all", 2)
    api = _connect(profile)
    if message_ids:
        for each in message_ids:
            _local(api, "DELETE", _path(each))
        deleted = len(message_ids)
    else:
        subject_of_question = "every message" if every else "all messages that match"
        if not yes:
            typer.confirm(f"Delete {subject_of_question}?", abort=True, err=True)
        deleted = _local(api, "DELETE", _MAILBOX, **filters)["deleted"]
    if as_json:
        write_json({"deleted": deleted})
    else:
        note(f"{deleted} deleted")


def _warn_of_delivery(api: Api) -> None:
    """Say in red if mail leaves the machine instead of coming into the mailbox."""
    with suppress(ApiError):  # a service of an earlier version
        if warning := api.get("/local/delivery")["warning"]:
            note(warning, colour="red")


def _filters(
    to: str | None, sender: str | None, subject: str | None, search: str | None
) -> dict[str, str | None]:
    return {"to": to, "from": sender, "subject": subject, "q": search}


def _connect(profile: str | None) -> Api:
    return connect(profile)


def _get(api: Api, path: str, **query: Any) -> Any:
    return _local(api, "GET", path, **query)


def _local(api: Api, method: str, path: str, **query: Any) -> Any:
    """Call a route of the mailbox; says so if the service has none."""
    try:
        return api.request(method, path, query=query)
    except ApiError as error:
        _explain(api, error, path)


def _content(api: Api, path: str) -> bytes:
    try:
        return api.content(path)
    except ApiError as error:
        _explain(api, error, path)


def _explain(api: Api, error: ApiError, path: str) -> NoReturn:
    if error.status != _NOT_FOUND:
        raise error
    try:
        api.get(_MAILBOX, limit=0)
    except ApiError:
        fail(f"{api.url} has no mailbox: only a local service has one (`postfinch run`)", 1)
    fail(f"there is no message {path.split('/')[3]}", 1)


def _report_absence(
    api: Api, filters: Mapping[str, str | None], number: int, count: int, seconds: float
) -> NoReturn:
    """Say what did not come in time, and what is in the mailbox instead."""
    names = {"q": "search"}
    text = " ".join(f"--{names.get(name, name)} {each!r}" for name, each in filters.items() if each)
    messages = f"{number} of {count} messages" if number else "no message"
    newest = _get(api, _MAILBOX, limit=_MOST_INSTEAD)
    instead = "; ".join(f"{each['to']}: {each['subject']!r}" for each in newest)
    there = f"the newest there are {instead}" if newest else "the mailbox is empty"
    fail(f"{messages} {f'for {text} ' if text else ''}in {seconds:g} s; {there}", 1)


def _write_message(message: Json, links: list[Json]) -> None:
    for each in message["headers"]:
        write_line(f"{each['name']}: {' '.join(each['value'].split())}", style="dim")
    if message["text"] is not None:
        write_line("\n" + message["text"].rstrip())
    elif message["html"] is not None:
        write_line("\nThere is no text part; --html writes the HTML part.", style="dim")
    if links:
        write_line("\nLinks", style="bold")
    for link in links:
        goal = f" -> {link['target']}" if link["target"] else ""
        write_line(f"  {link['kind']}: {link['url']}{goal}")
    if attachments := _attachments(message):
        write_line("\nAttachments", style="bold")
    for part in attachments:
        name = part["filename"] or f"part {part['part']}"
        write_line(f"  {name} ({part['content_type']}, {part['size']} bytes)")
    if message["problem"]:
        note(f"the message is broken: {message['problem']}")


def _attachments(message: Json) -> list[Json]:
    return [part for part in message["parts"] if part["role"] in ("attachment", "inline")]


def _save(api: Api, path: str, message: Json, folder: Path) -> list[Json]:
    """Save the attachments under names that no other file has; their senders chose the names."""
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Json] = []
    for part in _attachments(message):
        content = _content(api, f"{path}/parts/{part['part']}")
        target = _new_file(folder, part["filename"] or f"part-{part['part']}")
        target.write_bytes(content)
        files.append({"file": str(target), "content_type": part["content_type"]})
    return files


def _new_file(folder: Path, name: str) -> Path:
    safe = _UNSAFE.sub("_", name).strip(". ")[:150] or "attachment"
    target, number = folder / safe, 1
    while target.exists():
        number += 1
        target = folder / f"{Path(safe).stem}-{number}{Path(safe).suffix}"
    return target


def _write_bytes(content: bytes) -> None:
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _path(message_id: str) -> str:
    return f"{_MAILBOX}/{quote(message_id, safe='')}"
