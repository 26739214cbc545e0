"""Run a local cloud in a separate process, for tests that stop, kill and restart it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import boto3
from botocore.config import Config

from infrastructure.local.supervisor.probes import answers_http
from tests.cloud_requests import signed_get
from tests.free_ports import free_port

ROOT = Path(__file__).resolve().parents[3]
# Longer than anything takes on a busy machine: only what never happens fails
DEADLINE = 120.0
T = TypeVar("T")


def eventually(condition: Callable[[], T], seconds: float = DEADLINE) -> T:
    """Call ``condition`` until its result is true and return that; fail after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, "it never happened"
        threading.Event().wait(0.01)
    return result


class LocalCloud:
    """The local cloud on the directory ``data``; each start may use another port."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL of the endpoint."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, port: int | None = None, program: str = "", patience: float = DEADLINE) -> None:
        """Start on ``port`` or on a free port, and wait until the cloud responds.

        ``program`` is the text of a program that is run in place of the cloud's own.
        """
        self.port = port or free_port()
        arguments = ("--port", str(self.port), "--data", str(self.data))
        module = ("-c", program) if program else ("-m", "infrastructure.local.cloud")
        self.process = subprocess.Popen(
            [sys.executable, *module, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        eventually(lambda: answers_http(self.port, "/_ministack/health", (200,)), patience)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the process a signal; wait until it ends and return its status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(DEADLINE)

    def close(self) -> None:
        """Kill the process if a test left it running."""
        if self.process is not None and self.process.poll() is None:
            self.stop(signal.SIGKILL)

    def client(self, service: str) -> Any:
        """Return a client of the running cloud, without retries."""
        config = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
        session: Any = boto3.session.Session()
        return session.client(service, endpoint_url=self.url, config=config)

    def get(self, path: str) -> Any:
        """Return the JSON at one of the cloud's own paths."""
        return signed_get(self.url + path, os.environ["AWS_SECRET_ACCESS_KEY"])
