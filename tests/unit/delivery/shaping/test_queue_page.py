"""What waits for providers' limits, as an account and as the operator see it."""

from __future__ import annotations

import pytest

from chalicelib.delivery.outcome import Retry
from chalicelib.delivery.shaping import queue_page, store
from chalicelib.delivery.shaping.shaper import shaper
from chalicelib.delivery.shaping.store import Backlog

OWN, OTHER, UNUSED = "own.test|192.0.2.1", "other.test|192.0.2.2", "unused.test|192.0.2.3"
BUSY = Retry(421, "4.7.0 Too many connections from you", 20)


@pytest.fixture(autouse=True)
def pauses(cloud: None) -> None:
    """Pause three paths: one has mail of account 1 waiting, one that of account 2, one none."""
    store.hold(OWN, Backlog("1", "7#0", 100, 1_800_000_000_000, "too fast"))
    store.hold(OTHER, Backlog("2", "8#0", 20, 1_800_000_000_000, "too fast"))
    for path in (OWN, OTHER, UNUSED):
        shaper().learn(path, BUSY)


def test_an_account_sees_only_paths_that_its_mail_waits_for() -> None:
    (entry,) = queue_page.entries("1")
    assert (entry["group"], entry["source_address"]) == ("own.test", "192.0.2.1")
    assert entry["waiting"] == 100
    assert entry["last_answers"] == ["421 4.7.0 Too many connections from you"]
    assert queue_page.entries("3") == []


def test_the_operator_sees_all_paths_that_are_paused() -> None:
    counts = {entry["group"]: entry["waiting"] for entry in queue_page.entries()}
    assert counts == {"own.test": 100, "other.test": 20, "unused.test": 0}
