"""Run the operator's commands about limits of mailbox providers, and about what waits for them."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, fields, replace

from chalicelib.core.domain_names import BadName, canonical
from chalicelib.delivery.shaping import queue_page, store
from chalicelib.delivery.shaping.limits import limits_of
from chalicelib.delivery.shaping.providers import Limits, providers
from infrastructure.admin.accounts import Refused
from infrastructure.admin.sending_ips import Adding

_MOST = 1_000_000
_LEAST_RATE = 0.001


def add_commands(command: Adding) -> None:
    """Add the commands about providers to the tool."""
    change = command("set-provider-limits", set_provider_limits, of_account=False)
    change.add_argument("group", help="the provider, as list-provider-limits or the queue names it")
    change.add_argument("--connections", type=int, help="connections from one source address")
    change.add_argument("--messages-per-connection", type=int)
    change.add_argument("--per-second", type=float, help="messages a second; 0: no limit")
    change.add_argument("--per-minute", type=float, help="messages a minute; 0: no limit")
    change.add_argument(
        "--shared",
        dest="is_shared",
        action=argparse.BooleanOptionalAction,
        help="whether the rates count for all source addresses together (default: for each)",
    )
    removal = command("remove-provider-limits", remove_provider_limits, of_account=False)
    removal.add_argument("group")
    command("list-provider-limits", list_provider_limits, of_account=False)
    command("delivery-queue", show_delivery_queue, of_account=False)


def set_provider_limits(options: argparse.Namespace) -> None:
    """Set limits of a provider; those that are not named stay as they are."""
    group = _group(options.group)
    changed = {
        field.name: value
        for field in fields(Limits)
        if (value := getattr(options, field.name)) is not None
    }
    if not changed:
        raise Refused("name at least one limit")
    for name, value in changed.items():
        least = 0 if name in ("per_second", "per_minute", "is_shared") else 1
        option = f"--{name.replace('_', '-')}"
        if not value >= least:
            raise Refused(f"{option} must be {least} or more, not {value:g}")
        if value > _MOST or 0 < value < _LEAST_RATE:
            raise Refused(f"{option} must be from {_LEAST_RATE:g} to {_MOST:,}, not {value:g}")

    def edit(before: dict[str, Limits]) -> dict[str, Limits]:
        limits = before.get(group) or limits_of(group)
        return before | {group: replace(limits, **changed)}

    print(json.dumps({group: asdict(store.change_overrides(edit)[group])}))


def _group(name: str) -> str:
    try:
        return canonical(name)
    except BadName:
        raise Refused(f"{name[:80]!r} is no domain, as the names of groups are") from None


def remove_provider_limits(options: argparse.Namespace) -> None:
    """Return to the limits that are built in."""
    group = options.group.lower()
    if group not in store.cached_overrides():
        raise Refused(f"no limits are set for {group}")
    store.change_overrides(
        lambda before: {name: limits for name, limits in before.items() if name != group}
    )
    print(f"removed the limits of {group}")


def list_provider_limits(options: argparse.Namespace) -> None:
    """List the limits of all providers as JSON, one a line; those that the operator set win."""
    overrides = store.cached_overrides()
    for group in sorted({*providers().limits, *overrides}):
        limits = asdict(limits_of(group))
        print(json.dumps({"group": group, **limits, "is_set": group in overrides}))


def show_delivery_queue(options: argparse.Namespace) -> None:
    """Show what waits for the limits of providers, of all accounts, as JSON, one a line."""
    for entry in queue_page.entries():
        print(json.dumps(entry))
