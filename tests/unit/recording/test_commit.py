from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import dynamo
from chalicelib.core.errors import Unavailable
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.store import pending
from chalicelib.recording import commit as committing
from chalicelib.recording import deduplication, store
from chalicelib.recording.commit import commit
from chalicelib.recording.deduplication import DeduplicationRecord
from tests.fake_cloud import aws_requests
from tests.unit.metrics.examples import mail

pytestmark = pytest.mark.usefixtures("cloud")


def record(events: list[dict[str, Any]]) -> None:
    commit(events, store.read(map(store.key_of, events)))


def pending_counts() -> dict[int, dict[str, int]]:
    """Return the pending counts of each account."""
    sums_by_account: dict[int, dict[str, int]] = {}
    for each in pending.of_all_accounts():
        sums = sums_by_account.setdefault(each.account_id, {})
        for cell, counts in Delta.merged(item["data"] for item in each.deltas).cells():
            for code, number in counts.items() if not cell.facet else ():
                sums[code] = sums.get(code, 0) + number
    return sums_by_account


def test_events_are_counted_once_for_each_account() -> None:
    events = [mail(account, n).event("injection", 0) for account in (1, 2) for n in range(3)]
    record(events)
    record(events[::-1])
    assert pending_counts() == {1: {"i": 3}, 2: {"i": 3}}


@pytest.mark.cost
def test_a_thousand_events_take_a_read_and_a_transaction() -> None:
    events = [mail(1, n).event("injection", n) for n in range(1000)]
    with aws_requests() as requests:
        record(events)
    assert [each.operation for each in requests] == ["BatchGetItem", "TransactWriteItems"]
    assert len(requests[1].parameters["TransactItems"]) == 11


def test_more_blocks_than_fit_one_transaction_take_several() -> None:
    events = [mail(1, n * deduplication.BLOCK).event("injection", 0) for n in range(150)]
    events += [mail(account, 0).event("injection", 0) for account in range(2, 80)]
    with aws_requests() as requests:
        record(events)
    sizes = [
        len(each.parameters["TransactItems"])
        for each in requests
        if each.operation == "TransactWriteItems"
    ]
    assert max(sizes) == committing.MOST_ACTIONS
    assert len(sizes) == 4
    assert sum(each["i"] for each in pending_counts().values()) == len(events)


def test_many_events_are_counted_in_several_deltas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committing, "MOST_EVENTS", 150)
    record([mail(1, n).event("injection", 0) for n in range(400)])
    assert pending_counts() == {1: {"i": 400}}
    assert sum(len(each.deltas) for each in pending.of_all_accounts()) == 4


def test_records_that_are_too_large_together_take_several_transactions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages = [mail(1, n * deduplication.BLOCK) for n in range(9)]
    record([each.event("open", 0, str(n)) for each in messages for n in range(100)])
    monkeypatch.setattr(committing, "MOST_BYTES", 2_500)
    with aws_requests() as requests:
        record([each.event("click", 0) for each in messages])
    sizes = [
        [len(action["Put"]["Item"].get("known", {}).get("B", b"")) for action in actions]
        for each in requests
        if each.operation == "TransactWriteItems"
        for actions in [each.parameters["TransactItems"]]
    ]
    assert len(sizes) == 4
    assert max(map(sum, sizes)) <= 2_500
    sums: dict[str, int] = {}
    for each in pending.of_all_accounts():
        for cell, counts in Delta.merged(item["data"] for item in each.deltas).cells():
            for code in ("o", "c", "uc") if not cell.facet else ():
                sums[code] = sums.get(code, 0) + counts.get(code, 0)
    assert sums == {"o": 900, "c": 9, "uc": 9}


def test_a_delta_in_parts_takes_no_more_actions_than_a_transaction_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pending, "LARGEST", 500)
    events = [
        mail(1, n * deduplication.BLOCK, campaign=f"campaign {n}").event("injection", 0)
        for n in range(99)
    ]
    record(events)
    assert pending_counts() == {1: {"i": 99}}


def test_a_worker_that_finds_a_record_changed_counts_the_rest() -> None:
    events = [mail(1, n).event("injection", 0) for n in range(4)]
    stale = store.read(map(store.key_of, events))
    record(events[1:3])
    commit(events, stale)
    assert pending_counts() == {1: {"i": 4}}


@pytest.mark.cost
def test_a_record_that_was_taken_for_new_is_read_when_the_commit_fails() -> None:
    event = mail(1).event("injection", 0)
    record([event])
    with aws_requests() as requests:
        commit([event], {store.key_of(event): DeduplicationRecord(store.key_of(event))})
    assert [each.operation for each in requests] == ["TransactWriteItems", "BatchGetItem"]
    assert pending_counts() == {1: {"i": 1}}


def test_an_event_twice_in_one_batch_is_counted_once() -> None:
    message = mail(1)
    opens = [message.event("open", 0, "a"), message.event("open", 0, "b")]
    record([*opens, *opens])
    assert pending_counts() == {1: {"o": 2, "no": 2, "uo": 1, "nuo": 1, "uc": 1, "nuc": 1}}


@pytest.mark.cost
def test_recorded_events_cause_no_write() -> None:
    event = mail(1).event("injection", 0)
    record([event])
    with aws_requests() as requests:
        record([event])
    assert [each.operation for each in requests] == ["BatchGetItem"]


def test_an_event_that_counts_in_no_metric_is_noted_as_recorded() -> None:
    event = mail(1).event("ab_test_completed", 0)
    record([event])
    assert pending_counts() == {}
    assert store.read([store.key_of(event)])[store.key_of(event)].knows(event)


def test_giving_up_after_many_conflicts_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(writes: object) -> None:
        raise dynamo.TransactionFailed([0])

    monkeypatch.setattr(dynamo, "transact", always)
    with pytest.raises(Unavailable):
        record([mail(1).event("injection", 0)])
