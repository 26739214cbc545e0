from __future__ import annotations

import logging
from typing import Any

import pytest

from chalicelib.core import due, dynamo
from chalicelib.core.due import LONGEST_PAUSE_MS, Due

pytestmark = pytest.mark.usefixtures("cloud")

NOW = 1_790_000_000_000
ENTRY = Due("things", NOW - 5, "one", {"n": 1})
FAR = NOW + 10**10


def test_due_entries_are_found_in_order_of_time_until_they_are_removed() -> None:
    later, other = Due("things", NOW + 1, "two"), Due("others", NOW, "one")
    for entry in (later, ENTRY, other, ENTRY):
        due.add(entry)
    assert due.find("things", NOW) == [ENTRY]
    assert due.find("things", FAR) == [ENTRY, later]
    due.remove(ENTRY)
    assert due.find("things", FAR) == [later]


def test_a_failed_entry_waits_twice_as_long_each_time_and_at_most_an_hour() -> None:
    due.add(ENTRY)
    pauses, now = [], NOW
    for failures in range(1, 20):
        (entry,) = due.find("things", now)
        due.postpone(entry, now)
        (entry,) = due.find("things", FAR)
        assert (entry.at_ms, entry.key, entry.data) == (ENTRY.at_ms, "one", {"n": 1})
        assert entry.failures == failures
        pauses.append(entry.postponed_ms - now)
        now = entry.postponed_ms
        assert due.find("things", now - 1) == []
    assert pauses[:5] == [1000, 2000, 4000, 8000, 16_000]
    assert pauses[-1] == pauses[-2] == LONGEST_PAUSE_MS


def test_a_failed_entry_comes_after_entries_that_are_due_before_its_retry() -> None:
    due.add(ENTRY)
    due.postpone(ENTRY, NOW)
    meanwhile = Due("things", NOW + 500, "two")
    due.add(meanwhile)
    assert [entry.key for entry in due.find("things", FAR)] == ["two", "one"]


def test_a_postponed_entry_can_be_changed_and_removed() -> None:
    due.add(ENTRY)
    due.postpone(ENTRY, NOW)
    (entry,) = due.find("things", FAR)
    due.add(entry)
    assert due.find("things", FAR) == [entry]
    due.remove(entry)
    assert due.find("things", FAR) == []


def test_an_entry_that_another_call_removed_or_postponed_is_not_postponed_again() -> None:
    due.postpone(ENTRY, NOW)
    assert due.find("things", FAR) == []
    due.add(ENTRY)
    for _ in range(2):
        due.postpone(ENTRY, NOW)
    assert [entry.failures for entry in due.find("things", FAR)] == [1]


def test_an_entry_that_cannot_be_postponed_stays_due(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    due.add(ENTRY)

    def refuse(_: Any) -> None:
        raise RuntimeError("throttled")

    monkeypatch.setattr(dynamo, "transact", refuse)
    with caplog.at_level(logging.ERROR):
        due.postpone(ENTRY, NOW)
    assert "one of things is not postponed" in caplog.text
    assert due.find("things", NOW) == [ENTRY]
