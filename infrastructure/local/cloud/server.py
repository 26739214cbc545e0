"""Serve the local cloud: MiniStack on one loopback port, its state kept under one directory.

``python -m infrastructure.local.cloud --port N --data DIR``. The state survives SIGTERM and SIGINT.
After SIGKILL at most the last second or so is lost (see `snapshots`). Objects of the bucket are
files from the moment they are stored. A second cloud on the same directory waits until the first
has ended.

MiniStack serves itself with hypercorn; uvicorn halves the cost of a request. Six modules patch
MiniStack through its private interfaces, so its version is pinned: `snapshots`, `function_code`,
`item_file`, `retention`, `long_polls` and `ordered_indexes`. Each says what it repairs, and
`tests/unit/infrastructure/local/cloud/test_upstream.py` fails once that is repaired upstream.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import gc
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infrastructure.local.cloud.long_polls import AsgiApplication, Receive, Scope, Send
    from infrastructure.local.cloud.snapshots import Snapshots

# Less than the supervisor waits for this process, so that the message below reaches the user.
LOCK_PATIENCE = 45.0

# MiniStack keeps this port in the addresses of queues that it stores, and answers with the port
# that the caller used instead. A constant therefore outlives a change of the real port.
_NOMINAL_PORT = "4566"

_READS = ("Get", "List", "Describe", "Query", "Scan", "BatchGet", "TransactGet", "Receive")
_TRIVIAL_WRITES = ("ChangeMessageVisibility",)


def ministack_environment(data: Path) -> dict[str, str]:
    """Return the environment under which MiniStack must be imported."""
    return {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": _NOMINAL_PORT,
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
        "PERSIST_STATE": "0",
        # Not among the snapshots, which are removed when they are old: MiniStack keeps a key here
        # that it otherwise makes anew at each start
        "STATE_DIR": str(data / "own"),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(data / "objects"),
        "DOCKER_HOST": "unix:///nonexistent",
        # Unpacked archives of deployed functions, which it does not always remove
        "TMPDIR": str(data / "tmp"),
    }


def changes_state(scope: Mapping[str, Any]) -> bool:
    """Tell whether an HTTP request may have changed what a snapshot holds."""
    if scope["type"] != "http":
        return False
    target = dict(scope["headers"]).get(b"x-amz-target", b"").decode("latin-1")
    if not target:
        return scope["method"] not in ("GET", "HEAD", "OPTIONS")
    return not target.rpartition(".")[2].startswith(_READS + _TRIVIAL_WRITES)


def noting_changes(application: AsgiApplication, snapshots: Snapshots) -> AsgiApplication:
    """Tell ``snapshots`` of each request to ``application`` that may have changed the state."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await application(scope, receive, send)
        finally:
            if changes_state(scope):
                snapshots.changed()

    return serve


async def serve(port: int, data: Path, lock: int) -> None:
    """Serve on ``port`` until SIGTERM or SIGINT; then write the last snapshot."""
    import uvicorn
    from ministack.app import app

    from infrastructure.local.cloud import retention
    from infrastructure.local.cloud.item_file import ItemFile, ItemsInFile
    from infrastructure.local.cloud.long_polls import LongPolls, forget_hung_up
    from infrastructure.local.cloud.ordered_indexes import OrderedIndexes
    from infrastructure.local.cloud.request_counts import RequestCounts
    from infrastructure.local.cloud.snapshots import Snapshots

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    items = ItemFile(Path(os.environ["TMPDIR"]))
    snapshots = Snapshots(data / "state", lock, items)
    snapshots.load()
    ItemsInFile(items).install()
    retention.install()
    LongPolls().install()
    OrderedIndexes().install()
    application = noting_changes(forget_hung_up(app), snapshots)
    server = Server(
        uvicorn.Config(
            RequestCounts(application) if os.environ.get("COUNT_REQUESTS") else application,
            host="127.0.0.1",
            port=port,
            loop="asyncio",
            http="httptools",
            lifespan="on",
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=1,
        )
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, _stop, server)
    keepers = asyncio.gather(snapshots.keep(), retention.keep(snapshots.changed))
    await server.serve()
    keepers.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await keepers
    snapshots.take()


def _stop(server: Any) -> None:
    server.should_exit = True


def lock_data(data: Path) -> int:
    """Take the lock on ``data``, waiting for a predecessor that is still ending."""
    data.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(data / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise SystemExit(f"{data} is in use by another local cloud") from None
            time.sleep(0.05)


def main(arguments: list[str] | None = None) -> None:
    """Run the local cloud."""
    parser = argparse.ArgumentParser(description="Serve DynamoDB, SQS, S3 and more on one port.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True, help="directory of the state")
    options = parser.parse_args(arguments)
    lock = lock_data(options.data)
    os.environ.update(ministack_environment(options.data))
    shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
    Path(os.environ["TMPDIR"]).mkdir()
    os.environ.pop("MINISTACK_HOST", None)
    # Python's own limits: a fork of the supervisor has those of the application, and up to thirty
    # megabytes of the cycles that requests leave behind would pile up.
    gc.set_threshold(700, 10, 10)
    # MiniStack then does without Docker; nothing here needs it, and the import takes long.
    sys.modules["docker"] = None  # type: ignore[assignment]
    asyncio.run(serve(options.port, options.data, lock))
    # Do not wait for threads of MiniStack: all that they did is in the last snapshot.
    os._exit(0)
