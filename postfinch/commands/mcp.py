"""``postfinch mcp``: let an assistant use a service by the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from postfinch.commands.options import ProfileOption, connect
from postfinch.commands.output import fail


def mcp(
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Leave out the tool that sends.")
    ] = False,
    profile: ProfileOption = None,
) -> None:
    """Speak the Model Context Protocol on standard input and output, for an assistant.

    Its tools read the mailbox, events, metrics, templates and settings; one sends a message, and
    wants an idempotency key.
    """
    api = connect(profile)
    try:
        from postfinch.mcp_tools import server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "mcp":
            raise
        fail("this needs more packages: pip install 'postfinch[mcp]'", 2)
    server(api, read_only=read_only).run()
