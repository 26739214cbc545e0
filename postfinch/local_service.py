"""Start the service on this machine, and find one that runs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from postfinch.locations import service_root

#: The runtime writes this file into its data directory once mail can be sent, and removes it again
ADDRESS_FILE = "service.json"


@dataclass(frozen=True, slots=True)
class LocalService:
    """Where a running service can be reached, and its primary account's key.

    The ports under TLS are 0 where there are none; their certificates are signed by the one in the
    file ``authority``.
    """

    api_url: str
    api_key: str
    smtp_host: str
    smtp_port: int
    api_tls_port: int = 0
    smtp_tls_port: int = 0
    authority: str = ""


def find(data_dir: Path) -> LocalService | None:
    """Return the service that runs on a data directory."""
    try:
        address = json.loads((data_dir / ADDRESS_FILE).read_text())
        os.kill(address.pop("pid"), 0)
    except PermissionError:
        pass  # the process is another user's
    except (OSError, ValueError, KeyError):
        return None
    return LocalService(**address)


def command() -> list[str]:
    """Return the command that runs the service in the foreground."""
    return [sys.executable, "-m", "infrastructure.local.run"]


def environment(caller: Mapping[str, str], data_dir: Path) -> dict[str, str]:
    """Return the environment of :func:`command`: the caller's, with our modules ahead of others."""
    return {
        **caller,
        "DATA_DIR": str(data_dir.absolute()),
        "PYTHONPATH": str(service_root()),
        # A module of the folder in which the command is called must not stand in for one of ours
        "PYTHONSAFEPATH": "1",
    }
