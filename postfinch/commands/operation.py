"""``postfinch admin`` and ``postfinch deploy``: the operator's tools of the service's tree."""

from __future__ import annotations

import os
import sys
from typing import Final

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


def _become(module: str, context: typer.Context) -> None:
    """Let a module of the service take the place of this process."""
    try:
        folder = local_service.running_folder()
    except SeveralServices as error:
        fail(str(error), 2)
    environment = local_service.environment(os.environ, folder)
    environment["COMMAND_NAME"] = f"postfinch {context.info_name}"
    os.execve(sys.executable, [sys.executable, "-m", module, *context.args], environment)
