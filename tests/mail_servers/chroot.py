"""Run the servers that `install.sh` unpacked, each in a copy of their small system."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_SECONDS = 20.0


def system() -> Path:
    """Return the folder of `install.sh`."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "postfinch" / "mail_servers"


def copy_system(folder: Path, package: str) -> Path:
    """Copy the system into `folder` and return the copy; skips the test if it is not there."""
    if os.geteuid():
        pytest.skip(f"{package} starts only as root")
    if not (system() / "complete").exists():
        pytest.skip(f"{package} is not installed (tests/mail_servers/install.sh)")
    root = folder / "root"
    shutil.copytree(system(), root, symlinks=True)
    root.chmod(0o755)
    return root


@contextmanager
def running(root: Path, command: Sequence[str], ports: Sequence[int]) -> Iterator[None]:
    """Run a server in the foreground until the block ends; starts the block when ports answer."""
    log = root / "tmp" / f"{Path(command[0]).name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["chroot", str(root), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            for port in ports:
                wait_for(port, process, log)
            yield
        finally:
            process.terminate()
            process.wait(10)


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.01)
    raise AssertionError(f"nothing listens on port {port}: {log.read_text()[-2000:]}")
