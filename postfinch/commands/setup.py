"""``postfinch setup``: configure production on this machine, and say what is left to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from postfinch import machine_checks
from postfinch.commands.findings import show
from postfinch.commands.options import ConfigOption, JsonOption
from postfinch.machine_checks import CONFIG_VARIABLE, ChecksFailed


def setup(
    domain: Annotated[
        str | None, typer.Option(help="The service's own mail domain, such as mail.example.com.")
    ] = None,
    admin_email: Annotated[
        str | None,
        typer.Option(help="Your address, for alarms and for the certificate authority."),
    ] = None,
    transport: Annotated[
        str | None,
        typer.Option(help="How mail leaves: mx (to mail hosts), smtp (by a smarthost) or ses."),
    ] = None,
    smarthost: Annotated[
        str | None, typer.Option(help="Host and port of the smarthost, such as host:587.")
    ] = None,
    smarthost_username: Annotated[
        str | None, typer.Option(help="User name at the smarthost.")
    ] = None,
    smarthost_password: Annotated[
        str | None, typer.Option(help="Password at the smarthost; it is asked if you leave it out.")
    ] = None,
    smarthost_tls: Annotated[
        str | None,
        typer.Option(help="STARTTLS to the smarthost: required, opportunistic or off."),
    ] = None,
    backup_dir: Annotated[Path | None, typer.Option(help="Folder for a backup every day.")] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Folder of all data.", show_default="/var/lib/postfinch"),
    ] = None,
    config: ConfigOption = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing: take the default of what is missing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the configuration of production on this machine, and check what it needs.

    It asks for what is missing, and shows each DNS record to publish beside what is there now. Call
    it again at any time, also while the service runs: it keeps what is configured and says what is
    left. The exit code is 0 if nothing is left, 1 if something is, and 2 if a value cannot be.
    """
    environment = dict(os.environ)
    if config:
        environment[CONFIG_VARIABLE] = str(config.absolute())
    options = {
        "--domain": domain,
        "--admin-email": admin_email,
        "--transport": transport,
        "--smarthost": smarthost,
        "--smarthost-username": smarthost_username,
        "--smarthost-password": smarthost_password,
        "--smarthost-tls": smarthost_tls,
        "--backup-dir": backup_dir.absolute() if backup_dir else None,
        "--data-dir": data_dir.absolute() if data_dir else None,
    }
    arguments = [f"{name}={text}" for name, text in options.items() if text]
    status = machine_checks.configure(environment, [*arguments, *(["--yes"] if yes else [])])
    if status:
        raise typer.Exit(status)
    try:
        is_well = show(machine_checks.findings(environment, with_service=False), as_json=as_json)
    except ChecksFailed as error:
        raise typer.Exit(error.status) from None
    if not is_well:
        raise typer.Exit(1)
