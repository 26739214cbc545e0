from __future__ import annotations

import pytest

from chalicelib.template_language.cache import SizedCache


class Maker:
    """Makes values and remembers which."""

    def __init__(self, cache: SizedCache[str]) -> None:
        self.cache = cache
        self.keys: list[str] = []

    def get(self, key: str, size: int = 1) -> str:
        def make() -> str:
            self.keys.append(key)
            return key.upper()

        return self.cache.get(key, size, make)


def test_a_value_is_computed_once() -> None:
    maker = Maker(SizedCache(most=2, largest=100))
    assert [maker.get("a"), maker.get("a")] == ["A", "A"]
    assert maker.keys == ["a"]


def test_the_least_recently_used_value_goes_first() -> None:
    maker = Maker(SizedCache(most=2, largest=100))
    for key in "abacab":
        maker.get(key)
    assert maker.keys == ["a", "b", "c", "b"]


def test_large_values_evict_others_and_the_newest_stays() -> None:
    maker = Maker(SizedCache(most=9, largest=10))
    for key, size in (("a", 5), ("b", 5), ("a", 5), ("b", 5), ("c", 50), ("c", 50), ("a", 5)):
        maker.get(key, size)
    assert maker.keys == ["a", "b", "c", "a"]
    maker.get("b", 5)
    maker.get("a", 5)
    assert maker.keys == ["a", "b", "c", "a", "b"]


def test_a_value_computed_twice_at_once_counts_once() -> None:
    cache: SizedCache[str] = SizedCache(most=9, largest=10)
    assert cache.get("a", 5, lambda: cache.get("a", 5, lambda: "inner") + " outer") == "inner outer"
    maker = Maker(cache)
    maker.get("b", 5)
    maker.get("a", 5)
    assert maker.keys == ["b"]


def test_an_exception_of_the_factory_passes_and_caches_nothing() -> None:
    cache: SizedCache[int] = SizedCache(most=1, largest=1)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", 1, lambda: 1 // 0)
    assert cache.get("a", 1, lambda: 2) == 2
