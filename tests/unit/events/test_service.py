from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import clock, dynamo
from chalicelib.core.message_event import Event
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.events import event_blocks, search, service
from chalicelib.events.documentation import SEARCHED, TYPES
from chalicelib.events.event_blocks import EventBlock
from chalicelib.events.positions import EventWindow
from chalicelib.events.store import blocks, day_index, erasures, partitions
from tests.fake_cloud import aws_requests
from tests.unit.events.examples import HOUR, NINE, TRANSMISSION, event_at

pytestmark = pytest.mark.usefixtures("cloud")

EVER = EventWindow(0, 10**14)
OTHER = "191930000000000002"


def find(window: EventWindow = EVER, account: int = 1, **options: Any) -> list[Event]:
    return [event for _, event in service.newest_first(account, window, **options)]


def events_in(*keys: str) -> list[Event]:
    keys = tuple(partitions.in_shards(keys, range(settings().events_shards)))
    return [match.event() for match in search.in_partitions(keys, EVER)]


def raw_items() -> list[dict[str, Any]]:
    """Return everything that the table holds, in order."""
    from chalicelib.core import aws, dynamo

    response = aws.dynamodb().scan(TableName=blocks.table.name)
    items = [dynamo.decode_item(item) for item in response["Items"]]
    return sorted(items, key=lambda item: (item["pk"], item["sk"]))


def test_an_event_is_read_with_all_its_fields() -> None:
    event = event_at(NINE, subject="é \ud83d", rcpt_meta={"deep": [1, {"a": None}]})
    service.put_all([event])
    assert find() == [event]


def test_an_event_is_found_by_time_recipient_transmission_and_campaign() -> None:
    event = event_at(NINE, campaign_id="spring")
    service.put_all([event, event_at(NINE, 1, recipient="bob@example.test")])
    assert event in find()
    assert events_in(partitions.recipient(1, "ann@example.test")) == [event]
    assert len(events_in(partitions.transmission(1, TRANSMISSION))) == 2
    assert events_in(partitions.campaign(1, "spring")) == [event]
    assert events_in(*partitions.of_message(1, event["message_id"]))[0] in find()


def test_a_message_whose_id_does_not_contain_its_transmission_is_found_by_its_id() -> None:
    foreign = event_at(NINE) | {"message_id": "made elsewhere", "event_id": "1"}
    moved = event_at(NINE, 5) | {"transmission_id": OTHER}
    service.put_all([foreign, moved])
    assert events_in(*partitions.of_message(1, "made elsewhere")) == [foreign]
    assert events_in(*partitions.of_message(1, moved["message_id"]))[0] == moved


@pytest.mark.spec("4.10-t1")
def test_a_window_includes_its_lower_bound_and_excludes_its_upper_bound() -> None:
    events = [event_at(NINE + offset, offset) for offset in range(4)]
    service.put_all(events)
    assert find(EventWindow(NINE + 1, NINE + 3)) == [events[2], events[1]]
    assert find(EventWindow(NINE + 1, NINE + 1)) == []


def test_an_account_sees_its_own_events_only() -> None:
    own, other = event_at(NINE, 1), event_at(NINE, 2, account=11)
    same_id = event_at(NINE, 1, account=11) | {"event_id": own["event_id"], "subject": "theirs"}
    service.put_all([own, other, same_id])
    assert find(account=1) == [own]
    assert len(find(account=11)) == 2
    assert {event["customer_id"] for event in find(account=11)} == {"11"}
    assert find(account=111) == []
    assert len(find(account=11, recipients=["ann@example.test"])) == 2


def test_events_of_named_recipients_are_found_newest_first() -> None:
    ann = [event_at(NINE + n, n, recipient="Ann@example.test") for n in (1, 4)]
    bob = [event_at(NINE + n, n, recipient="bob@example.test") for n in (2, 5)]
    service.put_all([*ann, *bob, event_at(NINE + 3, 3, recipient="eve@example.test")])
    addresses = ["ann@example.test", "bob@example.test"]
    assert find(recipients=addresses) == [bob[1], ann[1], bob[0], ann[0]]
    assert find(recipients=["ann@example.test"]) == ann[::-1]
    assert find(recipients=["nobody@example.test"]) == []


def test_only_events_that_searches_find_are_stored() -> None:
    others = [kind for kind in TYPES if kind not in SEARCHED]
    assert {"ab_test_completed", "success"} < set(others)
    service.put_all([event_at(NINE + n, n, kind) for n, kind in enumerate(TYPES)])
    assert Counter(event["type"] for event in find()) == dict.fromkeys(SEARCHED, 1)
    results = events_in(partitions.ingest(1))
    assert sorted(event["type"] for event in results) == ["error", "success"]


def test_events_of_hidden_campaigns_are_not_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hidden = event_at(NINE, campaign_id="svc-performance-test-7")
    service.put_all([hidden, event_at(NINE, 1, campaign_id="spring")])
    assert [event["campaign_id"] for event in find()] == ["spring"]
    assert find(recipients=["ann@example.test"]) == find()
    (day,) = day_index.days(1, NINE, NINE)
    assert (day.hidden, day.erased) == (["svc-performance-test-7"], False)
    assert day_index.campaigns(1) == ["spring"]
    monkeypatch.setenv("HIDDEN_CAMPAIGNS", "")
    settings.cache_clear()
    service.put_all([hidden])
    assert hidden in find()


def test_storing_an_event_again_later_changes_nothing() -> None:
    events = [event_at(NINE + n, n) for n in range(3)]
    with clock.use(lambda: NINE / 1000):
        service.put_all(events)
    before = raw_items()
    day_index.clear_cache()  # as another process would store them
    with clock.use(lambda: NINE / 1000 + 7200):
        service.put_all([*events[1:], events[0], events[0]])
    assert raw_items() == before


@pytest.mark.parametrize("kind", ["day", "transmission", "campaign"])
def test_the_events_of_a_bulk_send_are_spread_over_shards(kind: str) -> None:
    for n in range(20):
        service.put_all([event_at(NINE + n, n, campaign_id="spring")])
    keys = {item["pk"] for item in raw_items() if item["pk"].startswith(f"1#{kind}")} - {
        f"1#{kind}s"
    }
    assert len(keys) == settings().events_shards


@pytest.mark.spec("8-t12")
def test_events_expire_after_ten_days_and_index_entries_not_before_them() -> None:
    with clock.use(lambda: NINE / 1000 + 3600):
        service.put_all([event_at(NINE + HOUR - 1, campaign_id="spring")])
    expires = {item["pk"].split("#")[1].split("/")[0]: item["expires"] for item in raw_items()}
    # That of a recipient holds a delivery
    assert expires.pop("recipient") == (NINE + HOUR - 1) // 1000 + 90 * 86_400
    blocks_expire = {expires.pop(kind) for kind in ("day", "transmission", "campaign")}
    assert blocks_expire == {(NINE + HOUR - 1) // 1000 + 864_000}
    assert set(expires) == {"days", "campaigns"}
    assert all(
        min(blocks_expire) <= each <= min(blocks_expire) + 2 * 86_400 for each in expires.values()
    )


def test_a_late_event_does_not_let_the_entry_of_its_campaign_expire() -> None:
    late = event_at(NINE - 5 * 24 * HOUR, 1, campaign_id="spring")
    with clock.use(lambda: NINE / 1000):
        service.put_all([event_at(NINE, campaign_id="spring")])
        day_index.clear_cache()
        service.put_all([late])
    (entry,) = (item for item in raw_items() if item["pk"] == "1#campaigns")
    assert entry["expires"] > NINE // 1000 + 864_000


def test_a_process_writes_an_index_entry_once() -> None:
    service.put_all([event_at(NINE, campaign_id="spring")])
    with aws_requests() as requests:
        service.put_all([event_at(NINE, campaign_id="spring")])
    (request,) = requests
    (writes,) = request.parameters["RequestItems"].values()
    assert len(writes) == 4


def test_an_index_entry_that_could_not_be_written_is_written_at_the_next_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(dynamo, "write_all", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            service.put_all([event_at(NINE)])
    service.put_all([event_at(NINE)])
    assert len(find()) == 1


@pytest.mark.cost
def test_a_bulk_send_takes_five_requests_and_little_more_than_a_write_unit_an_event() -> None:
    events = [
        event_at(NINE + n, n, recipient=f"r{n}@a.test", campaign_id="spring", subject=f"No {n}")
        for n in range(100)
    ]
    service.put_all([event_at(NINE - 1, 1000, campaign_id="spring")])
    with aws_requests() as requests:
        service.put_all(events)
    assert [each.operation for each in requests] == ["BatchWriteItem"] * 5
    sizes = [
        sum(
            len(name) + len(value) for name, value in item.items() if isinstance(value, str | bytes)
        )
        for item in raw_items()
    ]
    assert sum(-(-size // 1000) for size in sizes) < 125
    assert sum(size > 1000 for size in sizes) == 3


@pytest.mark.cost
def test_no_events_take_no_request() -> None:
    with aws_requests() as requests:
        service.put_all([])
        service.put_all([event_at(NINE, 0, "ab_test_completed")])
    assert requests == []


def all_event_ids() -> set[str]:
    """Return the ids of all events in any block."""
    event_ids: set[str] = set()
    for item in raw_items():
        if "data" in item:
            block = EventBlock(item["data"])
            assert block.count == item["count"]
            event_ids |= {event["event_id"] for event in map(block.event, range(block.count))}
    return event_ids


def test_a_recipients_events_are_erased_within_a_scope() -> None:
    ann = [event_at(NINE + n, n, recipient="Ann@example.test") for n in range(60)]
    hers_at_7 = event_at(NINE, 100, subaccount_id="7", campaign_id="spring")
    rest = [event_at(NINE, 101, recipient="bob@example.test"), event_at(NINE, 102, account=11)]
    service.put_all([*ann, hers_at_7, *rest])
    assert service.erase_recipient(Scope(1, 77), "ann@example.test") == 0
    assert service.erase_recipient(Scope(1, 0), "ann@example.test") == 60
    assert find(recipients=["ann@example.test"]) == [hers_at_7]
    assert all_event_ids() == {event["event_id"] for event in (hers_at_7, *rest)}
    assert service.erase_recipient(Scope(1, None), "ann@example.test") == 1
    assert find() == [rest[0]]
    assert events_in(partitions.transmission(1, TRANSMISSION)) == [rest[0]]
    assert find(account=11) == [rest[1]]


def test_an_erased_event_keeps_no_personal_data() -> None:
    service.put_all([event_at(NINE, campaign_id="spring", subject="Dear Ann")])
    service.erase_recipient(Scope(1, None), "ann@example.test")
    (remains,) = erasures.erased_events(1, EventWindow(NINE, NINE + 1))
    assert (remains["type"], remains["campaign_id"], remains["ip_pool"]) == (
        "delivery",
        "spring",
        "default",
    )
    assert "ann" not in str(raw_items()).lower()
    assert [day.erased for day in day_index.days(1, NINE, NINE)] == [True]
    assert erasures.erased_events(1, EventWindow(NINE + 1, NINE + 2)) == []
    assert erasures.erased_events(1, EventWindow(NINE, NINE)) == []
    assert erasures.erased_events(2, EVER) == []


def test_an_erasure_that_was_interrupted_is_completed_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored_events = [
        event_at(NINE, n, recipient=who) for n, who in enumerate(["ann@a.test", "bob@a.test"])
    ]
    remove = blocks.remove
    for after in range(8):
        steps = iter(range(after))

        def remove_or_interrupt(partition: str, events: Any, steps: Iterator[int] = steps) -> None:
            if next(steps, None) is None:
                raise InterruptedError
            remove(partition, events)

        service.put_all(stored_events)
        monkeypatch.setattr(blocks, "remove", remove_or_interrupt)
        try:
            service.erase_recipient(Scope(1, None), "ann@a.test")
        except InterruptedError:
            assert len(find(recipients=["ann@a.test"])) == 1
        monkeypatch.setattr(blocks, "remove", remove)
        service.erase_recipient(Scope(1, None), "ann@a.test")
        assert find() == stored_events[1:]
        assert len(erasures.erased_events(1, EVER)) == 1


def test_two_erasures_of_one_block_both_succeed(monkeypatch: pytest.MonkeyPatch) -> None:
    people = ["ann@a.test", "bob@a.test", "eve@a.test"]
    service.put_all([event_at(NINE, n, recipient=who) for n, who in enumerate(people)])
    original = event_blocks.encode
    meanwhile = iter([lambda: service.erase_recipient(Scope(1, None), "bob@a.test")])

    def encode(events: list[Event]) -> bytes:
        next(meanwhile, lambda: 0)()
        return original(events)

    monkeypatch.setattr(event_blocks, "encode", encode)
    service.erase_recipient(Scope(1, None), "ann@a.test")
    assert [event["rcpt_to"] for event in find()] == ["eve@a.test"]
    assert all_event_ids() == {find()[0]["event_id"]}


@pytest.mark.cost
def test_a_block_of_another_time_is_not_rewritten() -> None:
    event = event_at(NINE)
    service.put_all([event, event_at(NINE + HOUR, 1, recipient="bob@example.test")])
    with aws_requests() as requests:
        service.erase_recipient(Scope(1, None), "ann@example.test")
    assert {each.operation for each in requests} == {"Query", "BatchWriteItem", "DeleteItem"}
    assert len(requests) < 14


def expiries(recipient: str) -> set[int]:
    pk = partitions.recipient(1, recipient)
    items = blocks.table.query_all("#pk = :pk", {"pk": pk})
    return {item["expires"] for item in items}


def test_a_block_of_a_recipient_with_a_delivery_is_kept_for_ninety_days() -> None:
    to_ann = event_at(NINE, 0, "delivery", "ann@x.test")
    service.put_all([to_ann, event_at(NINE, 1, "delay", "b@x.test")])
    days = settings().deliveries_retention // 86_400
    assert (days, expiries("ann@x.test")) == (90, {NINE // 1000 + 90 * 86_400})
    assert expiries("b@x.test") == {NINE // 1000 + settings().events_retention}


def test_an_erasure_takes_the_delivery_and_its_longer_expiry_away() -> None:
    events = [event_at(NINE, n, kind, "ann@x.test") for n, kind in enumerate(("delivery", "delay"))]
    service.put_all(events)
    blocks.remove(partitions.recipient(1, "ann@x.test"), events[:1])
    assert expiries("ann@x.test") == {NINE // 1000 + settings().events_retention}
    assert service.was_delivered(Scope(1, None), "ann@x.test", 0) is False


def test_a_delivery_is_remembered_when_searches_no_longer_show_it() -> None:
    service.put_all([event_at(NINE, recipient="ann@x.test")])
    everybody = Scope(1, None)
    assert service.was_delivered(everybody, "Ann@X.test", NINE)
    assert not service.was_delivered(everybody, "ann@x.test", NINE + 1)
    assert not service.was_delivered(Scope(2, None), "ann@x.test", NINE)
    assert not service.was_delivered(Scope(1, 7), "ann@x.test", NINE)
    service.erase_recipient(everybody, "ann@x.test")
    assert not service.was_delivered(everybody, "ann@x.test", NINE)
