"""Greylist for Postfix: refuse the first attempt of a sender, recipient and client for a while.

It speaks Postfix's policy protocol (SMTPD_POLICY_README): lines `name=value`, an empty line, and
the answer `action=...`. Its clock is `now`, which a test sets.
"""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

DELAY = 300.0


class Greylist(socketserver.ThreadingTCPServer):
    """The policy service, on a free port."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.port: int = self.server_address[1]
        self.now = 0.0
        self.first_attempts: dict[tuple[str, ...], float] = {}

    def action(self, attributes: dict[str, str]) -> str:
        """Return what Postfix is to do with a recipient."""
        key = tuple(attributes[name] for name in ("client_address", "sender", "recipient"))
        if self.now - self.first_attempts.setdefault(key, self.now) >= DELAY:
            return "dunno"
        return f"450 4.2.0 Greylisted, try again in {DELAY:.0f} seconds"


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        attributes: dict[str, str] = {}
        for line in self.rfile:
            name, equals, value = line.decode().rstrip("\n").partition("=")
            if equals:
                attributes[name] = value
                continue
            assert isinstance(self.server, Greylist)
            self.wfile.write(f"action={self.server.action(attributes)}\n\n".encode())
            attributes = {}


@contextmanager
def greylist() -> Iterator[Greylist]:
    """Run the policy service."""
    with Greylist() as service:
        thread = threading.Thread(target=service.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()
