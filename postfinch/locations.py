"""Find the service's files, and the folders of this user."""

from __future__ import annotations

import os
import re
from pathlib import Path

import platformdirs

#: The usual places of production on one machine
MACHINE_DATA = Path("/var/lib/postfinch")
MACHINE_CONFIG = Path("/etc/postfinch/postfinch.toml")

_PACKAGE = Path(__file__).resolve().parent
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def service_root() -> Path:
    """Return the folder with the service's tree: in this package, or the checkout around it."""
    installed = _PACKAGE / "service"
    return installed if installed.is_dir() else _PACKAGE.parent


def version() -> str:
    """Return the version of the service, which is that of this package."""
    text = (service_root() / "chalicelib" / "__init__.py").read_text(encoding="utf-8")
    match = _VERSION.search(text)
    return match[1] if match else "unknown"


def data_dir() -> Path:
    """Return the folder with all state of the local service.

    ``DATA_DIR`` names it, else it is a folder of this user; in a checkout that of ``make run``.
    """
    if override := os.environ.get("DATA_DIR"):
        return Path(override)
    root = service_root()
    return platformdirs.user_data_path("postfinch") if root.parent == _PACKAGE else root / ".local"


def services_folder() -> Path:
    """Return the folder in which running services list their data directories."""
    return platformdirs.user_state_path("postfinch") / "services"


def profiles_file() -> Path:
    """Return the file with the profiles of stages."""
    return platformdirs.user_config_path("postfinch") / "profiles.toml"
