from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.dynamo import Table
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.events import store
from chalicelib.events.model import Event
from chalicelib.events.store import Window
from tests.fake_cloud import aws_requests
from tests.unit.events.examples import HOUR, NINE, event_at

pytestmark = pytest.mark.usefixtures("cloud")

EVER = Window(0, 10**14)
table = Table("events")


def found(window: Window = EVER, account: int = 1, **options: Any) -> list[Event]:
    return [event for _, event in store.newest_first(account, window, **options)]


def raw_items() -> list[dict[str, Any]]:
    keys = [f"1#{hour}#{shard}" for hour in ("2026013109", "2026013110") for shard in range(2)]
    return [item for key in [*keys, "1#hours"] for item in table.query_all("#pk = :k", {"k": key})]


def test_an_event_comes_back_with_all_its_fields() -> None:
    event = event_at(NINE, subject="é \ud83d", rcpt_meta={"deep": [1, {"a": None}]})
    store.put_all([event])
    assert found() == [event]


@pytest.mark.spec("4.10-t1")
def test_the_lower_bound_belongs_to_a_window_and_the_upper_does_not() -> None:
    events = [event_at(NINE + offset, offset) for offset in range(4)]
    store.put_all(events)
    assert found(Window(NINE + 1, NINE + 3)) == [events[2], events[1]]
    assert found(Window(NINE + 1, NINE + 1)) == []


def test_bounds_hold_over_hours_and_shards() -> None:
    offsets = [-HOUR, -1, 0, 1, HOUR - 1, HOUR, HOUR + 1, 5 * HOUR]
    events = [event_at(NINE + offset, n) for n, offset in enumerate(offsets)]
    store.put_all(events)
    assert found() == events[::-1]
    assert found(Window(NINE - 1, NINE + HOUR)) == events[4:0:-1]
    with_recipient = found(Window(NINE - 1, NINE + HOUR), recipients=["ann@example.test"])
    assert with_recipient == events[4:0:-1]


def test_events_of_one_moment_have_an_order_that_positions_follow() -> None:
    store.put_all([event_at(NINE, index) for index in range(6)])
    entries = list(store.newest_first(1, EVER))
    for place, (position, _) in enumerate(entries):
        rest = list(store.newest_first(1, EVER, before=position))
        assert rest == entries[place + 1 :]


@pytest.mark.parametrize(
    "window",
    [
        Window(NINE + 1, NINE),
        Window(NINE, NINE - 3 * HOUR),
        Window(10**13, 10**14),
        Window(-5, -1),
        Window(10**15, 0),
    ],
)
@pytest.mark.parametrize("recipients", [[], ["ann@example.test"]])
def test_a_window_that_holds_nothing_asks_nothing_of_the_table(
    window: Window, recipients: list[str]
) -> None:
    # DynamoDB refuses a range whose bounds are the wrong way round
    store.put_all([event_at(NINE)])
    with aws_requests() as made:
        assert found(window, recipients=recipients) == []
    assert made == []


def test_a_window_may_reach_as_far_into_the_future_as_a_date_can_tell() -> None:
    store.put_all([event_at(NINE)])
    assert len(found(Window(NINE, 16_725_225_600_000))) == 1  # the year 2500
    assert len(found(Window(-62_135_596_800_000, NINE + 1))) == 1  # the year 1


def test_an_account_sees_its_own_events_only() -> None:
    mine, other = event_at(NINE, 1), event_at(NINE, 2, account=11)
    store.put_all([mine, other])
    assert found(account=1) == [mine]
    assert found(account=11) == [other]
    assert found(account=111) == []
    assert found(account=11, recipients=["ann@example.test"]) == [other]


def test_events_of_named_recipients_are_found_newest_first() -> None:
    ann = [event_at(NINE + n, n, recipient="Ann@example.test") for n in (1, 4)]
    bob = [event_at(NINE + n, n, recipient="bob@example.test") for n in (2, 5)]
    store.put_all([*ann, *bob, event_at(NINE + 3, 3, recipient="eve@example.test")])
    both = ["ann@example.test", "bob@example.test"]
    assert found(recipients=both) == [bob[1], ann[1], bob[0], ann[0]]
    assert found(recipients=["ann@example.test"]) == ann[::-1]
    assert found(recipients=["nobody@example.test"]) == []


def test_storing_an_event_again_later_changes_nothing() -> None:
    events = [event_at(NINE + n, n) for n in range(3)]
    with clock.use(lambda: NINE / 1000):
        store.put_all(events)
    before = raw_items()
    store.forget_noted_hours()  # as another process would store them
    with clock.use(lambda: NINE / 1000 + 7200):
        store.put_all([*events[1:], events[0]])
    assert raw_items() == before
    assert len(before) == 4


def test_an_event_twice_in_one_batch_is_stored_once() -> None:
    store.put_all([event_at(NINE), event_at(NINE)])
    assert len(found()) == 1


@pytest.mark.spec("8-t12")
def test_events_go_away_ten_days_after_they_happened_and_their_hour_not_before_them() -> None:
    store.put_all([event_at(NINE + HOUR - 1)])
    event, hour = raw_items()
    assert event["expires"] == (NINE + HOUR - 1) // 1000 + 864_000
    assert event["expires"] <= hour["expires"] <= event["expires"] + 3601


def test_an_hour_is_noted_once_per_process_and_account() -> None:
    store.put_all([event_at(NINE)])
    with aws_requests() as made:
        store.put_all([event_at(NINE + 5, 1), event_at(NINE + HOUR, 2)])
        store.put_all([event_at(NINE + 6, 3), event_at(NINE + HOUR + 1, 4)])
        store.put_all([event_at(NINE + 7, 5, account=2)])
    assert [each.operation for each in made if each.operation == "PutItem"] == ["PutItem"] * 2
    assert len(found()) == 5


def test_an_hour_that_could_not_be_noted_is_noted_by_the_repetition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(store._events, "put", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.put_all([event_at(NINE)])
    store.put_all([event_at(NINE)])
    assert len(found()) == 1


def test_a_batch_costs_a_write_for_25_events_and_one_for_the_hour() -> None:
    with aws_requests() as made:
        store.put_all([event_at(NINE, index) for index in range(50)])
    operations = [each.operation for each in made]
    assert operations == ["BatchWriteItem", "BatchWriteItem", "PutItem"]


def test_an_event_takes_no_more_than_a_write_unit() -> None:
    fields = {
        "subject": "An ordinary subject line of an ordinary newsletter",
        "friendly_from": "news@example.test",
        "reason": "550 5.1.1 The email account that you tried to reach does not exist.",
        "raw_reason": "550 5.1.1 The email account that you tried to reach does not exist.",
        "msg_from": "b.02a9d3c4e5f60718293a4b5c.abcdefghijklmnop@example.test",
    }
    store.put_all([event_at(NINE, kind="bounce", **fields)])
    item = raw_items()[0]
    size = sum(len(name) + len(value) for name, value in item.items() if name != "expires")
    assert size < 1000


def test_hours_without_events_are_not_looked_into() -> None:
    store.put_all([event_at(NINE, 0), event_at(NINE + 40 * HOUR, 1)])
    with aws_requests() as made:
        assert len(found(Window(NINE - 100 * HOUR, NINE + 100 * HOUR))) == 2
    assert len(made) == 1 + 2 * settings().events_shards


def test_hours_newer_than_the_position_are_not_looked_into() -> None:
    store.put_all([event_at(NINE + n * HOUR, n) for n in range(6)])
    position = list(store.newest_first(1, EVER))[4][0]
    with aws_requests() as made:
        assert len(found(before=position)) == 1
    assert len(made) == 1 + 2 * settings().events_shards


def test_nothing_is_read_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_PAGE", 2)
    store.put_all([event_at(NINE + n, n) for n in range(20)])
    with aws_requests() as made:
        entries = store.newest_first(1, EVER)
        assert made == []
        next(entries)
    assert len(made) == 1 + settings().events_shards
    with aws_requests() as rest:
        assert len(list(entries)) == 19
    assert len(rest) >= 8


def test_the_events_of_an_hour_are_spread_over_the_shards() -> None:
    store.put_all([event_at(NINE, index) for index in range(24)])
    counts = [
        table.query("#pk = :k", {"k": f"1#2026013109#{shard}"}).count
        for shard in range(settings().events_shards)
    ]
    assert sum(counts) == 24
    assert min(counts) >= 5


def test_a_recipients_events_are_erased_in_the_scope_that_is_named() -> None:
    ann = [event_at(NINE + n, n, recipient="Ann@example.test") for n in range(60)]
    hers_at_7 = event_at(NINE, 100, subaccount_id="7")
    rest = [event_at(NINE, 101, recipient="bob@example.test"), event_at(NINE, 102, account=11)]
    store.put_all([*ann, hers_at_7, *rest])
    assert store.erase_recipient(Scope(1, 77), "ann@example.test") == 0
    assert store.erase_recipient(Scope(1, 0), "ANN@example.test") == 60
    assert found(recipients=["ann@example.test"]) == [hers_at_7]
    assert store.erase_recipient(Scope(1, None), "ann@example.test") == 1
    assert found() == [rest[0]]
    assert found(account=11) == [rest[1]]
