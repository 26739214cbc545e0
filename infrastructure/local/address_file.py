"""Tell this user's other programs where a running service is.

The address is in a file of the data directory. A second file, in the folder of this user's running
services, names that directory: commands find the service without knowing ``DATA_DIR``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from infrastructure.local import certificates
from infrastructure.local.health import ADDRESS_FILE
from infrastructure.local.supervisor.private_files import replace_private

if TYPE_CHECKING:  # production writes these files too, and has nothing else of a local runtime
    from infrastructure.local.supervisor.environment import LocalConfig


def services_folder() -> Path:
    """Return the folder with a file for each running service of this user (``postfinch``)."""
    return platformdirs.user_state_path("postfinch") / "services"


@contextmanager
def address_file(data_dir: Path, address: Mapping[str, object]) -> Iterator[None]:
    """Have both files while the block runs; this process id completes the address."""
    path = data_dir / ADDRESS_FILE
    with ExitStack() as files:
        replace_private(path, json.dumps({**address, "pid": os.getpid()}))
        files.callback(path.unlink, missing_ok=True)
        files.enter_context(_listed(data_dir))
        yield


@contextmanager
def _listed(data_dir: Path) -> Iterator[None]:
    """List the service where its user may write; without a home it is found by its directory."""
    entry = services_folder() / f"{os.getpid()}.txt"
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        replace_private(entry, str(data_dir.absolute()))
    except OSError:
        yield
        return
    try:
        yield
    finally:
        entry.unlink(missing_ok=True)


def address_of(config: LocalConfig) -> dict[str, object]:
    """Return where a local runtime can be reached."""
    return {
        "api_url": config.public_url,
        "api_key": config.api_key,
        "smtp_host": "localhost",
        "smtp_port": config.smtp_port,
        "api_tls_port": config.api_tls_port,
        "smtp_tls_port": config.smtp_tls_port,
        "inbound_port": config.ports.inbound,
        "authority": str(certificates.files(config.data_dir).authority),
    }
