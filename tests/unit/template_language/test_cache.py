from __future__ import annotations

import pytest

from chalicelib.template_language.cache import SizedCache, memory_of


class Maker:
    """Makes values and remembers which."""

    def __init__(self, cache: SizedCache[str]) -> None:
        self.cache = cache
        self.keys: list[str] = []

    def get(self, key: str, size: int = 1) -> str:
        def make() -> str:
            self.keys.append(key)
            return key.upper() * size

        return self.cache.get(key, make)[:1]


def cache(*, most: int = 9, most_bytes: int = 10_000) -> SizedCache[str]:
    return SizedCache(most=most, most_bytes=most_bytes)


def test_a_value_is_computed_once() -> None:
    maker = Maker(cache())
    assert [maker.get("a"), maker.get("a")] == ["A", "A"]
    assert maker.keys == ["a"]


def test_the_least_recently_used_value_goes_first() -> None:
    maker = Maker(cache(most=2))
    for key in "abacab":
        maker.get(key)
    assert maker.keys == ["a", "b", "c", "b"]


def test_large_values_evict_others_and_the_newest_stays() -> None:
    maker = Maker(cache())
    for key, kilobytes in (("a", 4), ("b", 4), ("a", 4), ("b", 4), ("c", 50), ("c", 50), ("a", 4)):
        maker.get(key, 1000 * kilobytes)
    assert maker.keys == ["a", "b", "c", "a"]
    maker.get("b", 4000)
    maker.get("a", 4000)
    assert maker.keys == ["a", "b", "c", "a", "b"]


def test_wide_characters_count_as_the_memory_that_they_take() -> None:
    texts = cache()
    for letter in "abc":
        texts.get(letter, lambda: "\N{SNOWMAN}" * 2000)
    maker = Maker(texts)
    for letter in "bca":
        maker.get(letter)
    assert maker.keys == ["a"]


def test_the_size_of_a_value_may_be_what_the_caller_says() -> None:
    numbers: SizedCache[int] = SizedCache(most=9, most_bytes=1000, size_of=lambda number: number)
    assert [numbers.get("a", lambda: 900), numbers.get("b", lambda: 900)] == [900, 900]
    assert numbers.get("a", lambda: 1) == 1


def test_a_value_computed_twice_at_once_counts_once() -> None:
    texts = cache()
    text = texts.get("a", lambda: texts.get("a", lambda: "inner" * 900) + "outer")
    assert text == "inner" * 900 + "outer"
    maker = Maker(texts)
    maker.get("b", 4000)
    maker.get("a")
    assert maker.keys == ["b"]


def test_an_exception_of_the_factory_passes_and_caches_nothing() -> None:
    numbers: SizedCache[int] = SizedCache(most=1, most_bytes=1)
    with pytest.raises(ZeroDivisionError):
        numbers.get("a", lambda: 1 // 0)
    assert numbers.get("a", lambda: 2) == 2


def test_a_cache_that_was_cleared_has_room_again() -> None:
    maker = Maker(cache())
    maker.get("a", 9000)
    maker.cache.clear()
    for key in "bab":
        maker.get(key, 4000)
    assert maker.keys == ["a", "b", "a"]


def test_the_memory_of_a_value_includes_all_that_it_holds() -> None:
    texts = ["x" * 1000, "y" * 2000, "z" * 3000]
    nested = {"html": texts[0], "headers": {texts[1]: [texts[2], 1, None, True]}}
    assert 6000 < memory_of(nested) < 7500


def test_the_memory_of_deep_values_needs_no_deep_stack() -> None:
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    assert memory_of(value) > 100_000
