"""Check that the service can have its public ports, or has them."""

from __future__ import annotations

import errno
import socket
from collections.abc import Collection, Iterator
from contextlib import closing, suppress

from infrastructure.machine import configuration, listening, settings
from infrastructure.machine.checks.finding import OK, PROBLEM, Finding
from infrastructure.machine.checks.installation import Installation

_SECONDS = 2.0


def check_ports(installation: Installation) -> Iterator[Finding]:
    """Check each port of the settings; 0 is none."""
    own_ports = _ports_of_service(installation)
    for name, port in configuration.public_ports(installation.machine).items():
        if port:
            yield _check(installation, name, port, has_it=port in own_ports)


def _ports_of_service(installation: Installation) -> Collection[int]:
    """Return the ports of the service that runs; none if none does, or another user's."""
    if not installation.is_running:
        return ()
    with suppress(OSError):
        values = configuration.stored_settings(installation.data_dir)
        return configuration.public_ports(settings.load(values)).values()
    return ()


def _check(installation: Installation, name: str, port: int, *, has_it: bool) -> Finding:
    check = f"Port {port}"
    address = installation.machine.listen_address
    try:
        with closing(listening.bind(address, port)):
            return Finding(check, OK, f"free ({name})")
    except OSError as error:
        refusal = listening.refusal(name, address, port, error)
        if error.errno in (errno.EADDRINUSE, errno.EACCES) and has_it:
            return Finding(check, OK, f"the service has it ({name})")
        if error.errno == errno.EACCES and not _answers(installation.host, port):
            text = f"free ({name}); the unit of `postfinch service` may bind it"
            return Finding(check, OK, text)
    what, _, remedy = refusal.partition("; ")
    return Finding(check, PROBLEM, what, remedy)


def _answers(host: str, port: int) -> bool:
    with suppress(OSError):
        socket.create_connection((host, port), _SECONDS).close()
        return True
    return False
