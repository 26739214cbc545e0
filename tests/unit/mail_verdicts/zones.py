"""Answer the look-ups of one message from a zone that the test writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core import cached_dns, caches
from chalicelib.core.dns import LookupFailed

Zone = dict[str, dict[str, list[str]]]
"""Name → type → records."""

FAILING = "fails.test"
"""Names at or below this one get no answer."""


def answer_from(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let all look-ups be answered from a zone, without a cache."""

    def ask(self: cached_dns.Lookups, question: tuple[str, str]) -> tuple[str, ...]:
        name, kind = question
        if name.endswith(FAILING):
            raise LookupFailed(name, "SERVFAIL")
        return tuple(zone.get(name.removesuffix("."), {}).get(kind, ()))

    caches.clear_caches()
    monkeypatch.setattr(cached_dns.Lookups, "_ask", ask)
    yield
    caches.clear_caches()
