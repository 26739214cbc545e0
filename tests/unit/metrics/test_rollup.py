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
from chalicelib.metrics.store import pending
from tests.fake_cloud import aws_requests
from tests.unit.metrics.examples import mail

pytestmark = pytest.mark.usefixtures("cloud")

NOON = 1_770_033_600_000


def wait(account: int, *letters: tuple[str, str], at: int = NOON) -> None:
    """Let injections of these campaigns and domains wait to be counted."""
    delta = Delta()
    for campaign, domain in letters:
        delta.add(mail(account, campaign=campaign, domain=domain).event("injection", at))
    dynamo.transact(pending.additions(account, delta))


def injected(account: int) -> int:
    minute = NOON // 60_000
    found = rows(account, list(spans(minute - 60, minute + 60)), Filter())
    return sum(row.counts["i"] for row in found)


def waiting() -> int:
    return sum(len(each.deltas) + bool(each.rollup) for each in pending.of_all_accounts())


def test_nothing_to_do_is_one_request() -> None:
    with aws_requests() as made:
        roll_up_pending()
    assert [each.operation for each in made] == ["Query"]


def test_what_waits_is_added_and_waits_no_more() -> None:
    for _ in range(3):
        wait(1, ("spring", "a.test"), ("", "b.test"))
    wait(2, ("spring", "a.test"))
    assert (injected(1), waiting()) == (0, 4)
    roll_up_pending()
    assert (injected(1), injected(2), waiting()) == (6, 1, 0)
    roll_up_pending()
    wait(1, ("spring", "a.test"))
    roll_up_pending()
    assert injected(1) == 7


def test_more_than_one_fold_holds_takes_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "MOST_TOGETHER", 2)
    for _ in range(5):
        wait(1, ("spring", "a.test"))
    roll_up_pending()
    assert (injected(1), waiting(), pending.last_seq(1)) == (5, 0, 3)


def test_deltas_larger_than_an_item_holds_are_folded_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "MOST_BYTES", 100)
    for _ in range(3):
        wait(1, ("spring", "a.test"))
    roll_up_pending()
    assert (injected(1), pending.last_seq(1)) == (3, 3)


def test_a_fold_that_was_begun_is_completed_before_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wait(1, ("spring", "a.test"))
    with monkeypatch.context() as patch:
        patch.setattr(rollup, "_complete", lambda *_: 1 / 0)
        roll_up_pending()
    wait(1, ("spring", "a.test"))
    assert (injected(1), waiting()) == (0, 2)
    roll_up_pending()
    assert (injected(1), waiting(), pending.last_seq(1)) == (2, 0, 2)


def test_a_second_fold_cannot_be_fixed_beside_the_first() -> None:
    wait(1, ("spring", "a.test"))
    ((first,),) = (each.deltas for each in pending.of_all_accounts())
    wait(1, ("spring", "b.test"))
    assert pending.begin_rollup(1, [first]) is not None
    assert pending.begin_rollup(1, [first]) is None
    (found,) = pending.of_all_accounts()
    assert found.rollup is not None
    assert pending.begin_rollup(1, found.deltas) is None
    roll_up_pending()
    assert injected(1) == 2


def test_deltas_that_were_folded_meanwhile_are_not_folded_again() -> None:
    wait(1, ("spring", "a.test"))
    (found,) = pending.of_all_accounts()
    roll_up_pending()
    assert pending.begin_rollup(1, found.deltas) is None
    roll_up_pending()
    assert (injected(1), waiting()) == (1, 0)


def test_who_is_late_to_finish_a_fold_does_no_harm() -> None:
    wait(1, ("spring", "a.test"))
    (found,) = pending.of_all_accounts()
    late = pending.begin_rollup(1, found.deltas)
    assert late is not None
    roll_up_pending()
    wait(1, ("spring", "a.test"))
    (found,) = pending.of_all_accounts()
    pending.begin_rollup(1, found.deltas)
    rollup._complete(late, ())
    assert waiting() == 1
    roll_up_pending()
    assert (injected(1), waiting()) == (2, 0)


def test_an_account_that_cannot_be_counted_does_not_hold_up_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wait(1, ("spring", "a.test"))
    pending.table.put({"pk": "pending", "sk": "0000000001#1delta#9", "data": b"broken"})
    wait(2, ("spring", "a.test"))
    roll_up_pending()
    assert (injected(1), injected(2)) == (0, 1)
    assert "account 1 failed" in caplog.text
    pending.table.delete("pending", "0000000001#1delta#9")
    roll_up_pending()
    assert injected(1) == 1


def test_others_are_told_who_sent_how_many_in_each_fold() -> None:
    told: list[tuple[int, int, Mapping[Sending, int]]] = []
    letter = mail(1, subaccount=7, campaign="spring")
    delta = Delta()
    for event in (letter.event("injection", NOON), letter.event("delivery", NOON)):
        delta.add(event)
    dynamo.transact(pending.additions(1, delta))
    wait(1, ("spring", "a.test"), ("spring", "b.test"), ("", "b.test"))
    roll_up_pending([lambda *step: told.append(step)])
    counts = {(7, "spring", "s.test"): 1, (None, "spring", "s.test"): 2, (None, "", "s.test"): 1}
    assert told == [(1, 1, counts)]
    opened = Delta()
    opened.add(letter.event("open", NOON))
    dynamo.transact(pending.additions(1, opened))
    roll_up_pending([lambda *step: told.append(step)])
    assert len(told) == 1


def test_others_are_told_again_when_they_failed() -> None:
    told: list[int] = []

    def fail_once(account: int, seq: int, counts: Mapping[Sending, int]) -> None:
        told.append(seq)
        if len(told) == 1:
            raise RuntimeError("not now")

    wait(1, ("spring", "a.test"))
    roll_up_pending([fail_once])
    roll_up_pending([fail_once])
    assert (told, injected(1)) == ([1, 1], 1)


@pytest.mark.spec("8-t13")
def test_whatever_is_stored_expires_but_for_what_waits() -> None:
    wait(1, ("spring", "a.test"))
    roll_up_pending()
    stored = aws.dynamodb().scan(TableName=pending.table.name)["Items"]
    lasting = [item for item in stored if "expires" not in item]
    assert [item["pk"]["S"] for item in lasting] == ["folds"]
    soonest = min(int(item["expires"]["N"]) for item in stored if "expires" in item)
    assert soonest >= NOON // 1000 + settings().metrics_retention
