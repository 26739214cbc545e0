"""Keep the versions of A/B tests.

Access patterns of ``config``:

- one version of a test → ``ab_test#<account>#<test id>`` / ``version#<number>``
- all versions of a test, the latest one last → ``ab_test#<account>#<test id>`` / ``version#*``
- tests of an account, each in its latest version → ``account#<account>/ab_tests`` [by_owner]
- tests of one owner, each in its latest version → ``account#<account>/ab_tests`` / ``<owner>/*``
  [by_owner]
- what depends on a version (its sample and its counts) → ``ab_test#<account>#<test id>`` /
  ``of#<number>#*``
- versions to check for a winner or the end → ``due#ab_tests`` /
  ``<ms>#<account>#<test id>#<number>`` (``core.due``)

A change is one transaction, on the condition that the record is as it was read (``revision``). The
transaction also makes the version due for its next check; a due entry for another time than the
record's ``due_ms`` is stale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, NotRequired, cast

from chalicelib.ab_tests.model import AbTest, Counts, Share, shown_fields
from chalicelib.core import audit, due, dynamo
from chalicelib.core.due import Due
from chalicelib.core.dynamo import Key, Keyed, Table, TransactionFailed, Write, attributes_of
from chalicelib.core.owner_keys import account_partition, owned_items, owner_digits, owner_prefix
from chalicelib.core.scope import Scope

CONCERN = "ab_tests"

_VERSIONS = "version#"
_PARTS = "of#"
_MOST_AT_ONCE = 98  # older versions deleted in the transaction that deletes the latest one


class AbTestItem(Keyed):
    """A version of a test: the fields of ``AbTest``."""

    #: The keys of the index, of the latest version only
    owner: NotRequired[str]
    owner_key: NotRequired[str]
    account_id: int
    subaccount_id: int | None
    id: str
    version: int
    name: str
    state: str
    #: The fields of ``Share``
    default_template: dict[str, Any]
    created_ms: int
    updated_ms: int
    #: The fields of ``Share``
    variants: list[dict[str, Any]]
    metric: str | None
    audience_selection: str | None
    test_mode: str | None
    start_ms: int | None
    end_ms: int | None
    total_sample_size: int | None
    confidence_level: float
    #: In hours
    engagement_timeout: int
    sampled_ms: int | None
    ended_ms: int | None
    due_ms: int | None
    winning_template_id: str | None
    #: By template, the fields of ``Counts``
    counts: dict[str, dict[str, int]]
    #: The revision
    stamp: str


table: Table[AbTestItem] = Table("config")
_FIELDS = tuple(name for name in AbTest.__slots__ if name != "revision")


def latest(account_id: int, test_id: str) -> AbTest | None:
    """Return the latest version of a test, or ``None``."""
    page = table.query(
        "#pk = :pk AND begins_with(#sk, :versions)",
        {"pk": partition(account_id, test_id), "versions": _VERSIONS},
        newest_first=True,
        limit=1,
        consistent=True,
    )
    return _from_item(page.items[0]) if page.items else None


def version(account_id: int, test_id: str, number: int) -> AbTest | None:
    """Return one version of a test, or ``None``."""
    item = table.get(partition(account_id, test_id), _sort_key(number))
    return _from_item(item) if item else None


def in_scope(scope: Scope) -> Iterator[AbTest]:
    """Yield the latest version of each test in scope, by owner and id."""
    prefix = owner_prefix(scope, "/")
    return map(_from_item, owned_items(table, scope.account_id, "ab_tests", prefix))


def create(new: AbTest, also: Sequence[Write] = ()) -> bool:
    """Store the first version of a test; return ``False`` if its account has a test of this id.

    Raises ``TransactionFailed`` if a condition of ``also`` does not hold.
    """
    if latest(new.account_id, new.id) is not None:
        return False
    try:
        dynamo.transact([_creation(new), *also, *_due_check(new), *_line(None, new)])
    except TransactionFailed as failure:
        if 0 not in failure.failed:
            raise
        return False
    return True


def update(old: AbTest, new: AbTest, also: Sequence[Write] = ()) -> None:
    """Replace a version by another form of it; raises ``TransactionFailed`` if it has changed."""
    change = dynamo.put(table, _to_item(new), **_unchanged(old))
    dynamo.transact([change, *also, *_due_check(new), *_line(old, new)])


def supersede(old: AbTest, new: AbTest, also: Sequence[Write] = ()) -> None:
    """Store the next version of a test; raises ``TransactionFailed`` if the old one has changed."""
    step_back = dynamo.update(
        table,
        *key(old),
        "REMOVE #owner, #owner_key SET #stamp = :new",
        values={"seen": old.revision, "new": dynamo.draw_revision()},
        condition="#stamp = :seen",
    )
    dynamo.transact([step_back, _creation(new), *also, *_due_check(new), *_line(old, new)])


def delete(test: AbTest) -> None:
    """Delete a test by its latest version; raises ``TransactionFailed`` if that has changed.

    All versions are deleted at once, so that no old one becomes the latest. The items that depend
    on them are deleted afterwards; after a crash the rest of these items expires.
    """
    pk, last = key(test)
    older = [sk for sk in _sort_keys(pk, _VERSIONS) if sk != last]
    surplus, older = older[:-_MOST_AT_ONCE], older[-_MOST_AT_ONCE:]
    table.write_all([], delete=[(pk, sk) for sk in surplus])
    removals = [dynamo.delete(table, pk, sk) for sk in older]
    latest_removal = dynamo.delete(table, pk, last, **_unchanged(test))
    dynamo.transact([latest_removal, *removals, *_line(test, None)])
    table.write_all([], delete=[(pk, sk) for sk in _sort_keys(pk, _PARTS)])


def withdraw(draft: AbTest) -> None:
    """Delete a draft, so that the version before it, if there is one, is the latest again.

    Raises ``TransactionFailed`` if the draft has changed.
    """
    pk, last = key(draft)
    older = [sk for sk in _sort_keys(pk, _VERSIONS) if sk != last]
    writes = [dynamo.delete(table, pk, last, **_unchanged(draft)), *_line(draft, None)]
    if older:
        change = "SET #owner = :owner, #owner_key = :owner_key, #stamp = :stamp"
        values = _owner_keys(draft) | {"stamp": dynamo.draw_revision()}
        writes.append(dynamo.update(table, pk, older[-1], change, values=values))
    dynamo.transact(writes)


def delete_version(test: AbTest) -> None:
    """Delete a version that is not the latest, with the items that depend on it."""
    pk, sk = key(test)
    parts = _sort_keys(pk, part_key(test.version, ""))
    removals = [dynamo.delete(table, pk, each) for each in [sk, *parts[:_MOST_AT_ONCE]]]
    dynamo.transact([*removals, *_line(test, None)])
    table.write_all([], delete=[(pk, each) for each in parts[_MOST_AT_ONCE:]])


def due_entry(test: AbTest) -> Due:
    """Return the entry that makes a version due for its check at ``due_ms``."""
    assert test.due_ms is not None
    data = {"account_id": test.account_id, "id": test.id, "version": test.version}
    return Due(CONCERN, test.due_ms, f"{test.account_id}#{test.id}#{test.version}", data)


def key(test: AbTest) -> Key:
    """Return the key of a version's record."""
    return partition(test.account_id, test.id), _sort_key(test.version)


def part_key(number: int, name: str) -> str:
    """Return the sort key of an item that depends on a version."""
    return f"{_PARTS}{number:08d}#{name}"


def partition(account_id: int, test_id: str) -> str:
    """Return the partition key of everything about a test."""
    return f"ab_test#{account_id}#{test_id}"


def _line(old: AbTest | None, new: AbTest | None) -> list[Write]:
    test = new or old
    assert test is not None
    before, after = (shown_fields(each) if each else None for each in (old, new))
    return audit.line(test.id, before, after, subaccount_id=test.subaccount_id)


def _unchanged(test: AbTest) -> dict[str, Any]:
    return dynamo.if_unchanged("stamp", test.revision)


def _due_check(new: AbTest) -> list[Write]:
    return [due.addition(due_entry(new))] if new.due_ms is not None else []


def _creation(new: AbTest) -> Write:
    return dynamo.put(table, _to_item(new), condition="attribute_not_exists(#pk)")


def _sort_keys(pk: str, prefix: str) -> list[str]:
    items = table.query_all(
        "#pk = :pk AND begins_with(#sk, :prefix)", {"pk": pk, "prefix": prefix}, consistent=True
    )
    return [item["sk"] for item in items]


def _sort_key(number: int) -> str:
    return f"{_VERSIONS}{number:08d}"


def _owner_keys(test: AbTest) -> dict[str, str]:
    return {
        "owner": account_partition(test.account_id, "ab_tests"),
        "owner_key": f"{owner_digits(test.subaccount_id)}/{test.id}",
    }


def _to_item(test: AbTest) -> AbTestItem:
    pk, sk = key(test)
    fields = asdict(test)
    del fields["revision"]
    keys = {"stamp": dynamo.draw_revision(), "pk": pk, "sk": sk}
    return cast(AbTestItem, fields | keys | _owner_keys(test))


def _from_item(item: AbTestItem) -> AbTest:
    fields = attributes_of(item, _FIELDS)
    fields["revision"] = item["stamp"]
    fields["default_template"] = Share(**item["default_template"])
    fields["variants"] = tuple(Share(**each) for each in item["variants"])
    fields["counts"] = {name: Counts(**each) for name, each in item["counts"].items()}
    return AbTest(**fields)
