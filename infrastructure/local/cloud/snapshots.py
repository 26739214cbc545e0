"""Keep the local cloud's state on disk while it runs, without stopping it.

Repairs (MiniStack 1.5.33): MiniStack writes its state only when it ends in an orderly way, so a
SIGKILL would lose all of it.

Here a forked child writes the state whenever something has changed. The fork is a consistent copy
of every service at one instant and takes milliseconds; the server goes on while the child writes. A
SIGKILL loses what changed since the last fork: about a second, or three times what a snapshot costs
where that is longer.

A snapshot is a directory. ``current`` is a symbolic link to the newest complete one and is replaced
atomically, so a crash at any point leaves a complete state behind. The files are MiniStack's own,
among them the code of deployed functions (see `function_code`).
"""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import logging
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ministack import app as ministack_app
from ministack.core import persistence

from infrastructure.local.cloud import function_code
from infrastructure.local.cloud.item_file import ItemFile, Partition

log = logging.getLogger(__name__)

INTERVAL = 1.0
REST = 3.0
DEADLINE = 60.0
NICENESS = 5
# Down to the partitions of a table an object is encoded key by key, so that no file is ever held
# in memory as one string; below that the encoder written in C takes over.
DEPTH = 7

_LOCKS = (("dynamodb", "_lock"), ("sqs", "_queues_lock"))
_encoder = json.JSONEncoder(default=persistence._json_default)


class Snapshots:
    """The snapshots under ``root``. ``lock`` is the descriptor of the lock on the data.

    The child that writes closes every descriptor but two: sockets that it inherited would stay half
    open. It keeps the lock, so that nobody else opens the data before it has finished, and reads
    the ``items``.
    """

    def __init__(self, root: Path, lock: int, items: ItemFile) -> None:
        self._root = root
        self._items = items
        self._kept_open = sorted((lock, items.descriptor))
        self._changed = asyncio.Event()
        root.mkdir(parents=True, exist_ok=True)

    def changed(self) -> None:
        """Note that the state is no longer what the newest snapshot says."""
        self._changed.set()

    def load(self) -> None:
        """Restore the newest snapshot into MiniStack's services, and remove all others."""
        current = self._root / "current"
        if current.exists():
            persistence.STATE_DIR = str(current)
            persistence.PERSIST_STATE = True
            function_code.read_from(current)
            ministack_app._load_persisted_state()
            persistence.PERSIST_STATE = False
            function_code.restore_lost_code()
        self._remove_all_but(os.readlink(current) if current.is_symlink() else "")

    async def keep(self) -> None:
        """Take a snapshot after each change, resting in between. Runs until cancelled."""
        while True:
            await self._changed.wait()
            if deploying():
                await asyncio.sleep(0.1)
                continue
            self._changed.clear()
            cost = await self._take_in_child()
            await asyncio.sleep(max(INTERVAL, REST * cost))

    def take(self) -> None:
        """Write a snapshot now, in this process, when something changed since the last one."""
        if self._changed.is_set() and not deploying():
            with _with_service_locks():
                self._write(_next_name())

    async def _take_in_child(self) -> float:
        """Fork a child that writes a snapshot; return the processor seconds it took."""
        name = _next_name()
        with _with_service_locks():
            child = os.fork()
            if child == 0:
                self._become_writer(name)
        try:
            with self._items.held():
                status, usage = await _ended(child)
        except asyncio.CancelledError:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            self._changed.set()
            raise
        if status != 0:
            log.error("snapshot %s failed with status %d; the one before it stays", name, status)
            self._changed.set()
        return usage.ru_utime + usage.ru_stime

    def _become_writer(self, name: str) -> None:
        """Write the snapshot and end the process. Never returns, never touches the loop."""
        try:
            os.nice(NICENESS)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            lower, higher = self._kept_open
            os.closerange(3, lower)
            os.closerange(lower + 1, higher)
            os.closerange(higher + 1, 1 << 20)
            gc.disable()
            self._write(name)
        except BaseException:
            os.write(2, traceback.format_exc().encode())
            os._exit(1)
        os._exit(0)

    def _write(self, name: str) -> None:
        directory = self._root / name
        directory.mkdir()
        function_code.keep_in(directory, before=self._root / "current")
        # This process ends after this, or is a forked copy: services need not copy their state.
        copy.deepcopy = _without_copy  # type: ignore[assignment]
        for service, get_state in ministack_app._build_persistence_save_dict().items():
            state = get_state()
            if state is not None:
                _write_service(directory / f"{service}.json", service, state)
        # All files are synchronised together, so that the disk commits once and not fifty times.
        for path in directory.rglob("*"):
            _sync(path)
        _sync(directory)
        link = self._root / "next"
        link.unlink(missing_ok=True)
        link.symlink_to(name)
        link.replace(self._root / "current")
        _sync(self._root)
        self._remove_all_but(name)

    def _remove_all_but(self, name: str) -> None:
        for entry in self._root.iterdir():
            if entry.is_dir() and not entry.is_symlink() and entry.name != name:
                shutil.rmtree(entry, ignore_errors=True)


def deploying() -> bool:
    """Tell whether a CloudFormation stack is being changed.

    A deployment lives in a task that a restart would not resume: it is in a snapshot as a whole or
    not at all.
    """
    cloudformation = sys.modules.get("ministack.services.cloudformation")
    if cloudformation is None:
        return False
    stacks = cloudformation._stacks.all_values()
    return any(stack["StackStatus"].endswith("_IN_PROGRESS") for stack in stacks)


def encoded(value: Any, depth: int) -> Iterator[str]:
    """Yield ``value`` as JSON, in pieces for the upper ``depth`` levels of its objects."""
    if isinstance(value, Partition):
        yield value.json()
        return
    if depth and not isinstance(value, Mapping | list | str | int | float | None):
        value = persistence._json_default(value)
    if not depth or not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        yield _encoder.encode(value)
        return
    separator = "{"
    for key, member in value.items():
        yield f"{separator}{_encoder.encode(key)}:"
        yield from encoded(member, depth - 1)
        separator = ","
    yield "}" if value else "{}"


def _with_service_locks() -> ExitStack:
    """Hold the locks under which MiniStack's threads change what this thread is to copy."""
    locks = ExitStack()
    for service, lock in _LOCKS:
        module = sys.modules.get(f"ministack.services.{service}")
        if module is not None:
            locks.enter_context(getattr(module, lock))
    return locks


def _write_service(path: Path, service: str, state: Any) -> None:
    version = persistence._state_format_version(service)
    with path.open("w") as file:
        file.writelines(encoded({"__ministack_format__": version, "payload": state}, DEPTH))


def _without_copy(value: Any, memo: Any = None) -> Any:
    return value


def _next_name() -> str:
    return f"{time.time_ns():020d}"


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


async def _ended(child: int) -> tuple[int, resource.struct_rusage]:
    """Wait for ``child``; return its wait status and usage. Kill a child that hangs."""
    deadline = time.monotonic() + DEADLINE
    while True:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            return status, usage
        if time.monotonic() > deadline:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        await asyncio.sleep(0.02)
