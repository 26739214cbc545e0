"""Run the checks of production on one machine, which are programs of the service's tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from postfinch import local_service, locations
from postfinch.findings import Finding
from postfinch.local_service import LocalService

CONFIG_VARIABLE = "POSTFINCH_CONFIG"
#: ``postfinch serve`` keeps the settings of its last start in this file of its data directory
_SETTINGS_FILE = "settings.json"
_MODULE = "infrastructure.machine.checks"


class ChecksFailed(Exception):
    """The checks ended with this exit status, after they had said why on the error stream."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the checks ended with status {status}")
        self.status = status


def are_for(service: LocalService | None) -> bool:
    """Tell whether this machine is for production: by its service, or else by its files.

    A service that ``postfinch run`` started is for development, whatever files there are.
    """
    if service is not None:
        return service.http_port > 0
    config = os.environ.get(CONFIG_VARIABLE)
    folder = Path(os.environ.get("DATA_DIR") or locations.MACHINE_DATA)
    return bool(config) or _exists(locations.MACHINE_CONFIG) or _exists(folder / _SETTINGS_FILE)


def findings(
    environ: Mapping[str, str], *, with_service: bool, data_dir: Path | None = None
) -> Iterator[Finding]:
    """Yield each finding as soon as it is there; raises :class:`ChecksFailed`.

    ``with_service`` adds the checks of the service that runs. ``data_dir`` is that of a running
    service whose settings do not name it.
    """
    environment = local_service.of_modules(environ)
    if data_dir is not None:
        environment.setdefault("DATA_DIR", str(data_dir))
    command = [sys.executable, "-m", _MODULE, *(["--service"] if with_service else [])]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield Finding(**json.loads(line))
    if process.returncode:
        raise ChecksFailed(process.returncode)


def configure(environ: Mapping[str, str], arguments: list[str]) -> int:
    """Ask on the terminal for what is missing, and write the configuration; return the status."""
    command = [sys.executable, "-m", f"{_MODULE}.configure", *arguments]
    return subprocess.run(command, env=local_service.of_modules(environ), check=False).returncode


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except PermissionError:  # it is in a folder of the service's user
        return True
