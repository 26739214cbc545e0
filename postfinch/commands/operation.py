"""``postfinch serve``, ``admin`` and ``deploy``: the operator's programs of the service's tree."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from postfinch import local_service
from postfinch.commands.output import fail
from postfinch.local_service import SeveralServices

#: The tools read all options themselves, ``--help`` as well
PASSED_THROUGH: Final = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}


def admin(context: typer.Context) -> None:
    """Manage accounts, keys, sending IPs, seeds, compliance and dead letters of a stage.

    `postfinch admin --help` lists the commands. With --local they work on the service of this
    machine, else on the stage that STAGE and the AWS variables name.
    """
    _become("infrastructure.admin", context)


def deploy(context: typer.Context) -> None:
    """Deploy a stage to AWS, or update it, with the credentials of the AWS variables.

    `postfinch deploy --help` shows the options; settings are variables of the environment.
    """
    _become("infrastructure.deploy", context)


def serve(
    config: Annotated[
        Path | None,
        typer.Option(
            help="Configuration file.",
            envvar="POSTFINCH_CONFIG",
            show_default="/etc/postfinch/postfinch.toml",
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder of all data.", envvar="DATA_DIR", show_default="/var/lib/postfinch"
        ),
    ] = None,
) -> None:
    """Run production on this machine until SIGTERM: API, console, SMTP relay and delivery.

    `postfinch setup` writes the configuration. Settings in the environment win over it.
    """
    environment = local_service.of_modules(os.environ)
    if config:
        environment["POSTFINCH_CONFIG"] = str(config.absolute())
    if data_dir:
        environment["DATA_DIR"] = str(data_dir.absolute())
    module = "infrastructure.machine.serve"
    os.execve(sys.executable, [sys.executable, "-m", module], environment)


def _become(module: str, context: typer.Context) -> None:
    """Let a module of the service take the place of this process."""
    try:
        folder = local_service.running_folder()
    except SeveralServices as error:
        fail(str(error), 2)
    environment = local_service.environment(os.environ, folder)
    environment["COMMAND_NAME"] = f"postfinch {context.info_name}"
    os.execve(sys.executable, [sys.executable, "-m", module, *context.args], environment)
