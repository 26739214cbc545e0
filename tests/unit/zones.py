"""Run a DNS server whose records each test sets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from chalicelib.core.settings import settings
from infrastructure.local.dns.resolver import Records
from infrastructure.local.dns.server import DnsServer


class Zone:
    """Records of any name.

    A name in ``failing`` gets SERVFAIL; ``queries`` lists the names that were looked up.
    """

    def __init__(self) -> None:
        self.records: dict[str, list[tuple[str, str]]] = {}
        self.failing: set[str] = set()
        self.queries: list[str] = []

    def forget(self) -> None:
        """Remove all records, failures and noted queries."""
        self.records.clear()
        self.failing.clear()
        self.queries.clear()

    def set(self, name: str, *records: tuple[str, str]) -> None:
        """Let ``name`` have these records, and no others."""
        self.records[name.lower()] = list(records)

    def clear(self, name: str) -> None:
        """Let ``name`` not exist."""
        self.records.pop(name.lower(), None)

    def lookup(self, name: str) -> Records | None:
        """Answer the server."""
        self.queries.append(name)
        if name in self.failing:
            raise ConnectionError(name)
        return self.records.get(name)


@cache
def _served() -> tuple[Zone, int]:
    """Start one server for all tests: starting and stopping takes longer than most of them."""
    zone = Zone()
    server = DnsServer("127.0.0.1", 0, zone)
    server.start()
    return zone, server.port


def served_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    """Let the resolver of this process ask an empty zone."""
    zone, port = _served()
    zone.forget()
    monkeypatch.setenv("DNS_SERVERS", f"127.0.0.1:{port}")
    monkeypatch.setenv("DNS_LIFETIME", "2")
    settings.cache_clear()
    yield zone
    settings.cache_clear()
