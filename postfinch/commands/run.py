"""``postfinch run``: the whole service on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from postfinch import local_service, locations
from postfinch.commands.output import write_line


def run(
    port: Annotated[
        int, typer.Option(help="Port of the API and the console.", envvar="API_PORT")
    ] = 8080,
    smtp_port: Annotated[
        int, typer.Option(help="Port of the SMTP relay.", envvar="SMTP_PORT")
    ] = 2525,
    inbound_port: Annotated[
        int | None,
        typer.Option(
            help="Port of mail that comes in.",
            envvar="INBOUND_PORT",
            show_default="2526 beside SMTP port 2525",
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder of all state; delete it for a fresh start.",
            envvar="DATA_DIR",
            show_default="a folder of this user",
        ),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(help="Key of the primary account; made at the first start.", envvar="API_KEY"),
    ] = None,
    deliver: Annotated[
        bool,
        typer.Option(
            "--deliver",
            help="Let mail leave this machine, as DELIVER=true does. Else all of it goes to the "
            "mailbox.",
        ),
    ] = False,
) -> None:
    """Run everything on this machine until Ctrl-C: API, console, SMTP relay and mailbox.

    Any setting of the service may be set in the environment as well.
    """
    folder = data_dir or locations.data_dir()
    environment = local_service.environment(os.environ, folder)
    environment |= {"API_PORT": str(port), "SMTP_PORT": str(smtp_port)}
    if inbound_port is not None:
        environment["INBOUND_PORT"] = str(inbound_port)
    if api_key:
        environment["API_KEY"] = api_key
    if deliver:
        environment["DELIVER"] = "true"
    if folder.absolute() != locations.data_dir().absolute():
        write_line(
            f"With DATA_DIR={folder.absolute()}, commands in other terminals use this service."
        )
    program, *arguments = local_service.command()
    os.execve(program, [program, *arguments], environment)
