"""Run the operator's commands about the users of an account."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from chalicelib.accounts.store import accounts
from chalicelib.core import addresses
from chalicelib.core.errors import ServiceError
from chalicelib.core.settings import settings
from chalicelib.users import invitations, mailed_links
from chalicelib.users.model import INVITED, User
from chalicelib.users.roles import ADMIN, CUSTOM, ROLES
from chalicelib.users.second_factor import without_factors
from chalicelib.users.store import users
from infrastructure.admin.accounts import Refused

AddCommand = Callable[..., argparse.ArgumentParser]
Command = Callable[[argparse.Namespace], None]


def add_commands(command: AddCommand) -> None:
    """Add the commands to the parser."""
    new = _for_address(command, "add-user", add_user)
    new.add_argument(
        "--role",
        choices=[role for role in ROLES if role != CUSTOM],
        default=ADMIN,
        help=f"role of a new user (default: {ADMIN}); an invited user keeps its role",
    )
    new.add_argument("--name", default="", help="name of the user")
    users_of_account = command("list-users", list_users, of_account=False)
    _add_account(users_of_account)
    _for_address(command, "remove-user", remove_user)
    _for_address(command, "reset-second-factor", reset_second_factor)


def add_user(options: argparse.Namespace) -> None:
    """Invite a user, or an invited one again, and print the link of the invitation."""
    if not addresses.is_address(options.email):
        raise Refused(f"not an email address: {options.email}")
    if accounts.get(options.account) is None:
        raise accounts.UnknownAccount(options.account)
    user = users.by_address(options.email)
    try:
        if user is not None and user.account_id == options.account and user.status == INVITED:
            token = invitations.renew(user)
        else:
            user, token = invitations.new_user(
                options.account, options.email, options.role, name=options.name
            )
    except ServiceError as error:
        raise Refused(error.text) from None
    print(mailed_links.url_of(mailed_links.INVITATION, token))
    print(
        f"{user.email} (role {user.role}) opens this link, which works once and for"
        f" {max(1, settings().invitation_lifetime // 3600)} hours, to choose a password."
    )


def list_users(options: argparse.Namespace) -> None:
    """List the users of an account, one a line."""
    for user in users.of_account(options.account):
        place = f"subaccount {user.subaccount_id}" if user.subaccount_id else "primary"
        factor = "second factor" if user.tfa_enabled else "no second factor"
        print(f"{user.id}\t{user.email}\t{user.role}\t{user.status}\t{place}\t{factor}")


def remove_user(options: argparse.Namespace) -> None:
    """Erase a user and end its sessions."""
    user = _user(options)
    try:
        invitations.remove(user)
    except ServiceError as error:
        raise Refused(error.text) from None
    print(f"removed {user.id}")


def reset_second_factor(options: argparse.Namespace) -> None:
    """Remove the second factor of a user who lost it, and end its sessions."""
    user = _user(options)
    users.change(user.id, without_factors)
    print(f"reset {user.id}")


def _user(options: argparse.Namespace) -> User:
    user = users.by_address(options.email)
    if user is None or user.account_id != options.account:
        raise Refused(f"account {options.account} has no user {options.email}")
    return user


def _for_address(command: AddCommand, name: str, run: Command) -> argparse.ArgumentParser:
    parser = command(name, run, of_account=False)
    parser.add_argument("email", help="address of the user")
    _add_account(parser)
    return parser


def _add_account(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--account", type=int, default=1, help="number of the account (default: 1)")
