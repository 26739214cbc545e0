from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.ab_tests.model import HOUR_MS, AbTest
from chalicelib.ab_tests.store import sample, versions
from chalicelib.core import clock, due, dynamo
from tests.fake_cloud import aws_requests
from tests.unit.ab_tests.examples import START, again, by_percent, by_size, stored

pytestmark = pytest.mark.usefixtures("cloud")


def take(test: AbTest, message: str, first: int = 0) -> str | None:
    """Take a place for a message that prefers template ``first``."""
    shares = list(test.shares)
    share = sample.take(test, message, shares[first:] + shares[:first])
    return share.template_id if share else None


def test_each_template_is_taken_as_often_as_its_size_says() -> None:
    test = stored(by_size(3, 2, 1))
    templates = [take(test, f"m{number}") for number in range(8)]
    assert Counter(templates) == {"t0": 3, "t1": 2, "t2": 1, None: 2}
    assert templates[-2:] == [None, None]


def test_the_preferred_template_is_taken_while_it_has_room() -> None:
    test = stored(by_size(3, 2, 1))
    assert [take(test, f"m{number}", 1) for number in range(4)] == ["t1", "t1", "t2", "t0"]


def test_a_message_takes_one_place_however_often_it_is_generated() -> None:
    test = stored(by_size(2, 2))
    assert [take(test, "m1", 1) for _ in range(3)] == ["t1"] * 3
    assert [take(test, "m1", 0) for _ in range(3)] == ["t1"] * 3
    templates = [take(test, f"n{number}") for number in range(4)]
    assert Counter(templates) == {"t0": 2, "t1": 1, None: 1}
    assert take(test, "m1") == "t1"


def test_a_sample_by_percent_is_limited_as_a_whole() -> None:
    test = stored(by_percent(50, 50, total_sample_size=3))
    assert [take(test, f"m{number}") for number in range(5)] == ["t0", "t0", "t0", None, None]


def test_two_versions_have_samples_of_their_own() -> None:
    test = stored(by_size(1, 1))
    other = replace(test, version=2)
    versions.supersede(test, other, sample.begin(other))
    assert [take(each, "m1") for each in (test, other)] == ["t0", "t0"]
    assert [take(each, "m2") for each in (test, other)] == ["t1", "t1"]


def test_the_last_place_writes_the_end_of_the_sample() -> None:
    test = stored(by_size(1, 1, test_mode="learning"))
    now = START + 5000
    with clock.use(lambda: now / 1000):
        take(test, "m1")
        assert again(test).sampled_ms is None
        take(test, "m2")
    ended = again(test)
    assert (ended.sampled_ms, ended.due_ms) == (now, now + 2 * HOUR_MS)
    assert ended.revision != test.revision
    entries = due.find(versions.CONCERN, now + 2 * HOUR_MS)
    assert [entry.at_ms for entry in entries] == [now + 2 * HOUR_MS]
    assert not ended.tries(now)


def test_a_sample_of_one_is_used_up_by_its_first_message() -> None:
    test = stored(by_percent(50, 50, total_sample_size=1))
    assert [take(test, "m1"), take(test, "m2")] == ["t0", None]
    assert again(test).sampled_ms is not None


def test_the_end_is_written_by_the_last_of_many_at_once(monkeypatch: Any) -> None:
    test = stored(by_size(2, 2))
    transact = dynamo.transact

    def others_come_first(writes: Any, **options: Any) -> None:
        monkeypatch.setattr(dynamo, "transact", transact)
        assert [take(test, f"o{number}") for number in range(3)] == ["t0", "t0", "t1"]
        transact(writes, **options)

    monkeypatch.setattr(dynamo, "transact", others_come_first)
    assert take(test, "m1") == "t1"
    assert again(test).sampled_ms is not None
    assert take(test, "m2") is None


def test_a_test_that_was_cancelled_or_deleted_gives_no_last_place() -> None:
    test = stored(by_size(1, 1))
    take(test, "m1")
    versions.update(test, replace(test, state="cancelled", due_ms=None))
    assert take(test, "m2") is None
    versions.delete(again(test))
    assert take(test, "m3") is None


def test_a_crash_before_the_transaction_takes_no_place(monkeypatch: Any) -> None:
    test = stored(by_size(1, 1))

    def crash(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(dynamo, "transact", crash)
    with pytest.raises(MemoryError):
        take(test, "m1")
    monkeypatch.undo()
    assert [take(test, f"m{number}") for number in range(3)] == ["t0", "t1", None]


@pytest.mark.cost
def test_a_place_costs_one_request_while_there_is_room() -> None:
    test = stored(by_size(5, 5))
    with aws_requests() as requests:
        take(test, "m1")
    assert [request.operation for request in requests] == ["TransactWriteItems"]


def test_a_test_without_a_sample_size_stores_no_sample() -> None:
    assert sample.begin(by_percent(50, 50)) == []


def test_a_place_that_is_given_back_is_taken_by_another_message() -> None:
    test = stored(by_size(2, 1))
    assert [take(test, "m1", 1), take(test, "m2", 1)] == ["t1", "t0"]
    for _ in range(2):
        sample.give_back(test, "m1")
    assert [take(test, f"n{number}", 1) for number in range(3)] == ["t1", "t0", None]


@pytest.mark.parametrize("sizes", [(1, 1), (2,)])
def test_a_sample_goes_on_when_its_last_place_is_given_back(sizes: tuple[int, ...]) -> None:
    test = stored(by_size(*sizes, test_mode="learning"))
    with clock.use(lambda: (START + 5000) / 1000):
        templates = [take(test, message) for message in ("m1", "m2")]
        assert again(test).sampled_ms is not None
        sample.give_back(test, "m2")
    present = again(test)
    assert (present.sampled_ms, present.due_ms) == (None, test.due_ms)
    assert present.tries(START + 6000)
    assert test.due_ms is not None
    assert versions.due_entry(test) in due.find(versions.CONCERN, test.due_ms)
    assert take(present, "m3") == templates[1]
    assert again(test).sampled_ms is not None


def test_a_version_that_has_ended_takes_no_last_place_back() -> None:
    test = stored(by_size(1, 1))
    for message in ("m1", "m2"):
        take(test, message)
    ended = replace(again(test), state="completed", due_ms=None)
    versions.update(again(test), ended)
    sample.give_back(test, "m2")
    assert again(test).sampled_ms == ended.sampled_ms
    assert take(test, "m2") == "t1"


@pytest.mark.cost
def test_a_message_that_took_no_place_gives_none_back() -> None:
    test = stored(by_size(1, 1))
    take(test, "m1")
    sample.give_back(test, "m2")
    assert [take(test, f"n{number}") for number in range(2)] == ["t1", None]
    with aws_requests() as requests:
        sample.give_back(by_percent(50, 50), "m1")
    assert requests == []


def test_a_place_is_given_back_while_another_message_takes_the_last_one(monkeypatch: Any) -> None:
    test = stored(by_size(1, 2))
    assert [take(test, f"m{number}") for number in range(2)] == ["t0", "t1"]
    transact = dynamo.transact

    def another_comes_first(writes: Any, **options: Any) -> None:
        monkeypatch.setattr(dynamo, "transact", transact)
        assert take(test, "m2") == "t1"
        transact(writes, **options)

    monkeypatch.setattr(dynamo, "transact", another_comes_first)
    sample.give_back(test, "m0")
    assert again(test).sampled_ms is None
    assert [take(test, f"n{number}") for number in range(2)] == ["t0", None]
