"""Start the service on this machine, and find one that runs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from postfinch import locations
from postfinch.locations import service_root

#: The runtime writes this file into its data directory once mail can be sent, and removes it again
ADDRESS_FILE = "service.json"
_THIS_MACHINE = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class LocalService:
    """Where a running service can be reached, and its primary account's key.

    The ports under TLS are 0 where there are none; their certificates are signed by the one in the
    file ``authority``. ``inbound_port`` takes mail that comes in; it is 0 if it is not known. With
    an ``http_port`` it is production on one machine.
    """

    api_url: str
    api_key: str
    smtp_host: str
    smtp_port: int
    api_tls_port: int = 0
    smtp_tls_port: int = 0
    authority: str = ""
    http_port: int = 0
    inbound_port: int = 0


class SeveralServices(Exception):
    """Several services run, and nothing says which one is meant."""

    def __init__(self, folders: Sequence[Path]) -> None:
        names = ", ".join(map(str, folders))
        super().__init__(f"several services run: choose one by DATA_DIR ({names})")


def find(data_dir: Path) -> LocalService | None:
    """Return the service that runs on a data directory."""
    try:
        address = json.loads((data_dir / ADDRESS_FILE).read_text())
        pid = address.pop("pid")
    except (OSError, ValueError, KeyError):
        return None
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass  # the process is another user's
    except OSError:
        return None
    return LocalService(**address)


def running_folder() -> Path:
    """Return the data directory of the running service that commands use.

    It is that of :func:`locations.data_dir`, if it was chosen or if its service runs, else that of
    the only other service of this user, or of production on this machine. Raises
    :class:`SeveralServices` if there are several.
    """
    folder = locations.data_dir()
    if os.environ.get("DATA_DIR") or find(folder):
        return folder
    others = listed()
    if not others and find(locations.MACHINE_DATA):
        return locations.MACHINE_DATA
    if len(others) > 1:
        raise SeveralServices(sorted(others))
    return next(iter(others), folder)


def listed() -> dict[Path, LocalService]:
    """Return the running services that this user started, by data directory."""
    services: dict[Path, LocalService] = {}
    entries: list[Path] = []
    with suppress(PermissionError):  # with HOME of another user
        entries = list(locations.services_folder().glob("*.txt"))
    for entry in entries:
        with suppress(OSError):  # a service stops at this moment
            folder = Path(entry.read_text(encoding="utf-8"))
            if service := find(folder):
                services[folder] = service
    return services


def at(url: str) -> LocalService | None:
    """Return the service of this user that runs at an address of this machine."""
    parts = urlsplit(url)
    if parts.hostname not in _THIS_MACHINE:
        return None
    services = (find(locations.data_dir()), *listed().values())
    return next((each for each in services if each and _port(each) == parts.port), None)


def _port(service: LocalService) -> int | None:
    return urlsplit(service.api_url).port


def command() -> list[str]:
    """Return the command that runs the service in the foreground."""
    return [sys.executable, "-m", "infrastructure.local.run"]


def environment(caller: Mapping[str, str], data_dir: Path) -> dict[str, str]:
    """Return the environment of :func:`command`: the caller's, with our modules ahead of others."""
    return {**of_modules(caller), "DATA_DIR": str(data_dir.absolute())}


def of_modules(caller: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's environment for a module of the service, ahead of others of its name."""
    return {
        **caller,
        "PYTHONPATH": str(service_root()),
        # A module of the folder in which the command is called must not stand in for one of ours
        "PYTHONSAFEPATH": "1",
    }
