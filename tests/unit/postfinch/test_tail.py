"""Events of a stage are polled, and each is shown once."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import islice

import pytest

from postfinch.event_following import Filters, Position, follow_search
from postfinch.http_api import Api, ApiError, Unreachable
from postfinch.json_types import Json
from tests.unit.calling import Client
from tests.unit.events.examples import event_at, record
from tests.unit.people import make_key
from tests.unit.postfinch.api_server import run


def following(account: Client, position: Position | None = None) -> Iterator[Json]:
    api = Api(os.environ["POSTFINCH_URL"], account.key)
    return follow_search(api, Filters(), 0.02, position or Position())


def now_ms() -> int:
    return int(time.time() * 1000)


def test_each_new_event_is_shown_once_and_the_oldest_first(
    account: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    record([event_at(now_ms() - 5000, 9, "bounce", bounce_class="10")])
    times: list[int] = []

    def pause(seconds: float) -> None:
        """Record events between the first polls."""
        times.append(now_ms())
        if len(times) == 1:
            record([event_at(times[0] + 1, 1), event_at(times[0], 2)])
        elif len(times) == 3:  # later than others that happened after it
            record([event_at(times[0], 3)])
        time.sleep(seconds)

    # Only this module's name: the server of the API needs the real one
    monkeypatch.setattr("postfinch.event_following.pause", pause)
    items = list(islice(following(account), 3))
    assert len({item["event_id"] for item in items}) == 3
    assert items[0]["timestamp"] <= items[1]["timestamp"]
    assert "bounce" not in [item["type"] for item in items]


def test_following_goes_on_after_an_error_without_a_loss_or_a_repetition(
    account: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pause(seconds: float) -> None:
        raise Unreachable("the network is down")

    monkeypatch.setattr("postfinch.event_following.pause", pause)
    position = Position(start=time.time() - 1000)
    items: list[str] = []

    def follow() -> None:
        for item in following(account, position):
            items.append(item["message_id"])

    for index in range(3):
        record([event_at(now_ms() - 1000, index)])
        with pytest.raises(Unreachable):
            follow()
    assert len(items) == len(set(items)) == 3
    record([event_at(now_ms() - 400_000, 9)])  # recorded too late: no poll looks back so far
    with pytest.raises(Unreachable):
        follow()
    assert len(items) == 3


def test_the_filters_are_those_of_the_search() -> None:
    filters = Filters(frozenset(("open", "message", "click")), "ann@x.test", "spring")
    assert filters.query() == {
        "events": "click,open",
        "recipients": "ann@x.test",
        "campaigns": "spring",
    }
    item = {"type": "open", "rcpt_to": "ann@x.test", "campaign_id": "spring"}
    assert filters.allow(item)
    for name in item:
        assert not filters.allow(item | {name: "other"})


def test_a_stage_has_no_messages(account: Client) -> None:
    assert "has no mailbox" in run("tail", "--events", "message", code=1)


def test_a_type_that_does_not_exist_is_refused(account: Client) -> None:
    with pytest.raises(ApiError, match="nonsense"):
        run("tail", "--events", "delivery,nonsense")


def test_a_key_that_may_not_see_events_cannot_follow(
    account: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make_key(1, grants=("transmissions/modify",)).key
    monkeypatch.setenv("POSTFINCH_API_KEY", key)
    with pytest.raises(ApiError) as refusal:
        run("tail")
    assert refusal.value.status == 403
