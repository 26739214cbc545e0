"""Tell the figures of all parts of the machine to Prometheus: ``GET /metrics`` with a token."""

from __future__ import annotations

import hmac
import json
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from infrastructure.local import figures
from infrastructure.local.figures import RequestCounts
from infrastructure.local.gateway.replies import error_body
from infrastructure.local.gateway.request_body import Scope
from infrastructure.machine import processes

_TIMEOUT_SECONDS = 5.0


class MachineFigures:
    """Collects the figures at each request for them.

    ``relay_port`` is where the relay tells its own, and ``more`` yields further families.
    """

    def __init__(
        self,
        token: str,
        data_dir: Path,
        counts: RequestCounts,
        relay_port: int,
        more: Callable[[], Iterator[Any]] = lambda: iter(()),
    ) -> None:
        self._token = token
        self._data_dir = data_dir
        self._counts = counts
        self._relay_port = relay_port
        self._more = more

    def answer(self, scope: Scope) -> tuple[int, str, bytes]:
        """Return the answer to a request: status, media type and body."""
        if not self._token:
            return 404, "application/json", _error("Resource could not be found")
        expected = f"Bearer {self._token}".encode()
        if not hmac.compare_digest(dict(scope["headers"]).get(b"authorization", b""), expected):
            return 401, "application/json", _error("Unauthorized.")
        text, content_type = figures.text_of(self)
        return 200, content_type, text + self._relay_text()

    def collect(self) -> Iterator[Any]:
        """Yield a family for each figure."""
        from prometheus_client.core import GaugeMetricFamily

        yield from figures.of_requests(self._counts)
        yield from figures.of_queues()
        usage = shutil.disk_usage(self._data_dir)
        text = "Bytes of the disk that has the data."
        disk = GaugeMetricFamily("postfinch_disk_bytes", text, labels=["state"])
        disk.add_metric(["used"], usage.total - usage.free)
        disk.add_metric(["free"], usage.free)
        yield disk
        text = "Memory of a process, in bytes, by what it does."
        memory = GaugeMetricFamily("postfinch_process_bytes", text, labels=["process"])
        for name, size in processes.memory(self._data_dir).items():
            memory.add_metric([name], size)
        yield memory
        yield from self._more()

    def _relay_text(self) -> bytes:
        url = f"http://127.0.0.1:{self._relay_port}/metrics"
        try:
            with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response:
                return bytes(response.read())
        except OSError:  # it is being restarted: its figures are missing meanwhile
            return b""


def _error(message: str) -> bytes:
    return json.dumps(error_body(message)).encode()
