"""Try whether this machine may connect to port 25 of mail hosts, which many providers block."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

from chalicelib.core import dns
from infrastructure.machine.checks.finding import OK, PROBLEM, Finding
from infrastructure.machine.checks.installation import Installation
from infrastructure.machine.settings import MX

#: Names another domain than the usual one whose mail host is tried
VARIABLE = "PORT_25_DOMAIN"
_DOMAIN = "gmail.com"
_SECONDS = 5.0


def check_port_25(installation: Installation) -> Iterator[Finding]:
    """Connect to a large mail host and leave; no mail is sent."""
    if installation.service.transport != MX:
        return
    port = installation.service.mx_port
    check = f"Outgoing port {port}"
    hosts = dns.mail_hosts(os.environ.get(VARIABLE) or _DOMAIN)
    addresses = [address for host in hosts[:1] for address in dns.addresses(host)]
    failures: list[str] = []
    for address in addresses:
        try:
            with socket.create_connection((address, port), _SECONDS):
                yield Finding(check, OK, f"{hosts[0]} answers")
                return
        except OSError as error:
            failures.append(f"{address}: {error.strerror or error}")
    remedy = (
        "ask your provider to open it (many do so on request), or let mail leave by a smarthost: "
        "postfinch setup --transport smtp --smarthost HOST:587"
    )
    yield Finding(check, PROBLEM, "; ".join(failures) or "no mail host is known", remedy)
