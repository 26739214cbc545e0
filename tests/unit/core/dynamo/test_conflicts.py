from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from chalicelib.core import dynamo
from chalicelib.core.dynamo import (
    ConditionFailed,
    Table,
    TransactionFailed,
    WriteConflict,
    if_unchanged,
    retry_conflicts,
    update_record,
)
from chalicelib.core.dynamo.conflicts import MOST_ATTEMPTS
from chalicelib.core.errors import Unavailable
from tests.fake_cloud import aws_requests

config = Table("config")


@dataclass(frozen=True)
class Thing:
    name: str
    count: int
    revision: int


def read() -> Thing | None:
    item = config.get("thing", "thing")
    return Thing(item["name"], item["count"], item["revision"]) if item else None


def as_item(thing: Thing) -> dict[str, Any]:
    return {"pk": "thing", "sk": "thing"} | vars(thing)


def write(before: Thing, after: Thing) -> None:
    after = replace(after, revision=before.revision + 1)
    config.put(as_item(after), **if_unchanged("revision", before.revision))


def write_in_transaction(before: Thing, after: Thing) -> None:
    after = replace(after, revision=before.revision + 1)
    dynamo.transact(
        [
            dynamo.put(config, as_item(after), **if_unchanged("revision", before.revision)),
            dynamo.put(config, {"pk": "log", "sk": f"{after.revision}"}),
        ]
    )


Writer = Callable[[Thing, Thing], None]
WRITERS = pytest.mark.parametrize("writer", [write, write_in_transaction])


@pytest.fixture
def thing(cloud: None) -> Thing:
    config.put(as_item(Thing("a", 1, 1)))
    return Thing("a", 1, 1)


def rename_elsewhere() -> None:
    thing = read()
    assert thing
    write(thing, replace(thing, name=f"{thing.name}+"))


@WRITERS
def test_an_update_writes_what_edit_makes_of_the_record(thing: Thing, writer: Writer) -> None:
    def increment(thing: Thing) -> Thing:
        return replace(thing, count=thing.count + 1)

    assert update_record(read, increment, writer) == Thing("a", 2, 1)
    assert read() == Thing("a", 2, 2)


@WRITERS
def test_an_update_that_another_writer_overtakes_starts_from_the_new_record(
    thing: Thing, writer: Writer, no_pauses: list[float]
) -> None:
    seen: list[Thing] = []

    def increment(thing: Thing) -> Thing:
        seen.append(thing)
        if len(seen) < 3:
            rename_elsewhere()
        return replace(thing, count=thing.count + 1)

    update_record(read, increment, writer)
    assert [each.name for each in seen] == ["a", "a+", "a++"]
    assert read() == Thing("a++", 2, 4)
    assert len(no_pauses) == 2


@WRITERS
def test_an_update_that_is_always_overtaken_is_refused_with_503(
    thing: Thing, writer: Writer, no_pauses: list[float]
) -> None:
    calls = []

    def increment(thing: Thing) -> Thing:
        calls.append(thing)
        rename_elsewhere()
        return replace(thing, count=thing.count + 1)

    with pytest.raises(Unavailable):
        update_record(read, increment, writer)
    assert len(calls) == MOST_ATTEMPTS
    assert sum(no_pauses) < 3.5


@pytest.mark.cost
def test_an_edit_that_changes_nothing_writes_nothing(thing: Thing) -> None:
    with aws_requests() as requests:
        assert update_record(read, lambda thing: thing, write) == thing
    assert [request.operation for request in requests] == ["GetItem"]


def test_a_record_that_does_not_exist_is_not_updated(cloud: None) -> None:
    assert update_record(read, lambda thing: pytest.fail("no record"), write) is None


def test_what_an_edit_raises_passes_through(thing: Thing) -> None:
    def refuse(thing: Thing) -> Thing:
        raise PermissionError

    with pytest.raises(PermissionError):
        update_record(read, refuse, write)


def test_conflicts_of_single_writes_and_of_transactions_are_retried() -> None:
    conflicts: list[Exception] = [ConditionFailed(None), TransactionFailed([0]), WriteConflict()]

    def attempt() -> str:
        if conflicts:
            raise conflicts.pop()
        return "done"

    assert retry_conflicts(attempt) == "done"


def test_only_the_named_exception_is_retried() -> None:
    def attempt() -> None:
        raise ConditionFailed(None)

    with pytest.raises(ConditionFailed):
        retry_conflicts(attempt, on=LookupError)


def test_a_record_without_a_revision_is_unchanged_while_it_has_none(cloud: None) -> None:
    config.put({"pk": "a", "sk": "b", "n": 1}, **if_unchanged("revision", None))
    config.put({"pk": "a", "sk": "b", "revision": 1}, **if_unchanged("revision", None))
    with pytest.raises(ConditionFailed):
        config.put({"pk": "a", "sk": "b", "revision": 2}, **if_unchanged("revision", None))
