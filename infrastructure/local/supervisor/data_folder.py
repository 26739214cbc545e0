"""Open the folder of a runtime's state: take it, and read or make the keys in it."""

from __future__ import annotations

import base64
import fcntl
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from infrastructure.local.supervisor.private_files import replace_private

_SECRET_BYTES = 32


class ConfigError(ValueError):
    """The runtime cannot start with this environment; the message is one line for the user."""


def open_folder(text: str) -> Path:
    """Return the folder that ``DATA_DIR`` names, made if need be; raises :class:`ConfigError`."""
    path = Path(text).expanduser().resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"DATA_DIR={text!r} cannot be made: {error.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ConfigError(f"DATA_DIR={text!r} cannot be written to")
    return path


def take(data_dir: Path) -> int:
    """Take the folder for this process; return the descriptor that holds it as long as it is open.

    Raises :class:`ConfigError` if another instance has it.
    """
    descriptor = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode() or "unknown"
        os.close(descriptor)
        raise ConfigError(
            f"{data_dir} is in use by another running instance (process {holder}): "
            "stop it, or set DATA_DIR to another directory"
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def checked_api_key(environ: Mapping[str, str]) -> str:
    """Return ``API_KEY``, empty if it is not set; raises :class:`ConfigError`."""
    key = environ.get("API_KEY", "")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ConfigError("API_KEY must be printable ASCII without spaces")
    return key


def stored_api_key(path: Path) -> str:
    """Return the key of the first account, which the first start makes."""
    key = kept(path, lambda: secrets.token_hex(20))
    if not key:
        raise ConfigError(f"{path} is empty: remove it, and the next start makes another key")
    return key


def stored_secret_key(path: Path) -> str:
    """Return ``SECRET_KEY`` of this folder, which the first start makes."""
    key = kept(path, lambda: base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode())
    try:
        is_complete = len(base64.b64decode(key, validate=True)) == _SECRET_BYTES
    except ValueError:
        is_complete = False
    if not is_complete:
        raise ConfigError(
            f"{path} is damaged: restore it from a copy, because what is stored is encrypted with "
            f"it, or move {path.parent} away to start without what is stored there"
        )
    return key


def kept(path: Path, make: Callable[[], str]) -> str:
    """Return the text of ``path``, made and stored for the owner's eyes only when missing."""
    if not path.exists():
        replace_private(path, make())
    return path.read_text(errors="replace").strip()
