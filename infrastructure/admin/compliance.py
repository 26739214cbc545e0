"""Run the operator's commands that stop senders: blocked domain names, suspended subaccounts."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace

from chalicelib.compliance import service
from chalicelib.compliance.service import AffectedDomains, NotBlocked
from chalicelib.core.domain_names import BadName
from chalicelib.domain_claims import store as claims
from chalicelib.subaccounts import store as subaccounts
from chalicelib.subaccounts.model import STATUSES
from chalicelib.subaccounts.view import subaccount_view
from infrastructure.admin.accounts import Refused

#: Adds a command of an account: its name and what runs it
Adding = Callable[..., argparse.ArgumentParser]


def add_commands(command: Adding) -> None:
    """Add the commands of compliance to the tool."""
    for name, run in (("block-domain", block_domain), ("unblock-domain", unblock_domain)):
        command(name, run, of_account=False).add_argument("domain", help="domain name")
    command("list-blocked-domains", list_blocked_domains, of_account=False)
    status = command("set-subaccount-compliance", set_subaccount_compliance)
    status.add_argument("subaccount", type=int, help="number of the subaccount")
    status.add_argument("status", choices=STATUSES, help="new compliance status")


def block_domain(options: argparse.Namespace) -> None:
    """Block a domain name and all names below it; show the registered domains that this stops."""
    _print(_of_name(service.block, options.domain), f"blocked {options.domain}")


def unblock_domain(options: argparse.Namespace) -> None:
    """Lift the block of a domain name; show the registered domains that this frees."""
    _print(_of_name(service.unblock, options.domain), f"unblocked {options.domain}")


def list_blocked_domains(options: argparse.Namespace) -> None:
    """List the blocked domain names, one a line."""
    for name in claims.blocked_names():
        print(name)


def set_subaccount_compliance(options: argparse.Namespace) -> None:
    """Let a subaccount send, or keep it from sending; the account cannot change this."""
    subaccount = subaccounts.change(
        options.account,
        options.subaccount,
        lambda before: replace(before, compliance_status=options.status),
    )
    if subaccount is None:
        raise Refused(f"account {options.account} has no subaccount {options.subaccount}")
    print(json.dumps(subaccount_view(subaccount), indent=2))


def _of_name(change: Callable[[str], AffectedDomains], text: str) -> AffectedDomains:
    try:
        return change(text)
    except BadName as error:
        raise Refused(f"'{text}' is not a domain name: {error}") from None
    except NotBlocked as error:
        raise Refused(f"{error} is not blocked itself; see list-blocked-domains") from None


def _print(domains: AffectedDomains, change: str) -> None:
    print(change)
    for name in domains.sending:
        print(f"sending domain {name}")
    for name in domains.tracking:
        print(f"tracking domain {name}")
    for name in domains.inbound:
        print(f"inbound domain {name}")
