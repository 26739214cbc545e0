"""The caches of this process are cleared together."""

from __future__ import annotations

from functools import cache

import pytest

from chalicelib.core import caches, config_cache, sealing
from chalicelib.core.settings import settings


def test_every_registered_cache_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "_clears", [])
    calls: list[int] = []

    @caches.register
    def clear_cache() -> None:
        calls.append(1)

    @cache
    def answer() -> int:
        return 42

    caches.register(answer.cache_clear)
    answer()
    caches.clear_caches()
    clear_cache()
    assert calls == [1, 1]
    assert answer.cache_info().currsize == 0


def test_modules_register_their_caches_when_they_are_imported() -> None:
    registered = set(caches._clears)
    assert {
        config_cache.clear_cache,
        sealing.master_key.cache_clear,
        settings.cache_clear,
    } <= registered
