"""The command ``postfinch``: each module of this package adds its commands to the application.

Exit codes: 0 done; 1 the service refused, or what was waited for did not happen; 2 the command line
cannot be understood; 3 no service can be reached.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from postfinch import __version__
from postfinch.commands import (
    backup,
    doctor,
    domains,
    import_account,
    inbound,
    mail,
    mail_import,
    mail_receive,
    mcp,
    metrics,
    move,
    operation,
    profiles,
    run,
    send,
    service,
    setup,
    suppress,
    tail,
    templates,
    validate,
    webhooks,
)
from postfinch.commands.output import fail
from postfinch.http_api import ApiError, Unreachable
from postfinch.profiles import NoProfile

REFUSED, UNREACHABLE = 1, 3

app = typer.Typer(
    name="postfinch",
    help="Run Postfinch on this machine, and use it here or on a stage in the cloud.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run.run)
app.command()(operation.serve)
app.command()(setup.setup)
app.command()(service.service)
app.command()(doctor.doctor)
app.command()(send.send)
app.command()(tail.tail)
mail.app.command()(mail_receive.receive)
mail.app.command("import")(mail_import.import_mail)
app.add_typer(mail.app, name="mail")
app.add_typer(inbound.app, name="inbound")
app.add_typer(suppress.app, name="suppress")
app.command()(validate.validate)
app.command()(metrics.metrics)
app.add_typer(profiles.app, name="profiles")
app.add_typer(templates.app, name="templates")
app.add_typer(domains.app, name="domains")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(import_account.app, name="import")
app.command()(backup.backup)
app.command()(backup.restore)
app.command()(mcp.mcp)
app.command()(move.move)
for tool in (operation.admin, operation.deploy):
    app.command(context_settings=operation.PASSED_THROUGH, add_help_option=False)(tool)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Define the options that come before the name of a command."""


def main() -> None:
    """Run the command of this process's arguments, and end the process.

    Without any, the service runs: ``postfinch`` is all that a newcomer types.
    """
    try:
        app(args=sys.argv[1:] or ["run"], prog_name="postfinch")
    except ApiError as error:
        hint = " Choose its key with --profile or POSTFINCH_API_KEY." if error.status == 401 else ""
        fail(f"{error}{hint}", REFUSED)
    except (Unreachable, NoProfile) as error:
        fail(str(error), UNREACHABLE)
    except BrokenPipeError:  # `postfinch tail | head`: nobody reads any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(REFUSED)
    except KeyboardInterrupt:
        sys.exit(130)
