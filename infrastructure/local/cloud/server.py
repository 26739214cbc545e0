"""Serve the local cloud: MiniStack on one loopback port, its state kept under one directory.

``python -m infrastructure.local.cloud --port N --data DIR``. Only requests that are signed with
``AWS_SECRET_ACCESS_KEY`` are served (see `gatekeeper`). What was answered is stored (see `store`):
it survives every end of the process, SIGKILL included. ``LOCAL_DURABILITY`` tells when it survives
an end of the machine: ``second`` (default), a second later; ``answer``, once it is answered. A
second cloud on the same directory waits until the first has ended. A state that is damaged is left
as it is, and the exit status is 3.

MiniStack serves itself with hypercorn; uvicorn halves the cost of a request. These modules use or
patch private parts of MiniStack, so its version is pinned: `documents`, `expressions`,
`function_code`,
`item_requests`, `queue_requests`, `queues`, `retention`, `steady_time`, `stored_objects`, `tables`
and `wire_protocols`. Each says what it repairs, and
`tests/unit/infrastructure/local/cloud/test_upstream.py` fails once that is repaired upstream.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import gc
import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop

from infrastructure.local.cloud import earlier_state
from infrastructure.local.cloud.store import ARCHIVES, DamagedState, Synchronization
from infrastructure.local.notices import REFUSED

if TYPE_CHECKING:
    from infrastructure.local.cloud.asgi import AsgiApplication

# Less than the supervisor waits for this process, so that the message below reaches the user.
LOCK_PATIENCE = 45.0

# Synchronizing with the disk after each request would take longer than the request
SYNCHRONIZATION_INTERVAL = 1.0

# MiniStack keeps this port in the addresses of queues that it stores, and answers with the port
# that the caller used instead. A constant therefore outlives a change of the real port.
_NOMINAL_PORT = "4566"


def ministack_environment(data: Path) -> dict[str, str]:
    """Return the environment under which MiniStack must be imported."""
    return {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": _NOMINAL_PORT,
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
        "PERSIST_STATE": "0",
        # MiniStack keeps a key here that it otherwise makes anew at each start
        "STATE_DIR": str(data / "own"),
        "DOCKER_HOST": "unix:///nonexistent",
        # Unpacked archives of deployed functions, which it does not always remove
        "TMPDIR": str(data / "tmp"),
        # Seconds for which a process of a function waits for work, beside the first one
        "LAMBDA_WARM_TTL_SECONDS": "60",
    }


async def serve(port: int, data: Path) -> None:
    """Serve on ``port`` until SIGTERM or SIGINT; raises DamagedState before that."""
    # MiniStack would import it, and a hundred services with it, when the stack is first asked for.
    # The supervisor imports what the other processes need meanwhile.
    import ministack.services.cloudformation  # noqa: F401
    import uvicorn
    from ministack.app import app
    from ministack.core import lambda_runtime

    from infrastructure.local.cloud import expressions, retention, steady_time, wire_protocols
    from infrastructure.local.cloud.gatekeeper import Gatekeeper
    from infrastructure.local.cloud.one_write import OneWriteProtocol
    from infrastructure.local.cloud.request_counts import RequestCounts
    from infrastructure.local.cloud.requests import Requests
    from infrastructure.local.cloud.state import State

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    waits = os.environ.get("LOCAL_DURABILITY") == "answer"
    state = State(data, asyncio.get_running_loop(), synchronizes=waits)
    state.restore()
    synchronization = Synchronization(state.store)
    retention.install()
    expressions.install()
    wire_protocols.install()
    clock = steady_time.install()
    requests = Requests(app, state, clock, synchronization if waits else None)
    requests.install()
    application: AsgiApplication = requests
    if os.environ.get("COUNT_REQUESTS"):
        application = RequestCounts(requests, state)
    server = Server(
        uvicorn.Config(
            Gatekeeper(application, os.environ.get("AWS_SECRET_ACCESS_KEY", "")),
            host="127.0.0.1",
            port=port,
            loop="asyncio",
            http=OneWriteProtocol,
            proxy_headers=False,
            ws="none",
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
    keepers = asyncio.gather(
        state.keep(SYNCHRONIZATION_INTERVAL),
        synchronization.keep(SYNCHRONIZATION_INTERVAL),
        retention.keep(state),
    )
    await server.serve()
    lambda_runtime.reset()
    keepers.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await keepers
    state.close()


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
                print(f"{data} is in use by another local cloud", file=sys.stderr, flush=True)
                raise SystemExit(REFUSED) from None
            time.sleep(0.05)


def main(arguments: list[str] | None = None) -> None:
    """Run the local cloud."""
    parser = argparse.ArgumentParser(description="Serve DynamoDB, SQS, S3 and more on one port.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True, help="directory of the state")
    options = parser.parse_args(arguments)
    # MiniStack tells much that nobody needs
    logging.getLogger().setLevel(logging.WARNING)
    # Held until the process ends
    lock_data(options.data)
    os.environ.update(ministack_environment(options.data))
    shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
    Path(os.environ["TMPDIR"]).mkdir()
    os.environ.pop("MINISTACK_HOST", None)
    # Python's own limits: a fork of the supervisor has those of the application, and up to thirty
    # megabytes of the cycles that requests leave behind would pile up.
    gc.set_threshold(700, 10, 10)
    # MiniStack then does without Docker; nothing here needs it, and the import takes long.
    sys.modules["docker"] = None  # type: ignore[assignment]
    status = 0
    try:
        if earlier_state.exists(options.data):
            earlier_state.take_over(options.data, options.data / ARCHIVES)
        # uvloop halves the cost of a request
        uvloop.run(serve(options.port, options.data))
    except DamagedState as damage:
        if os.environ.get("LOG_FORMAT") == "json":
            logging.getLogger(__name__).error("%s", damage)
        else:
            print(damage, file=sys.stderr, flush=True)
        status = REFUSED
    shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
    # Do not wait for threads of MiniStack: all that they did is stored.
    os._exit(status)
