"""Run the local DNS server: ``python -m infrastructure.local.dns --port N --data .local/dns``."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from infrastructure.local.dns.answers import LocalAnswers
from infrastructure.local.dns.records import ServiceRecords
from infrastructure.local.dns.server import DnsServer
from infrastructure.local.dns.zone import LocalZone

_STOPPING = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    """Answer until SIGTERM."""
    parser = argparse.ArgumentParser(description="Answer DNS queries about local domains.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True, help="directory of the user's records")
    options = parser.parse_args()
    answers = LocalAnswers(LocalZone(options.data), ServiceRecords())
    server = DnsServer(options.host, options.port, answers)
    # Blocked before threads exist, so that only the wait below takes the signals.
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
    server.start()
    signal.sigwait(_STOPPING)
    server.stop()


if __name__ == "__main__":
    main()
