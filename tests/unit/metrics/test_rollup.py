from __future__ import annotations

from collections.abc import Mapping

import pytest

from chalicelib.core import aws, dynamo
from chalicelib.core.settings import settings
from chalicelib.metrics import rollup
from chalicelib.metrics.delta import Delta
from chalicelib.metrics.filters import Filter
from chalicelib.metrics.levels import spans
from chalicelib.metrics.reading import rows
from chalicelib.metrics.rollup import Sending, roll_up_pending
from chalicelib.metrics.rollup import injected as injected_by_sender
from chalicelib.metrics.store import pending
from tests.fake_cloud import aws_requests
from tests.unit.metrics.examples import mail

pytestmark = pytest.mark.usefixtures("cloud")

NOON = 1_770_033_600_000


def add_pending(account: int, *messages: tuple[str, str], at: int = NOON) -> None:
    """Add a pending delta with injections of these campaigns and domains."""
    delta = Delta()
    for campaign, domain in messages:
        delta.add(mail(account, campaign=campaign, domain=domain).event("injection", at))
    dynamo.transact(pending.additions(account, delta))


def injected(account: int) -> int:
    minute = NOON // 60_000
    counters = rows(account, list(spans(minute - 60, minute + 60)), Filter())
    return sum(row.counts["i"] for row in counters)


def pending_count() -> int:
    return sum(len(each.deltas) + bool(each.rollup) for each in pending.of_all_accounts())


@pytest.mark.cost
def test_a_rollup_without_pending_deltas_takes_one_request() -> None:
    with aws_requests() as requests:
        roll_up_pending()
    assert [each.operation for each in requests] == ["Query"]


def test_pending_deltas_are_added_to_counters_once() -> None:
    for _ in range(3):
        add_pending(1, ("spring", "a.test"), ("", "b.test"))
    add_pending(2, ("spring", "a.test"))
    assert (injected(1), pending_count()) == (0, 4)
    roll_up_pending()
    assert (injected(1), injected(2), pending_count()) == (6, 1, 0)
    roll_up_pending()
    add_pending(1, ("spring", "a.test"))
    roll_up_pending()
    assert injected(1) == 7


def test_more_deltas_than_one_rollup_holds_take_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "MOST_TOGETHER", 2)
    for _ in range(5):
        add_pending(1, ("spring", "a.test"))
    roll_up_pending()
    assert (injected(1), pending_count(), pending.last_seq(1)) == (5, 0, 3)


def test_large_deltas_are_rolled_up_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "MOST_BYTES", 100)
    for _ in range(3):
        add_pending(1, ("spring", "a.test"))
    roll_up_pending()
    assert (injected(1), pending.last_seq(1)) == (3, 3)


def test_a_rollup_in_progress_is_completed_before_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add_pending(1, ("spring", "a.test"))
    with monkeypatch.context() as patch:
        patch.setattr(rollup, "_complete", lambda *_: 1 / 0)
        roll_up_pending()
    add_pending(1, ("spring", "a.test"))
    assert (injected(1), pending_count()) == (0, 2)
    roll_up_pending()
    assert (injected(1), pending_count(), pending.last_seq(1)) == (2, 0, 2)


def test_a_second_rollup_cannot_begin_beside_the_first() -> None:
    add_pending(1, ("spring", "a.test"))
    ((first,),) = (each.deltas for each in pending.of_all_accounts())
    add_pending(1, ("spring", "b.test"))
    assert pending.begin_rollup(1, [first]) is not None
    assert pending.begin_rollup(1, [first]) is None
    (pending_deltas,) = pending.of_all_accounts()
    assert pending_deltas.rollup is not None
    assert pending.begin_rollup(1, pending_deltas.deltas) is None
    roll_up_pending()
    assert injected(1) == 2


def test_deltas_that_another_process_rolled_up_are_not_rolled_up_again() -> None:
    add_pending(1, ("spring", "a.test"))
    (pending_deltas,) = pending.of_all_accounts()
    roll_up_pending()
    assert pending.begin_rollup(1, pending_deltas.deltas) is None
    roll_up_pending()
    assert (injected(1), pending_count()) == (1, 0)


def test_finishing_a_rollup_late_does_no_harm() -> None:
    add_pending(1, ("spring", "a.test"))
    (pending_deltas,) = pending.of_all_accounts()
    late = pending.begin_rollup(1, pending_deltas.deltas)
    assert late is not None
    roll_up_pending()
    add_pending(1, ("spring", "a.test"))
    (pending_deltas,) = pending.of_all_accounts()
    pending.begin_rollup(1, pending_deltas.deltas)
    rollup._complete(late, ())
    assert pending_count() == 1
    roll_up_pending()
    assert (injected(1), pending_count()) == (2, 0)


def test_an_account_that_cannot_be_counted_does_not_hold_up_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    add_pending(1, ("spring", "a.test"))
    pending.table.put({"pk": "pending", "sk": "0000000001#1delta#9", "data": b"broken"})
    add_pending(2, ("spring", "a.test"))
    roll_up_pending()
    assert (injected(1), injected(2)) == (0, 1)
    assert "account 1 failed" in caplog.text
    pending.table.delete("pending", "0000000001#1delta#9")
    roll_up_pending()
    assert injected(1) == 1


def test_appliers_get_the_senders_and_numbers_of_each_rollup() -> None:
    calls: list[tuple[int, int, Mapping[Sending, int]]] = []

    def note(account: int, seq: int, delta: Delta) -> None:
        calls.append((account, seq, injected_by_sender(delta)))

    message = mail(1, subaccount=7, campaign="spring")
    delta = Delta()
    for event in (message.event("injection", NOON), message.event("delivery", NOON)):
        delta.add(event)
    dynamo.transact(pending.additions(1, delta))
    add_pending(1, ("spring", "a.test"), ("spring", "b.test"), ("", "b.test"))
    roll_up_pending([note])
    counts = {(7, "spring", "s.test"): 1, (None, "spring", "s.test"): 2, (None, "", "s.test"): 1}
    assert calls == [(1, 1, counts)]
    open_delta = Delta()
    open_delta.add(message.event("open", NOON))
    dynamo.transact(pending.additions(1, open_delta))
    roll_up_pending([note])
    assert calls[1:] == [(1, 2, {})]


def test_appliers_that_fail_are_called_again() -> None:
    calls: list[int] = []

    def fail_once(account: int, seq: int, delta: Delta) -> None:
        calls.append(seq)
        if len(calls) == 1:
            raise RuntimeError("not now")

    add_pending(1, ("spring", "a.test"))
    roll_up_pending([fail_once])
    roll_up_pending([fail_once])
    assert (calls, injected(1)) == ([1, 1], 1)


@pytest.mark.spec("8-t13")
def test_all_items_but_the_rollup_number_expire() -> None:
    add_pending(1, ("spring", "a.test"))
    roll_up_pending()
    items = aws.dynamodb().scan(TableName=pending.table.name)["Items"]
    permanent_items = [item for item in items if "expires" not in item]
    assert [item["pk"]["S"] for item in permanent_items] == ["folds"]
    soonest = min(int(item["expires"]["N"]) for item in items if "expires" in item)
    assert soonest >= NOON // 1000 + settings().metrics_retention
