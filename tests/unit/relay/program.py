"""Run a relay without a cloud, for tests of its processes: ``program.py <port> [metrics port]``."""

from __future__ import annotations

import logging
import sys

from chalicelib.core import logs
from relay import processes
from relay.config import RelayConfig
from relay.processes import Listener, MetricsPort
from relay.services import Submission
from tests.unit.relay.fakes import FakeStore

if __name__ == "__main__":
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logs.JsonLines())
    logging.basicConfig(level="INFO", handlers=[handler])
    store = FakeStore()
    config = RelayConfig(ports=(int(sys.argv[1]),), require_tls=False, drain_seconds=1.0)
    metrics_port = MetricsPort("127.0.0.1", int(sys.argv[2])) if len(sys.argv) > 2 else None
    processes.run([Listener(config, Submission(store, store), None)], 2, metrics_port)
