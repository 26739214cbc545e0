"""Run the operator's commands about the sending IPs of an account."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from chalicelib.accounts.store import accounts
from chalicelib.accounts.store.accounts import UnknownAccount
from chalicelib.fleet import sending_ips
from chalicelib.fleet.model import DEFAULT, SendingIp
from chalicelib.fleet.sending_ips import Unsuitable
from chalicelib.fleet.store import IpTaken
from infrastructure.admin import container_queues
from infrastructure.admin.accounts import Refused

#: Adds a command of an account: its name and what runs it
Adding = Callable[..., argparse.ArgumentParser]


def add_commands(command: Adding) -> None:
    """Add the commands about sending IPs to the tool."""
    new = command("add-sending-ip", add_sending_ip)
    new.add_argument("ip", help="address that receiving hosts see")
    new.add_argument("hostname", help="DNS name of the IP, used in EHLO")
    new.add_argument("--pool", default=DEFAULT, help=f"id of its pool (default: {DEFAULT})")
    new.add_argument("--source-address", default="", help="local address to send from")
    new.add_argument(
        "--smarthost", default="", help="host:port of a smarthost that sends from this IP"
    )
    new.add_argument("--ses-pool", default="", help="SES configuration set that sends from this IP")
    new.add_argument(
        "--container",
        default="",
        help="the delivery container (DELIVERY_CONTAINER) whose host has the source address",
    )
    new.add_argument(
        "--customer-provided", action="store_true", help="the IP belongs to the customer"
    )
    new.add_argument(
        "--auto-warmup",
        action="store_true",
        help="the IP is new: raise its daily volume step by step",
    )

    removal = command("remove-sending-ip", remove_sending_ip)
    removal.add_argument("ip", help="address that receiving hosts see")

    command("list-sending-ips", list_sending_ips)


def add_sending_ip(options: argparse.Namespace) -> None:
    """Give an account a sending IP."""
    if accounts.get(options.account) is None:
        raise UnknownAccount(options.account)
    ip = SendingIp(
        options.ip,
        options.hostname,
        ip_pool=options.pool,
        customer_provided=options.customer_provided,
        source_address=options.source_address,
        smarthost=options.smarthost,
        ses_pool=options.ses_pool,
        container=options.container,
        auto_warmup_enabled=options.auto_warmup,
    )
    try:
        ip = sending_ips.checked(options.account, ip)
        # Queues first: mail for an IP without them would have nowhere to go
        if ip.container:
            container_queues.create(ip.container)
        _print(sending_ips.add(options.account, ip))
    except (Unsuitable, IpTaken) as error:
        raise Refused(str(error)) from None


def remove_sending_ip(options: argparse.Namespace) -> None:
    """Take a sending IP from an account."""
    try:
        is_removed = sending_ips.remove(options.account, options.ip)
    except Unsuitable as error:
        raise Refused(str(error)) from None
    if not is_removed:
        raise Refused(f"account {options.account} has no sending IP {options.ip}")
    print(f"removed {options.ip}")


def list_sending_ips(options: argparse.Namespace) -> None:
    """List the sending IPs of an account, one a line."""
    for ip in sending_ips.of_account(options.account):
        _print(ip)


def _print(ip: SendingIp) -> None:
    stage = f"warm-up stage {ip.auto_warmup_stage}" if ip.auto_warmup_enabled else "no warm-up"
    way = ip.smarthost or ip.ses_pool or ip.source_address or "this host"
    if ip.container:
        way += f" of container {ip.container}"
    print(f"{ip.external_ip}\t{ip.hostname}\t{ip.ip_pool}\t{stage}\tby {way}")
