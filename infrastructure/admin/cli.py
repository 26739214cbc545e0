"""Parse and run the operator's commands: accounts, keys, users, sending IPs, dead letters, more.

``python -m infrastructure.admin --help`` lists them. They work on the deployment that the
environment names: ``STAGE`` and the usual AWS variables. With ``--local`` they work on the service
that runs on this machine under ``DATA_DIR``. Changes take effect within ``KEY_CACHE_SECONDS``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    NoRegionError,
)

from chalicelib.accounts.model import SERVICE_LEVELS, STATUSES
from chalicelib.accounts.store.accounts import UnknownAccount
from chalicelib.core import settings
from infrastructure.admin import accounts as commands
from infrastructure.admin import (
    authorship,
    compliance,
    dead_letters,
    people,
    provider_limits,
    seeds,
    sending_ips,
)
from infrastructure.local.outgoing_mail import OUTWARD
from infrastructure.local.supervisor.cloud_access import aws_environment, read_secret
from infrastructure.local.supervisor.ports import InternalPorts, NotRunning
from infrastructure.machine.configuration import stored_settings

Command = Callable[[argparse.Namespace], None]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog=os.environ.get("COMMAND_NAME") or "python -m infrastructure.admin",
        description="Manage accounts, keys, users, sending IPs, seeds, compliance, dead letters.",
    )
    top.add_argument(
        "--local",
        action="store_true",
        help="work on the service that runs on this machine (DATA_DIR, default .local)",
    )
    subparsers = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run: Command, *, of_account: bool = True) -> argparse.ArgumentParser:
        added = subparsers.add_parser(name, help=run.__doc__, description=run.__doc__)
        added.set_defaults(run=run)
        if of_account:
            added.add_argument("account", type=int, help="number of the account")
        return added

    new = command("create-account", commands.create_account, of_account=False)
    new.add_argument("name", help="name of the company")
    new.add_argument("--country", default="US", help="two letters (default: US)")

    plan = command("set-plan", commands.set_plan)
    for period in ("hourly", "daily", "monthly"):
        plan.add_argument(
            f"--{period}", type=_count, help=f"{period} limit of recipients (default: no limit)"
        )
    plan.add_argument(
        "--service-level", choices=SERVICE_LEVELS, help="service level (default: unchanged)"
    )
    plan.add_argument("--code", default="custom", help="code of the plan (default: custom)")
    plan.add_argument("--name", default="Custom", help="name of the plan (default: Custom)")
    plan.add_argument(
        "--effective", type=_date, help="first day of the plan, such as 2026-01-31 (default: now)"
    )

    status = command("set-status", commands.set_status)
    status.add_argument("status", choices=STATUSES, help="new status")
    status.add_argument("--reason", default="", help="reason category, such as NONPAYMENT")

    cancellation = command("set-cancellation", commands.set_cancellation)
    cancellation.add_argument(
        "--on", type=_date, help="date of the cancellation (default: withdraw the cancellation)"
    )
    cancellation.add_argument("--by", default="operator", help="who asked for the cancellation")

    command("list-accounts", commands.list_accounts, of_account=False)
    command("show", commands.show)

    keys = command("list-keys", commands.list_keys)
    keys.add_argument(
        "--subaccount",
        type=int,
        help="list the keys of this subaccount only; 0: of the primary account",
    )

    key = command("create-key", commands.create_key)
    key.add_argument("--label", default="Made by the operator", help="label of the key")
    key.add_argument("--subaccount", type=int, help="number of the subaccount")
    key.add_argument("--grants", default="", help="comma-separated grants (default: all)")
    key.add_argument(
        "--valid-ips",
        default="",
        help="comma-separated addresses or networks that may use the key (default: any)",
    )
    key.add_argument(
        "--expires-at", type=_date, help="when the key ends, in ISO 8601 (default: never)"
    )

    revoked = command("revoke-key", commands.revoke_key)
    revoked.add_argument("key", help="id of the key, as list-keys shows it")
    people.add_commands(command)
    sending_ips.add_commands(command)
    provider_limits.add_commands(command)
    seeds.add_commands(command)
    compliance.add_commands(command)
    dead_letters.add_commands(command)
    return top


def main(arguments: Sequence[str]) -> int:
    """Run one command; return the status of the process."""
    options = parser().parse_args(arguments)
    try:
        if options.local:
            use_local(Path(os.environ.get("DATA_DIR") or ".local"))
        try:
            settings.settings()
        except ValueError as error:
            print(error, file=sys.stderr)
            return 2
        with authorship.bound(getattr(options, "account", None) or 0, options.command):
            options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # `postfinch admin delivery-queue | head`: nobody reads any more
        # What is left in the buffer must not fail once more at the end of the process
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (commands.Refused, UnknownAccount, NotRunning, BotoCoreError, ClientError) as error:
        is_without_cloud = isinstance(error, NoRegionError | NoCredentialsError)
        hint = " (for the service that runs on this machine: --local)" if is_without_cloud else ""
        print(f"{error}{hint}", file=sys.stderr)
        return 1
    return 0


def use_local(data_dir: Path) -> None:
    """Let this process work on the service of this machine under ``data_dir``.

    It is production if it has stored its settings there. Raises ``NotRunning``.
    """
    url = InternalPorts.of_running(data_dir).cloud_url
    os.environ.update(stored_settings(data_dir) or settings.local_values())
    os.environ.update(aws_environment(url, read_secret(data_dir)))
    for name in OUTWARD:  # the tool sends nothing, and they may contradict the local values
        os.environ.pop(name, None)
    settings.settings.cache_clear()


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number


def _date(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
