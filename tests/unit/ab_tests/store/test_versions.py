from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.ab_tests.model import AbTest, Counts
from chalicelib.ab_tests.store import counts, sample, versions
from chalicelib.ab_tests.store.counts import Engagement, TestVersion
from chalicelib.core import due
from chalicelib.core.dynamo import Table, TransactionFailed
from chalicelib.core.scope import Scope
from tests.fake_cloud import aws_requests
from tests.unit.ab_tests.examples import START, again, by_percent, by_size, stored

pytestmark = pytest.mark.usefixtures("cloud")


def sort_keys(test: AbTest) -> list[str]:
    """Return the sort keys of all items of a test."""
    pk = {"pk": versions.partition(test.account_id, test.id)}
    return [item["sk"] for item in Table("config").query_all("#pk = :pk", pk)]


def ids_in_scope(scope: Scope) -> list[tuple[str, int]]:
    return [(test.id, test.version) for test in versions.in_scope(scope)]


def next_version(test: AbTest, **fields: object) -> AbTest:
    new = replace(test, version=test.version + 1, due_ms=None, **fields)  # type: ignore[arg-type]
    versions.supersede(again(test), new, sample.begin(new))
    return again(new)


@pytest.mark.parametrize(
    "test",
    [
        by_size(5, 5, total_sample_size=10, subaccount_id=7),
        by_percent(33.3, 66.7, end_ms=None, confidence_level=0.999),
        by_percent(
            50,
            50,
            state="completed",
            ended_ms=START,
            sampled_ms=START - 1,
            winning_template_id="t1",
            counts={"t0": Counts(3, 2, 1), "t1": Counts()},
        ),
    ],
)
def test_a_test_is_read_as_it_was_stored(test: AbTest) -> None:
    assert versions.create(test)
    present = again(test)
    assert replace(present, revision="") == test


def test_an_id_is_taken_once_in_an_account() -> None:
    stored(by_size(5, 5))
    assert not versions.create(by_size(1, 1, subaccount_id=7))
    assert versions.create(by_size(1, 1, account_id=2))


def test_the_latest_version_is_found_and_listed() -> None:
    test = stored(by_size(5, 5))
    for _ in range(10):
        test = next_version(test, name="Newer")
    present = versions.latest(1, "welcome")
    assert present is not None
    assert (present.version, present.name) == (11, "Newer")
    assert ids_in_scope(Scope(1, 0)) == [("welcome", 11)]
    older = versions.version(1, "welcome", 1)
    assert older is not None
    assert older.name == "Welcome"
    assert versions.latest(1, "other") is None


def test_a_scope_lists_its_own_tests() -> None:
    for number, sub in enumerate([None, 7, 8]):
        stored(by_size(5, 5, id=f"test-{number}", subaccount_id=sub))
    stored(by_size(5, 5, account_id=2, id="other"))
    assert [name for name, _ in ids_in_scope(Scope(1, None))] == ["test-0", "test-1", "test-2"]
    assert [name for name, _ in ids_in_scope(Scope(1, 0))] == ["test-0"]
    assert [name for name, _ in ids_in_scope(Scope(1, 7))] == ["test-1"]


def test_a_change_of_an_outdated_record_fails() -> None:
    old = stored(by_size(5, 5))
    versions.update(old, replace(old, name="First"))
    with pytest.raises(TransactionFailed):
        versions.update(old, replace(old, name="Second"))
    with pytest.raises(TransactionFailed):
        versions.supersede(old, replace(old, version=2))
    with pytest.raises(TransactionFailed):
        versions.delete(old)
    with pytest.raises(TransactionFailed):
        versions.withdraw(old)
    assert again(old).name == "First"
    assert sort_keys(old) == ["of#00000001#sample", "version#00000001"]


def test_a_version_is_stored_with_its_due_entry() -> None:
    test = stored(by_size(5, 5))
    (entry,) = due.find(versions.CONCERN, START * 2)
    assert (entry.at_ms, entry.data) == (
        test.due_ms,
        {"account_id": 1, "id": "welcome", "version": 1},
    )
    assert due.find(versions.CONCERN, entry.at_ms - 1) == []


def test_a_change_that_fails_makes_nothing_due() -> None:
    old = stored(by_size(5, 5))
    versions.update(old, replace(old, name="First"))
    with pytest.raises(TransactionFailed):
        versions.update(old, replace(old, due_ms=START + 77))
    assert [entry.at_ms for entry in due.find(versions.CONCERN, START * 2)] == [old.due_ms]


def test_a_deleted_test_leaves_no_item() -> None:
    test = next_version(stored(by_size(5, 5)))
    counts.add(TestVersion(1, "welcome", 1), [Engagement("t1", "opened", "m1")])
    assert len(sort_keys(test)) == 5
    versions.delete(test)
    assert sort_keys(test) == []
    assert ids_in_scope(Scope(1, None)) == []


def test_a_test_of_very_many_versions_is_deleted_too() -> None:
    test = stored(by_size(5, 5))
    Table("config").write_all(
        [
            {"pk": versions.partition(1, "welcome"), "sk": f"version#{number:08d}"}
            for number in range(2, 120)
        ]
    )
    last = replace(test, version=120, due_ms=None)
    versions.supersede(test, last)
    versions.delete(again(last))
    assert sort_keys(last) == []


def test_an_old_version_is_deleted_with_what_depends_on_it() -> None:
    first = stored(by_size(5, 5))
    second = next_version(first)
    counts.add(TestVersion(1, "welcome", 1), [Engagement("t1", "opened", "m1")])
    counts.add(TestVersion(1, "welcome", 2), [Engagement("t1", "opened", "m1")])
    versions.delete_version(first)
    assert sort_keys(second) == ["of#00000002#counts#t1", "of#00000002#sample", "version#00000002"]


def test_a_draft_is_withdrawn_and_the_version_before_it_is_the_latest_again() -> None:
    first = stored(by_size(5, 5))
    draft = next_version(first, state="draft")
    versions.withdraw(draft)
    present = versions.latest(1, "welcome")
    assert present is not None
    assert present.version == 1
    assert ids_in_scope(Scope(1, 0)) == [("welcome", 1)]


def test_a_withdrawn_draft_of_a_first_version_leaves_no_item() -> None:
    draft = stored(by_size(5, 5, state="draft"))
    versions.withdraw(draft)
    assert sort_keys(draft) == []


@pytest.mark.cost
def test_reading_a_test_for_a_transmission_costs_one_request() -> None:
    stored(by_size(5, 5))
    with aws_requests() as requests:
        versions.latest(1, "welcome")
    assert len(requests) == 1
