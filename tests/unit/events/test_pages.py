from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core.http import ok
from chalicelib.core.message_event import Event
from chalicelib.core.settings import settings
from chalicelib.events import event_blocks, pages
from chalicelib.events.event_blocks import EventBlock
from chalicelib.events.pages import EventPage
from chalicelib.events.positions import EventWindow, position
from chalicelib.events.request import PageRequest
from chalicelib.events.search import Match
from tests.unit.events.examples import NINE, event_at

PATH = "/api/v1/events/message"


@pytest.fixture(autouse=True)
def _fresh_settings() -> Iterator[None]:
    settings.cache_clear()
    yield
    settings.cache_clear()


def matches(events: list[Event]) -> Iterator[Match]:
    for event in reversed(events):
        yield Match(position(event), EventBlock(event_blocks.encode([event])), 0)


def page(events: list[Event], per_page: int, total: int | None = None, **options: Any) -> EventPage:
    request = PageRequest(PATH, {}, [], EventWindow(NINE, NINE + 1000), per_page, total=total)
    return pages.page_of(request, matches(events), **options)


EVENTS = [event_at(NINE + n, n, subject=f'"{n}" \\ é' * 50) for n in range(20)]


def test_events_that_fit_one_page_are_counted_by_showing_them() -> None:
    first = page(EVENTS, 20, count=lambda _: 1 // 0)
    assert (len(first.events), first.total, first.next_link) == (20, 20, "")


def test_events_of_several_pages_are_counted_once_from_the_first() -> None:
    first = page(EVENTS, 7)
    assert (len(first.events), first.total) == (7, 20)
    assert first.next_link.startswith(f"{PATH}?cursor=")
    seen: list[str] = []
    page(EVENTS, 7, count=lambda positions: len(seen.extend(positions) or seen))
    assert seen == [position(event) for event in reversed(EVENTS)]
    assert page(EVENTS, 7, total=99, count=lambda _: 1 // 0).total == 99
    assert page(EVENTS, 20, total=99).total == 99


def test_the_count_is_never_less_than_the_events_shown() -> None:
    assert page(EVENTS, 7, count=lambda _: 3).total == 8


def in_lambda(first: EventPage) -> int:
    """Return the bytes of the answer of a function."""
    links = {"next": first.next_link}
    return len(json.dumps(ok(first.events, total_count=1, links=links).to_gateway("-")))


@pytest.mark.parametrize("most", [20_000, 50_000])
def test_a_page_ends_before_the_reply_is_too_large(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setenv("MAX_REPLY_BYTES", str(most))
    first = page(EVENTS * 3, 1000)
    assert 1 < len(first.events) < 60
    assert most * 0.8 < in_lambda(first) < most + 1000
    assert (first.total, bool(first.next_link)) == (60, True)


def test_an_event_that_is_too_large_makes_a_page_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MAX_REPLY_BYTES", "10")
    first = page(EVENTS, 1000)
    assert [event["event_id"] for event in first.events] == [EVENTS[-1]["event_id"]]
    assert first.next_link
