"""Run the operator's commands about accounts, plans and keys."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chalicelib.accounts.model import Account, Cancellation
from chalicelib.accounts.plan import Plan, self_hosted_plan
from chalicelib.accounts.store import accounts, usage
from chalicelib.accounts.view import account_view, usage_view
from chalicelib.api_keys import model as key_model
from chalicelib.api_keys import store as api_keys
from chalicelib.api_keys.grants import supported
from chalicelib.api_keys.source_ips import is_network
from chalicelib.core import audit, clock
from chalicelib.core.scope import Scope
from chalicelib.subaccounts import store as subaccounts
from infrastructure.admin import authorship


class Refused(Exception):
    """The command cannot be done; the text says why."""


def create_account(options: argparse.Namespace) -> None:
    """Create an account and its first key."""
    now = clock.now()
    account = Account(
        customer_id=accounts.draw_id(),
        company_name=options.name,
        created=now,
        updated=now,
        country_code=options.country,
        subscription=self_hosted_plan(now),
    )
    while not _create(account, options.command):
        account = replace(account, customer_id=accounts.draw_id())
    print(f"account {account.customer_id}")
    with authorship.bound(account.customer_id, options.command):
        _create_key(account.customer_id, None, "First key", supported(None), [])


def set_plan(options: argparse.Namespace) -> None:
    """Put an account on a plan."""
    now = clock.now()
    plan = Plan(
        options.code,
        options.name,
        options.effective or now,
        type="manual",
        hourly=options.hourly,
        daily=options.daily,
        monthly=options.monthly,
    )

    def edit(account: Account) -> Account:
        level = options.service_level or account.service_level
        if plan.effective > now:
            return replace(account, service_level=level, pending_subscription=plan)
        return replace(account, service_level=level, subscription=plan, pending_subscription=None)

    changed = accounts.change(options.account, edit)
    usage.gather(options.account)
    _print_json(account_view(changed))


def set_status(options: argparse.Namespace) -> None:
    """Make an account active, suspended or terminated."""

    def edit(account: Account) -> Account:
        return replace(
            account,
            status=options.status,
            status_reason_category=options.reason,
            status_updated=clock.now(),
        )

    _print_json(account_view(accounts.change(options.account, edit)))


def set_cancellation(options: argparse.Namespace) -> None:
    """Schedule the cancellation of an account, or withdraw it."""
    cancellation = Cancellation(clock.now(), options.on, options.by) if options.on else None
    changed = accounts.change(
        options.account, lambda account: replace(account, pending_cancellation=cancellation)
    )
    _print_json(account_view(changed))


def list_accounts(options: argparse.Namespace) -> None:
    """List the accounts, one a line."""
    for account in accounts.all_accounts():
        print(
            f"{account.customer_id}\t{account.status}\t{account.service_level}"
            f"\t{account.company_name}"
        )


def show(options: argparse.Namespace) -> None:
    """Show an account and its usage."""
    account = _account(options.account)
    _print_json(account_view(account) | {"usage": usage_view(account)})


def list_keys(options: argparse.Namespace) -> None:
    """List the keys of an account with their ends and last uses, one a line."""
    for key in api_keys.in_scope(Scope(options.account, options.subaccount)):
        owner = f"subaccount {key.subaccount_id}" if key.subaccount_id else "primary"
        end = "no end" if key.expires_ms is None else f"ends {clock.iso_ms(key.expires_ms)}"
        use = f"used {clock.iso_offset(key.last_used)}" if key.last_used else "never used"
        print(f"{key.id}\t{key.short_key}…\t{owner}\t{key.label}\t{end}\t{use}")


def create_key(options: argparse.Namespace) -> None:
    """Create a key for an account or for one of its subaccounts."""
    _account(options.account)
    if options.subaccount and subaccounts.get(options.account, options.subaccount) is None:
        raise Refused(f"account {options.account} has no subaccount {options.subaccount}")
    allowed = supported(options.subaccount)
    grants = frozenset(_listed(options.grants)) or allowed
    if unsupported := sorted(grants - allowed):
        raise Refused(f"such a key cannot have these grants: {', '.join(unsupported)}")
    addresses = _listed(options.valid_ips)
    if wrong := [text for text in addresses if not is_network(text)]:
        raise Refused(f"not an address or a network: {', '.join(wrong)}")
    if options.expires_at is not None and options.expires_at <= clock.now():
        raise Refused("the end of a key must be in the future")
    expires_ms = None if options.expires_at is None else round(options.expires_at * 1000)
    _create_key(options.account, options.subaccount, options.label, grants, addresses, expires_ms)


def revoke_key(options: argparse.Namespace) -> None:
    """Delete a key."""
    key = api_keys.find(Scope(options.account, None), options.key)
    if key is None:
        raise Refused(f"account {options.account} has no key {options.key}")
    api_keys.delete(key)
    print(f"revoked {key.id}")


def _create(account: Account, command: str) -> bool:
    with authorship.bound(account.customer_id, command):
        return accounts.create(account)


def _create_key(
    account_id: int,
    subaccount_id: int | None,
    label: str,
    grants: frozenset[str],
    valid_ips: Sequence[str],
    expires_ms: int | None = None,
) -> None:
    secret = key_model.draw_key()
    key = key_model.new_key(
        secret,
        account_id,
        label,
        grants,
        subaccount_id=subaccount_id or None,
        valid_ips=valid_ips,
        expires_ms=expires_ms,
        created_by=audit.actor(),
    )
    api_keys.put(key)
    print(f"key {secret}\nkey id {key.id}")


def _account(account_id: int) -> Account:
    account = accounts.get(account_id)
    if account is None:
        raise accounts.UnknownAccount(account_id)
    return account.at(clock.now())


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _print_json(fields: dict[str, Any]) -> None:
    print(json.dumps(fields, indent=2))
