"""``postfinch mail import``: put messages that are kept in files into a local mailbox."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from postfinch import kept_mail
from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, note, write_json
from postfinch.http_api import Api, ApiError

_MAILBOX = "/local/mailbox"
_NO_SUCH_ROUTE = (404, 405)


def import_mail(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="A message (.eml), an mbox file, a Maildir, or a folder of them.",
        ),
    ],
    inbox: Annotated[str | None, typer.Option(help="The inbox that the messages are in.")] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(help="A recipient; repeat it for more. Else those in the message."),
    ] = None,
    sender: Annotated[
        str | None,
        typer.Option("--from", help="The envelope sender. Else the one in the message."),
    ] = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put messages of files into the mailbox of a local service.

    They arrive now, in the order of the files. A message that cannot be read is named, and the
    others go on; the exit code is 1 then.
    """
    api = connect(profile)
    query = {"inbox": inbox, "from": sender, "to": ",".join(to) if to else None}
    imported, problems = 0, []
    for message in kept_mail.read(paths):
        problem = message.problem or _put(api, message.content, query)
        if problem:
            problems.append({"file": message.name, "problem": problem})
            note(f"{message.name}: {problem}", colour="red")
        else:
            imported += 1
    if as_json:
        write_json({"imported": imported, "problems": problems})
    else:
        note(f"{imported} imported{f', {len(problems)} not' if problems else ''}")
    if problems:
        raise typer.Exit(1)


def _put(api: Api, content: bytes, query: dict[str, str | None]) -> str:
    """Put a message into the mailbox; return why it was refused, empty if it was not."""
    try:
        api.upload(_MAILBOX, content, "message/rfc822", **query)
    except ApiError as error:
        if error.status in _NO_SUCH_ROUTE:
            fail(f"{api.url} takes no messages: only a local service does (`postfinch run`)", 1)
        return str(error)
    return ""
