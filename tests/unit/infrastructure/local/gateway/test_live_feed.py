"""Keep the latest entries of the live stream in bounded memory."""

from __future__ import annotations

import pytest

from infrastructure.local.gateway import live_feed
from infrastructure.local.gateway.live_feed import LiveFeed


def kinds(feed: LiveFeed, position: int, most: int = 100) -> tuple[str, bool]:
    entries, is_gap = feed.after(position, most)
    return "".join(entry.kind for entry in entries), is_gap


def filled(kinds: str, most_entries: int = 100) -> LiveFeed:
    feed = LiveFeed(most_entries)
    for kind in kinds:
        feed.publish(kind, {})
    return feed


def test_entries_after_a_position_come_in_order() -> None:
    feed = filled("abc")
    assert kinds(feed, 0) == ("abc", False)
    assert kinds(feed, 2) == ("c", False)
    assert kinds(feed, 3) == ("", False)
    assert kinds(feed, 0, most=2) == ("ab", False)


def test_the_oldest_entries_make_room_and_leave_a_gap() -> None:
    feed = filled("abcdef", most_entries=3)
    assert kinds(feed, 0) == ("def", True)
    assert kinds(feed, 2) == ("def", True)
    assert kinds(feed, 3) == ("def", False)


def test_large_entries_make_room_by_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_feed, "MOST_CHARACTERS", 100)
    feed = LiveFeed()
    for number in range(5):
        feed.publish(str(number), "x" * 40)
    assert kinds(feed, 0) == ("34", True)
    feed.publish("huge", "x" * 200)
    assert kinds(feed, 5) == ("", True)


def test_a_position_is_recognized_by_its_id() -> None:
    feed = filled("abc")
    assert feed.position_of(feed.event_id(2)) == 2
    assert feed.position_of(LiveFeed().event_id(2)) is None
    for text in ("", "x", "-", feed.event_id(2) + "x", feed.event_id(2).replace("-", "--")):
        assert feed.position_of(text) is None
    assert feed.position_of(feed.event_id(10**30)) == 3


def test_after_a_restart_earlier_positions_are_a_gap() -> None:
    feed = filled("abc")
    earlier_id = feed.event_id(3)
    feed.restart()
    assert feed.position_of(earlier_id) is None
    assert kinds(feed, feed.end) == ("", False)
