"""Read what is to be checked: the settings of the next start, and where the service would be."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chalicelib.core import settings as service_settings
from chalicelib.core.settings import Settings
from infrastructure.local.supervisor.cloud_access import aws_environment, read_secret
from infrastructure.local.supervisor.ports import InternalPorts, NotRunning
from infrastructure.machine import config_file, configuration, settings
from infrastructure.machine.settings import MachineSettings

#: Nobody waits longer for one answer of the DNS, in seconds
_DNS_LIMITS = {"DNS_TIMEOUT": "2", "DNS_LIFETIME": "5"}
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Installation:
    """A machine on which the service runs, or is to run; ``path`` is its configuration file."""

    machine: MachineSettings
    service: Settings
    path: Path

    @property
    def data_dir(self) -> Path:
        """The folder of all data, which may not be there yet."""
        return Path(self.machine.data_dir)

    @property
    def host(self) -> str:
        """The address at which this machine reaches its own public ports."""
        return self.machine.listen_address or _LOOPBACK

    @property
    def is_running(self) -> bool:
        """Whether a service has the data folder."""
        try:
            descriptor = os.open(self.data_dir / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False


def read(environ: Mapping[str, str]) -> tuple[Installation, dict[str, str]]:
    """Return the installation and the environment of its service; raises ``ConfigError``.

    A service that was started with settings of another environment, and has no configuration file,
    is checked with the settings of its last start.
    """
    values = {**_DNS_LIMITS, **configuration.read(environ)}
    if not values.get("SYSTEM_DOMAIN"):
        data_dir = Path(values.get("DATA_DIR") or settings.DATA_DIR)
        values = {
            **configuration.stored_settings(data_dir),
            "DATA_DIR": str(data_dir),
            **_DNS_LIMITS,
        }
    machine, service = configuration.load(values)
    return Installation(machine, service, config_file.path_of(environ)), values


def enter(installation: Installation, values: Mapping[str, str]) -> bool:
    """Give this process the settings, and access to what a running service has stored.

    Tell whether there is any: the service must run, and its data belong to this user.
    """
    os.environ.update(values)
    service_settings.settings.cache_clear()
    with suppress(NotRunning, OSError, ValueError):
        url = InternalPorts.of_running(installation.data_dir).cloud_url
        os.environ.update(aws_environment(url, read_secret(installation.data_dir)))
        return True
    return False
