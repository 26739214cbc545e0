"""What one message needs is looked up once, side by side, and remembered for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import cached_dns, caches
from chalicelib.core.cached_dns import Lookups
from chalicelib.core.dns import LookupFailed
from infrastructure.local.dns.resolver import TTL_SECONDS
from tests.unit.zones import Zone, served_zone


@pytest.fixture(autouse=True)
def _clear() -> Iterator[None]:
    caches.clear_caches()
    yield
    caches.clear_caches()


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    yield from served_zone(monkeypatch)


def test_values_are_plain_and_mail_hosts_in_their_order(zone: Zone) -> None:
    zone.set("a.test", ("A", "192.0.2.1"), ("AAAA", "2001:db8::1"), ("TXT", "hello"))
    zone.set("m.test", ("MX", "20 b.test"), ("MX", "10 A.test"))
    zone.set("1.2.0.192.in-addr.arpa", ("PTR", "A.test"))
    lookups = Lookups(5)
    assert lookups.values("A.test", "A") == ("192.0.2.1",)
    assert lookups.values("a.test.", "AAAA") == ("2001:db8::1",)
    assert lookups.texts("a.test") == ["hello"]
    assert lookups.values("m.test", "MX") == ("a.test", "b.test")
    assert lookups.host_names("192.0.2.1") == ("a.test",)


def test_an_answer_is_kept_for_its_ttl_but_not_for_longer_than_the_bound(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 1000.0
    monkeypatch.setattr(cached_dns.time, "monotonic", lambda: seconds)
    zone.set("a.test", ("TXT", "old"))
    assert Lookups(5).texts("a.test") == ["old"]
    zone.set("a.test", ("TXT", "new"))
    assert Lookups(5).texts("a.test") == ["old"]
    assert Lookups(5, is_fresh=True).texts("a.test") == ["new"]
    seconds += TTL_SECONDS
    assert Lookups(5).texts("a.test") == ["new"]
    answers = cached_dns._Answers()
    answers.put(("b.test", "TXT"), ("kept",), 86_400)
    seconds += cached_dns.LONGEST_SECONDS - 1
    assert answers.get(("b.test", "TXT")) == ("kept",)
    seconds += 1
    assert answers.get(("b.test", "TXT")) is None


def test_failures_are_not_kept_but_asked_once_for_a_message(zone: Zone) -> None:
    zone.failing.add("a.test")
    lookups = Lookups(5)
    for _ in range(2):
        with pytest.raises(LookupFailed):
            lookups.texts("a.test")
    queries = len(zone.queries)
    zone.failing.clear()
    zone.set("a.test", ("TXT", "hello"))
    with pytest.raises(LookupFailed):
        lookups.texts("a.test")
    assert len(zone.queries) == queries
    assert Lookups(5).texts("a.test") == ["hello"]


@pytest.mark.parametrize("name", ["", ".", "a..test", ".a.test", "a" * 64 + ".test", "a." * 200])
def test_what_is_no_name_has_no_records_and_is_not_asked_for(zone: Zone, name: str) -> None:
    assert Lookups(5).texts(name) == []
    assert zone.queries == []


def test_any_characters_may_be_in_a_label(zone: Zone) -> None:
    assert Lookups(5).texts('\\046@" .test') == []
    assert Lookups(5).texts("bücher.test") == []
    assert zone.queries[-1].rstrip(".") == "xn--bcher-kva.test"


def test_the_cache_is_bounded() -> None:
    answers = cached_dns._Answers()
    for number in range(cached_dns.MOST_ANSWERS + 1):
        answers.put((f"{number}.test", "A"), ("192.0.2.1",), 60)
    assert answers.get(("0.test", "A")) is None
    assert answers.get(("1.test", "A")) == ("192.0.2.1",)
    answers.put(("long.test", "TXT"), ("x" * (cached_dns.MOST_CHARACTERS + 1),), 60)
    assert answers.get(("long.test", "TXT")) is None


def test_all_look_ups_run_side_by_side_and_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    barrier = threading.Barrier(3)

    def meet(name: Any, kind: str, within: float) -> tuple[list[Any], float]:
        barrier.wait(10)
        return [], 0.0

    monkeypatch.setattr(cached_dns, "lookup_with_lifetime", meet)
    lookups = Lookups(30)
    lookups.start((f"{label}.test", "TXT") for label in "abc")
    assert [lookups.texts(f"{label}.test") for label in "abc"] == [[], [], []]


def test_a_look_up_that_takes_too_long_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    done = threading.Event()

    def wait(name: Any, kind: str, within: float) -> tuple[list[Any], float]:
        done.wait(20)
        return [], 0.0

    monkeypatch.setattr(cached_dns, "lookup_with_lifetime", wait)
    lookups = Lookups(0.05)
    lookups.start([("a.test", "TXT")])
    started = time.monotonic()
    for name in ("a.test", "b.test"):
        with pytest.raises(LookupFailed, match="the time is up"):
            lookups.texts(name)
    assert time.monotonic() - started < 5
    done.set()


def test_what_several_messages_ask_at_a_time_is_asked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names, answer = list[str](), threading.Event()

    def lookup(name: Any, kind: str, within: float) -> tuple[list[Any], float]:
        names.append(str(name))
        assert answer.wait(10)
        return [], 0.0

    monkeypatch.setattr(cached_dns, "lookup_with_lifetime", lookup)
    messages = [Lookups(10) for _ in range(5)]
    for message in messages:
        message.start([("several.test", "TXT")])
    answer.set()
    assert [message.values("several.test", "TXT") for message in messages] == [()] * 5
    assert names == ["several.test."]
    assert Lookups(10).values("several.test", "TXT") == ()
    assert len(names) == 2


def test_a_message_asks_itself_where_the_one_that_asked_had_less_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = list[float]()
    first_is_asked, answer = threading.Event(), threading.Event()

    def lookup(name: Any, kind: str, within: float) -> tuple[list[Any], float]:
        limits.append(within)
        if len(limits) > 1:
            return [], 0.0
        first_is_asked.set()
        assert answer.wait(10)
        raise LookupFailed("a.test", "the time is up")

    monkeypatch.setattr(cached_dns, "lookup_with_lifetime", lookup)
    first, second = Lookups(1), Lookups(10)
    first.start([("a.test", "TXT")])
    assert first_is_asked.wait(10)
    second.start([("a.test", "TXT")])
    answer.set()
    assert second.values("a.test", "TXT") == ()
    with pytest.raises(LookupFailed):
        first.values("a.test", "TXT")
    assert len(limits) == 2
