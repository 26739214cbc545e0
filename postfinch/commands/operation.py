"""``postfinch serve``, ``admin`` and ``deploy``: the operator's programs of the service's tree."""

from __future__ import annotations

import os
import sys
from typing import Final

import typer

from postfinch import local_service
from postfinch.commands.options import ConfigOption, DataDirOption, with_folders
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
    config: ConfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Run production on this machine until SIGTERM: API, console, SMTP relay and delivery.

    `postfinch setup` writes the configuration. Settings in the environment win over it.
    """
    environment = with_folders(local_service.of_modules(os.environ), config, data_dir)
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
