from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from chalicelib.core import dynamo
from chalicelib.core.dynamo import TransactionFailed, Write
from chalicelib.core.errors import NotFound, Unavailable
from chalicelib.core.scope import Scope
from chalicelib.suppression import removal, service
from chalicelib.suppression.model import (
    BLOCKING,
    LONGEST_DESCRIPTION,
    SOURCES,
    TYPES,
    SuppressionEntry,
)
from chalicelib.suppression.search import everything
from chalicelib.suppression.store import lookup_items
from chalicelib.suppression.store.items import read_recipient
from chalicelib.suppression.store.lookup_items import lists_of
from tests.fake_cloud import aws_requests
from tests.unit.suppression.examples import entry, summary

MOST_REQUESTS = 420


def summary_of_entries(account: int, *owners: int | None) -> dict[str, int]:
    """Return the summary that follows from the entries of these lists."""
    entries = [each for owner in owners for each in everything(account, owner)]
    by_source = Counter(SOURCES[each.source] for each in entries)
    numbers = {name: by_source[name] for name in set(summary(account)) - {"total"}}
    return numbers | {"total": sum(numbers.values())}


@pytest.mark.cost
@pytest.mark.spec("4.8-t1")
@pytest.mark.spec("8-t10")
@pytest.mark.parametrize(("owner", "list_id"), [(None, None), (7, "news")])
def test_a_load_of_a_thousand_takes_its_share_of_the_requests_for_ten_thousand(
    account: int, owner: int | None, list_id: str | None
) -> None:
    many = [entry(f"user-{n}@x.test", list_id=list_id) for n in range(1000)]
    for _ in ("new", "present"):
        with aws_requests() as requests:
            service.put_all(account, owner, many)
        assert len(requests) <= MOST_REQUESTS / 10
        assert {request.operation for request in requests} == {"BatchGetItem", "TransactWriteItems"}
        assert summary(account)["total"] == 1000


@pytest.mark.spec("4.8-t6")
@pytest.mark.spec("4.8-r2")
def test_counts_are_exact_when_several_write_at_the_same_time(account: int) -> None:
    recipients = [f"user-{n}@x.test" for n in range(40)]

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(8):
            owner = rng.choice([None, 7])
            some = [
                entry(
                    rng.choice(recipients),
                    rng.choice(BLOCKING),
                    rng.choice(["Manually Added", "Bounce Rule", "Spam Complaint"]),
                    list_id=rng.choice([None, None, "news", "sports"]),
                )
                for _ in range(rng.randrange(1, 60))
            ]
            act = rng.choice([service.load_all, service.add_all, service.impose_all, None])
            if act:
                act(account, owner, some)
                continue
            with suppress(NotFound):
                removal.remove(account, owner, rng.choice(recipients), BLOCKING)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, seed) for seed in range(4)]:
            done.result()
    assert summary(account) == summary_of_entries(account, None, 7)
    assert summary(account, 7) == summary_of_entries(account, 7)
    assert summary(account, 0) == summary_of_entries(account, None)
    for recipient in recipients:
        items = read_recipient(Scope(account, None), recipient)
        lists = {(sk, name) for (_, sk), item in items.items() for name in lists_of(item)}
        rows = {(f"{sk.rsplit('#', 1)[0]}#", sk.rsplit("#", 1)[1]) for _, sk in items}
        assert lists == {(lookup_sk, name) for lookup_sk, name in rows if name}


class Interference:
    """Lets another writer write right before each of the first transactions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any], times: int) -> None:
        self.remaining = times
        self._transact, self._act = dynamo.transact, act
        monkeypatch.setattr(dynamo, "transact", self._interfered)

    def _interfered(self, writes: list[Write], **options: Any) -> None:
        if self.remaining:
            self.remaining -= 1
            before, self.remaining = self.remaining, 0
            self._act()
            self.remaining = before
        self._transact(writes, **options)


def test_a_load_is_repeated_for_entries_that_another_load_changed(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [entry(f"user-{n}@x.test", description="mine") for n in range(250)]
    others = [entry(f"user-{n}@x.test", source="Bounce Rule") for n in range(100, 103)]
    Interference(monkeypatch, lambda: service.add_all(account, None, others), 1)
    service.put_all(account, None, many)
    assert summary(account) == summary_of_entries(account, None)
    assert (summary(account)["bounce_rule"], summary(account)["total"]) == (3, 250)
    assert {each.description for each in everything(account, None)} == {"mine"}


def test_a_load_leaves_an_entry_that_compliance_adds_at_the_same_time(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [entry(f"user-{n}@x.test") for n in range(3)]
    banned = [entry("user-1@x.test", source="Compliance")]
    Interference(monkeypatch, lambda: service.impose_all(account, None, banned), 1)
    refusal = service.load_all(account, None, many)
    assert refusal is not None
    assert refusal.errors[0]["description"].endswith("compliance added: user-1@x.test")
    assert (summary(account)["manually_added"], summary(account)["compliance"]) == (2, 1)


def test_an_update_at_the_same_time_as_a_removal_creates_the_entry_again(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = entry("ann@x.test", list_id="news")
    service.put_all(account, None, [new])
    Interference(
        monkeypatch, lambda: removal.remove(account, None, "ann@x.test", BLOCKING, "news"), 1
    )
    service.put_all(account, None, [new])
    holds = lookup_items.blocking(account, None, ["ann@x.test"], transactional=False)
    assert holds["ann@x.test"].holds_back("news")
    assert summary(account)["total"] == 1


def test_a_removal_leaves_an_entry_that_is_written_at_the_same_time(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.put_all(account, None, [entry("ann@x.test"), entry("ann@x.test", list_id="news")])
    other = entry("ann@x.test", list_id="sports")
    Interference(monkeypatch, lambda: service.put_all(account, None, [other]), 1)
    removal.remove(account, None, "ann@x.test", BLOCKING, "")
    assert [each.list_id for each in everything(account, None)] == ["news", "sports"]
    holds = lookup_items.blocking(account, None, ["ann@x.test"], transactional=False)
    assert holds["ann@x.test"].holds_back("sports")
    assert not holds["ann@x.test"].holds_back("")
    assert summary(account)["total"] == 2


@pytest.mark.spec("7-t13")
def test_a_write_whose_transactions_all_fail_ends_in_503(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(writes: list[Write], **options: Any) -> None:
        raise TransactionFailed([0])

    service.put_all(account, None, [entry("ann@x.test")])
    monkeypatch.setattr(dynamo, "transact", refuse)
    with pytest.raises(Unavailable):
        service.put_all(account, None, [entry("ann@x.test")])
    with pytest.raises(Unavailable):
        removal.remove(account, None, "ann@x.test", TYPES)


@pytest.mark.spec("4.8-r2")
def test_a_load_that_failed_half_way_is_completed_by_repeating_it(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [entry(f"user-{n}@x.test") for n in range(300)]
    transact = dynamo.transact
    outcomes = iter([True, False])

    def break_off(writes: list[Write], **options: Any) -> None:
        if not next(outcomes, True):
            raise RuntimeError("the process died")
        transact(writes, **options)

    monkeypatch.setattr(dynamo, "transact", break_off)
    with pytest.raises(RuntimeError):
        service.put_all(account, None, many)
    assert 0 < summary(account)["total"] < 300
    service.put_all(account, None, many)
    assert summary(account) == summary_of_entries(account, None)
    assert summary(account)["total"] == 300


def test_the_largest_descriptions_fit_a_load(account: int) -> None:
    def large(number: int) -> SuppressionEntry:
        return entry(f"user-{number}@x.test", description="\x01" * LONGEST_DESCRIPTION)

    service.put_all(account, 7, [large(n) for n in range(120)])
    service.put_all(account, 7, [large(n) for n in range(120)])
    assert summary(account)["total"] == 120
