"""Run the local DNS server: ``python -m infrastructure.local.dns --port N``."""

from __future__ import annotations

import argparse
import signal
import threading

from infrastructure.local.dns.records import ServiceRecords
from infrastructure.local.dns.server import DnsServer


def main() -> None:
    """Answer until SIGTERM."""
    parser = argparse.ArgumentParser(description="Answer DNS queries about local domains.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    server = DnsServer(options.host, options.port, ServiceRecords())
    server.start()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
    server.stop()


if __name__ == "__main__":
    main()
