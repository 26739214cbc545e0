"""Refuse settings that are allowed one by one, and contradict each other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from chalicelib.core.host_and_port import read_host_and_port
from chalicelib.core.ip_addresses import is_loopback

if TYPE_CHECKING:
    from chalicelib.core.settings import Settings

#: Settings of which each is of no use without the other
_PAIRS = (("smarthost_username", "smarthost_password"), ("relay_certificate", "relay_key"))
_RELAY_PORTS = ("relay_ports", "relay_tls_ports", "relay_inbound_ports")
#: Settings that name files
FILES = ("geoip_database", "relay_certificate", "relay_key")


def refuse(current: Settings) -> None:
    """Raise ``ValueError`` with one line for the operator if settings contradict each other."""
    for conflict in _conflicts(current):
        raise ValueError(conflict)
    if current.oidc_providers:
        # Imported here: most services have none, and a cold start is shorter without it
        from chalicelib.core import identity_providers

        identity_providers.read(current.oidc_providers)


def check_files(current: Settings, names: Iterable[str] = FILES) -> None:
    """Raise ``ValueError`` in the same way if a setting names a file that is not there.

    ``names`` are the settings to check. Only a process that uses the files can tell: whoever
    deploys or administers a service may do so from another machine.
    """
    for name in names:
        path = getattr(current, name)
        if path and not os.path.isfile(path):
            raise ValueError(
                f"{name.upper()}={path!r} is not allowed: it must be a file that exists"
            )


def _conflicts(current: Settings) -> Iterator[str]:
    for pair in _PAIRS:
        for name, other in (pair, reversed(pair)):
            if getattr(current, name) and not getattr(current, other):
                yield f"{name.upper()} is set without {other.upper()}: set both or neither"
    if current.smarthost_username and current.smarthost_tls == "off":
        host, _ = read_host_and_port(current.smarthost, default_port=25)
        if not is_loopback(host):
            yield (
                f"SMARTHOST_TLS='off' is not allowed with SMARTHOST_USERNAME for {host}: "
                "the password would be sent in the clear; it must be required or opportunistic"
            )
    if current.retry_cap < current.retry_base:
        yield (
            f"RETRY_CAP={current.retry_cap:g} is not allowed with RETRY_BASE="
            f"{current.retry_base:g}: it must be at least as long"
        )
    yield from _shared_ports(current)


def _shared_ports(current: Settings) -> Iterator[str]:
    ports = {name: _numbers(getattr(current, name)) for name in _RELAY_PORTS}
    for (name, numbers), (other, others) in combinations(ports.items(), 2):
        for number in numbers & others:
            yield f"{name.upper()} and {other.upper()} both have port {number}: they must differ"


def _numbers(ports: str) -> set[int]:
    return {int(port) for port in ports.split(",") if port.strip()}
