"""The operator's tool: accounts, plans and keys. ``python -m infrastructure.admin --help``.

It works on the deployment that the environment names: ``STAGE`` and the usual AWS variables. With
``--local`` it works on the service that runs on this machine under ``DATA_DIR``. What it changes
takes effect within ``KEY_CACHE_SECONDS``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.accounts.model import SERVICE_LEVELS, STATUSES
from chalicelib.accounts.store.accounts import UnknownAccount
from chalicelib.core import settings
from infrastructure.admin import accounts as commands
from infrastructure.admin import seeds, sending_ips
from infrastructure.local.supervisor.environment import InternalPorts, NotRunning

Command = Callable[[argparse.Namespace], None]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="python -m infrastructure.admin", description="Accounts, plans and keys."
    )
    top.add_argument(
        "--local",
        action="store_true",
        help="work on the service that runs on this machine (DATA_DIR, default .local)",
    )
    subparsers = top.add_subparsers(dest="command", required=True)

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
        plan.add_argument(f"--{period}", type=_count, help=f"most recipients, {period}")
    plan.add_argument("--service-level", choices=SERVICE_LEVELS, help="default: as it is")
    plan.add_argument("--code", default="custom", help="code of the plan (default: custom)")
    plan.add_argument("--name", default="Custom", help="name of the plan (default: Custom)")
    plan.add_argument("--effective", type=_date, help="from this date on (default: now)")

    status = command("set-status", commands.set_status)
    status.add_argument("status", choices=STATUSES)
    status.add_argument("--reason", default="", help="category, such as NONPAYMENT")

    cancellation = command("set-cancellation", commands.set_cancellation)
    cancellation.add_argument("--on", type=_date, help="when; left out: it is withdrawn")
    cancellation.add_argument("--by", default="operator", help="who asked for it")

    command("list-accounts", commands.list_accounts, of_account=False)
    command("show", commands.show)

    keys = command("list-keys", commands.list_keys)
    keys.add_argument("--subaccount", type=int, help="of this one only; 0: the primary account's")

    key = command("create-key", commands.create_key)
    key.add_argument("--label", default="Made by the operator")
    key.add_argument("--subaccount", type=int, help="number of the subaccount")
    key.add_argument("--grants", default="", help="with commas between (default: all)")
    key.add_argument("--valid-ips", default="", help="with commas between (default: any)")

    revoked = command("revoke-key", commands.revoke_key)
    revoked.add_argument("key", help="id of the key, as list-keys shows it")
    sending_ips.add_commands(command)
    seeds.add_commands(command)
    return top


def main(arguments: Sequence[str]) -> int:
    """Run one command; return the status of the process."""
    options = parser().parse_args(arguments)
    try:
        if options.local:
            use_local(Path(os.environ.get("DATA_DIR") or ".local"))
        options.run(options)
    except (commands.Refused, UnknownAccount, NotRunning, BotoCoreError, ClientError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def use_local(data_dir: Path) -> None:
    """Let this process work on the local service under ``data_dir``; raises ``NotRunning``."""
    port = InternalPorts.of_running(data_dir).cloud
    os.environ.update(settings.local_values())
    os.environ.update(
        AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}",
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",
        AWS_DEFAULT_REGION="us-east-1",
    )
    settings.settings.cache_clear()


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number


def _date(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
