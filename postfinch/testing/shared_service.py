"""Start one service for a whole test run, whose processes (pytest-xdist) share it.

The first process starts the service, the last one stops it. ``users.json`` in the shared directory
lists the processes that use it; whoever reads or changes the list holds the lock on it.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from postfinch import local_service
from postfinch.local_service import LocalService

#: Seconds until a service must be ready, or must have ended
PATIENCE = 60.0
_PAUSE = 0.02
# Below the ports that systems give to connections, and those that the service chooses itself
_PORTS = (10_000, 20_000)
_choose = random.SystemRandom()  # a test run may seed the other one
# They are the same for every service, and few tests need them: settings may name others
_UNUSED_PORTS = dict.fromkeys(("CATCH_PORT", "MAILPIT_PORT", "POP3_PORT", "IMAP_PORT"), "0")
_INHERITED = {"HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "PYTHONDONTWRITEBYTECODE", "TMPDIR"}


class NotStarted(Exception):
    """The service did not start; the text has the end of what it wrote."""


class SharedService:
    """The service of a test run in ``folder``, which all processes of the run share."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        """``settings`` are those of the service that differ from a local service's usual ones."""
        self._folder = folder
        self._settings = settings
        self._data_dir = folder / "data"
        self._users_file = folder / "users.json"
        # Of the process that started it, for as long as the service is this process's to wait for
        self._started: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def join(self) -> LocalService:
        """Return the service; the first process starts it. Raises :class:`NotStarted`."""
        with self._lock():
            users = self._living_users()
            service = local_service.find(self._data_dir) if users else None
            if service is None:
                service = self._start()
            self._write([*users, os.getpid()])
            return service

    def leave(self) -> None:
        """Stop the service if no other process uses it."""
        with self._lock():
            users = [pid for pid in self._living_users() if pid != os.getpid()]
            self._write(users)
            if not users:
                self._stop()
        if self._started and self._started.poll() is None:
            # Others still use it, and Python would warn of a child that nobody waited for
            self._started.returncode = 0

    def _start(self) -> LocalService:
        shutil.rmtree(self._data_dir, ignore_errors=True)
        # Settings of the tested program, such as SECRET_KEY, are not meant for the service
        caller = {name: os.environ[name] for name in _INHERITED & os.environ.keys()}
        ports = _free_ports() | _UNUSED_PORTS
        environment = local_service.environment(caller | ports, self._data_dir)
        environment |= self._settings
        # Listed for nobody else: commands in other terminals do not mean this service
        environment["XDG_STATE_HOME"] = str(self._folder)
        output = self._folder / "service.log"
        with output.open("wb") as log:
            self._started = process = subprocess.Popen(
                local_service.command(),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the tests, which stop it at their end
            )
        deadline = time.monotonic() + PATIENCE
        while (service := local_service.find(self._data_dir)) is None:
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                process.wait()
                end = output.read_text(errors="replace")[-2000:]
                raise NotStarted(f"Postfinch did not start:\n{end}")
            time.sleep(_PAUSE)
        return service

    def _stop(self) -> None:
        try:
            pid = json.loads((self._data_dir / local_service.ADDRESS_FILE).read_text())["pid"]
            os.kill(pid, signal.SIGINT)
        except (OSError, ValueError):
            return
        deadline = time.monotonic() + PATIENCE
        while not _is_released(self._data_dir / "lock") and time.monotonic() < deadline:
            time.sleep(_PAUSE)
        shutil.rmtree(self._data_dir, ignore_errors=True)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with (self._folder / "users.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _living_users(self) -> list[int]:
        try:
            users = json.loads(self._users_file.read_text())
        except (OSError, ValueError):
            return []
        return [pid for pid in users if _is_living(pid)]

    def _write(self, users: list[int]) -> None:
        self._users_file.write_text(json.dumps(users))


def _free_ports() -> dict[str, str]:
    """Return free ports; all are bound at the same time, so that they differ."""
    with _bound_socket() as api, _bound_socket() as smtp:
        return {
            "API_PORT": str(api.getsockname()[1]),
            "SMTP_PORT": str(smtp.getsockname()[1]),
        }


def _bound_socket() -> socket.socket:
    """Bind a port of those that no connection gets before the service starts."""
    while True:
        bound = socket.socket()
        try:
            bound.bind(("127.0.0.1", _choose.randrange(*_PORTS)))
        except OSError:
            bound.close()
        else:
            return bound


def _is_living(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _is_released(path: Path) -> bool:
    """Tell whether the service has let go of its data directory, as it does at its very end."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True
