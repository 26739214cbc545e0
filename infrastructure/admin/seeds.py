"""Run the operator's commands about seeds: the addresses that get copies of seeded campaigns."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from chalicelib.accounts.store import accounts
from chalicelib.accounts.store.accounts import UnknownAccount
from chalicelib.core.addresses import is_address
from chalicelib.seeding.store import addresses as seeds
from chalicelib.seeding.store.addresses import MOST_ADDRESSES
from infrastructure.admin.accounts import Refused

#: Adds a command: its name and what runs it
Adding = Callable[..., argparse.ArgumentParser]


def add_commands(command: Adding) -> None:
    """Add the commands about seed addresses to the tool."""
    new = command("set-seeds", set_seeds, of_account=False)
    new.add_argument(
        "addresses",
        nargs="*",
        help="seed addresses; '-' reads them from standard input; none removes the list",
    )
    _add_account(new)
    _add_account(command("list-seeds", list_seeds, of_account=False))


def set_seeds(options: argparse.Namespace) -> None:
    """Set the seed addresses of an account, or of all accounts without a list of their own."""
    _check_account(options.account)
    texts = sys.stdin.read().split() if options.addresses == ["-"] else options.addresses
    addresses = list(dict.fromkeys(text.lower() for text in texts))
    if wrong := [text for text in addresses if not is_address(text)]:
        raise Refused(f"not an address: {', '.join(wrong[:10])}")
    if len(addresses) > MOST_ADDRESSES:
        raise Refused(f"{len(addresses)} addresses are too many: at most {MOST_ADDRESSES}")
    seeds.put(options.account, addresses)
    whose = "all accounts" if options.account is None else f"account {options.account}"
    print(f"{len(addresses)} seed addresses set for {whose}")


def list_seeds(options: argparse.Namespace) -> None:
    """List the seed addresses in use, one a line."""
    _check_account(options.account)
    for address in seeds.of_account(options.account):
        print(address)


def _add_account(command: argparse.ArgumentParser) -> None:
    command.add_argument("--account", type=int, help="number of the account (default: all)")


def _check_account(account_id: int | None) -> None:
    if account_id is not None and accounts.get(account_id) is None:
        raise UnknownAccount(account_id)
