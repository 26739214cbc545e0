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
from chalicelib.suppression import service
from chalicelib.suppression.model import BLOCKING, LONGEST_DESCRIPTION, SOURCES, TYPES, Entry
from chalicelib.suppression.search import everything
from chalicelib.suppression.store import counts
from chalicelib.suppression.store.items import parts_in, read_recipient
from chalicelib.suppression.store.lookup_items import lists_of
from tests.fake_cloud import aws_requests
from tests.unit.suppression.examples import entry

MOST_REQUESTS = 420


def summary(account: int, part: int | None = None) -> dict[str, int]:
    scope = Scope(account, part)
    return counts.summary(scope, parts_in(scope))


def counted(account: int, *owners: int | None) -> dict[str, int]:
    """Return the summary that the entries of these lists themselves make."""
    found = [each for owner in owners for each in everything(account, owner)]
    by_source = Counter(SOURCES[each.source] for each in found)
    names = set(summary(account)) - {"total"}
    return {name: by_source[name] for name in names} | {"total": len(found)}


@pytest.mark.spec("4.8-t1")
@pytest.mark.spec("8-t10")
@pytest.mark.parametrize(("owner", "list_id"), [(None, None), (7, "news")])
def test_a_load_of_a_thousand_takes_its_share_of_the_requests_for_ten_thousand(
    account: int, owner: int | None, list_id: str | None
) -> None:
    many = [entry(f"user-{n}@x.test", list_id=list_id) for n in range(1000)]
    for _ in ("new", "there already"):
        with aws_requests() as made:
            service.put_all(account, owner, many)
        assert len(made) <= MOST_REQUESTS / 10
        assert {request.operation for request in made} == {"BatchGetItem", "TransactWriteItems"}
        assert summary(account)["total"] == 1000


@pytest.mark.spec("4.8-t6")
@pytest.mark.spec("4.8-r2")
def test_counts_are_exact_whoever_writes_at_the_same_time(account: int) -> None:
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
            act = rng.choice([service.put_all, service.add_all, service.impose_all, None])
            if act:
                act(account, owner, some)
                continue
            with suppress(NotFound):
                service.remove(account, owner, rng.choice(recipients), BLOCKING)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, seed) for seed in range(4)]:
            done.result()
    assert summary(account) == counted(account, None, 7)
    assert summary(account, 7) == counted(account, 7)
    assert summary(account, 0) == counted(account, None)
    for recipient in recipients:
        items = read_recipient(Scope(account, None), recipient)
        named = {(sk, name) for (_, sk), slot in items.items() for name in lists_of(slot)}
        rows = {(f"{sk.rsplit('#', 1)[0]}#", sk.rsplit("#", 1)[1]) for _, sk in items}
        assert named == {(slot, name) for slot, name in rows if name}


class Interference:
    """Lets somebody else write right before each of the first transactions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any], times: int) -> None:
        self.left = times
        self._transact, self._act = dynamo.transact, act
        monkeypatch.setattr(dynamo, "transact", self._interfered)

    def _interfered(self, writes: list[Write], **options: Any) -> None:
        if self.left:
            self.left -= 1
            before, self.left = self.left, 0
            self._act()
            self.left = before
        self._transact(writes, **options)


def test_a_load_that_meets_another_one_is_planned_again(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [entry(f"user-{n}@x.test", description="mine") for n in range(250)]
    others = [entry(f"user-{n}@x.test", source="Bounce Rule") for n in range(100, 103)]
    Interference(monkeypatch, lambda: service.add_all(account, None, others), 1)
    service.put_all(account, None, many)
    assert summary(account) == counted(account, None)
    assert (summary(account)["bounce_rule"], summary(account)["total"]) == (3, 250)
    assert {each.description for each in everything(account, None)} == {"mine"}


def test_an_update_that_meets_a_removal_creates_the_entry_again(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = entry("ann@x.test", list_id="news")
    service.put_all(account, None, [made])
    Interference(
        monkeypatch, lambda: service.remove(account, None, "ann@x.test", BLOCKING, "news"), 1
    )
    service.put_all(account, None, [made])
    held = service.blocking(account, None, ["ann@x.test"], transactional=False)
    assert held["ann@x.test"].holds_back("news")
    assert summary(account)["total"] == 1


def test_a_removal_that_meets_another_list_s_entry_leaves_that(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.put_all(account, None, [entry("ann@x.test"), entry("ann@x.test", list_id="news")])
    other = entry("ann@x.test", list_id="sports")
    Interference(monkeypatch, lambda: service.put_all(account, None, [other]), 1)
    service.remove(account, None, "ann@x.test", BLOCKING, "")
    assert [each.list_id for each in everything(account, None)] == ["news", "sports"]
    found = service.blocking(account, None, ["ann@x.test"], transactional=False)
    assert found["ann@x.test"].holds_back("sports")
    assert not found["ann@x.test"].holds_back("")
    assert summary(account)["total"] == 2


@pytest.mark.spec("7-t13")
def test_writers_that_never_agree_end_in_503(account: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(writes: list[Write], **options: Any) -> None:
        raise TransactionFailed([0])

    service.put_all(account, None, [entry("ann@x.test")])
    monkeypatch.setattr(dynamo, "transact", refuse)
    with pytest.raises(Unavailable):
        service.put_all(account, None, [entry("ann@x.test")])
    with pytest.raises(Unavailable):
        service.remove(account, None, "ann@x.test", TYPES)


@pytest.mark.spec("4.8-r2")
def test_a_load_that_broke_off_is_completed_by_sending_it_again(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [entry(f"user-{n}@x.test") for n in range(300)]
    transact = dynamo.transact
    left = iter([True, False])

    def break_off(writes: list[Write], **options: Any) -> None:
        if not next(left, True):
            raise RuntimeError("the process died")
        transact(writes, **options)

    monkeypatch.setattr(dynamo, "transact", break_off)
    with pytest.raises(RuntimeError):
        service.put_all(account, None, many)
    assert 0 < summary(account)["total"] < 300
    service.put_all(account, None, many)
    assert summary(account) == counted(account, None)
    assert summary(account)["total"] == 300


def test_the_largest_descriptions_fit_a_load(account: int) -> None:
    def large(number: int) -> Entry:
        return entry(f"user-{number}@x.test", description="\x01" * LONGEST_DESCRIPTION)

    service.put_all(account, 7, [large(n) for n in range(120)])
    service.put_all(account, 7, [large(n) for n in range(120)])
    assert summary(account)["total"] == 120
