"""Run the delivery container: ``python -m outbound`` delivers mail until SIGTERM.

It consumes the delivery queues as the function ``delivery`` does on Lambda, with the same code, on
a host that may send to port 25. A process for each core keeps its connections to mail hosts, and
what it has learned of them, from one batch to the next.
"""

from __future__ import annotations

import gc
import importlib
import logging
import sys

from chalicelib.core import aws, domain_names, logs
from chalicelib.core.process_group import ProcessGroup, usable_cores
from chalicelib.core.settings import settings_at_start
from chalicelib.core.shared_places import shared_places
from outbound import health
from outbound.delivery_process import run


def main() -> None:
    """Read the settings and deliver."""
    current = settings_at_start()
    _log_json_lines(current.log_level)
    # Before processes are forked, which then share these
    aws.make_clients()
    domain_names.is_public_suffix("test")
    importlib.import_module("dns.resolver")
    shared_places()
    gc.freeze()
    processes = current.delivery_processes or usable_cores()
    health.expect(processes)
    ProcessGroup("delivery", processes, run).run()


def _log_json_lines(level: str) -> None:
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logs.JsonLines())
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger("botocore").setLevel(logging.WARNING)


if __name__ == "__main__":
    main()
