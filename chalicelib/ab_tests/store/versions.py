"""Where A/B tests are kept.

Access patterns (table ``config``):

- one version of a test → ``pk = ab_test#<account>#<test id>``, ``sk = version#<number>``
- the latest version → the same ``pk``, the last ``sk`` that begins with ``version#``
- tests of an account, each in its latest version → index ``by_owner``:
  ``owner = account#<id>/ab_tests``, ``owner_key = <subaccount>/<test id>``; those of one owner →
  ``owner_key`` begins with ``<subaccount>/``
- what is kept beside a version's record → the same ``pk``, ``sk`` begins with ``of#<number>#``;
  that is what is left of its sample (``sample``) and its counts (``engagement``)
- versions that somebody has to look at → concern ``ab_tests`` of ``core.due``

A change is one transaction, on the condition that the record is as it was read (``stamp``). It also
notes when the version is due next; a note for another time than the record's ``due_ms`` is stale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from chalicelib.ab_tests.model import AbTest, Counts, Share
from chalicelib.core import due, dynamo, leases
from chalicelib.core.due import Due
from chalicelib.core.dynamo import Item, Table, TransactionFailed, Write
from chalicelib.core.owner_keys import account_partition, owned_items, owner_digits, owner_prefix
from chalicelib.core.scope import Scope

CONCERN = "ab_tests"

_VERSIONS = "version#"
_PARTS = "of#"
_MOST_AT_ONCE = 99  # versions beside the latest one in a transaction

_config = Table("config")


def latest(account_id: int, test_id: str) -> AbTest | None:
    """Return the latest version of a test, or ``None``."""
    page = _config.query(
        "#pk = :pk AND begins_with(#sk, :versions)",
        {"pk": partition(account_id, test_id), "versions": _VERSIONS},
        newest_first=True,
        limit=1,
        consistent=True,
    )
    return _from_item(page.items[0]) if page.items else None


def version(account_id: int, test_id: str, number: int) -> AbTest | None:
    """Return one version of a test, or ``None``."""
    item = _config.get(partition(account_id, test_id), _sort_key(number))
    return _from_item(item) if item else None


def in_scope(scope: Scope) -> Iterator[AbTest]:
    """Yield the latest version of each test in scope, by owner and id."""
    prefix = owner_prefix(scope, "/")
    return map(_from_item, owned_items(_config, scope.account_id, "ab_tests", prefix))


def create(new: AbTest, also: Sequence[Write] = ()) -> bool:
    """Store the first version of a test; return ``False`` if its account has a test of this id."""
    if latest(new.account_id, new.id) is not None:
        return False
    return _written([_creation(new), *also], new)


def update(old: AbTest, new: AbTest, also: Sequence[Write] = ()) -> bool:
    """Replace a version by another form of it; return ``False`` if it was changed meanwhile."""
    change = dynamo.put(_config, _to_item(new), **leases.unchanged(old.stamp))
    return _written([change, *also], new)


def supersede(old: AbTest, new: AbTest, also: Sequence[Write] = ()) -> bool:
    """Store the next version of a test; return ``False`` if the old one was changed meanwhile."""
    step_back = dynamo.update(
        _config,
        *key(old),
        "REMOVE #owner, #owner_key SET #stamp = :new",
        values={"seen": old.stamp, "new": leases.draw_stamp()},
        condition="#stamp = :seen",
    )
    return _written([step_back, _creation(new), *also], new)


def delete(test: AbTest) -> bool:
    """Delete a test by its latest version; return ``False`` if that was changed meanwhile.

    All versions go at once, so that no old one becomes the latest. What depends on them follows;
    what a crash leaves of that expires.
    """
    pk, last = key(test)
    older = [sk for sk in _sort_keys(pk, _VERSIONS) if sk != last]
    surplus, older = older[:-_MOST_AT_ONCE], older[-_MOST_AT_ONCE:]
    _config.write_all([], delete=[(pk, sk) for sk in surplus])
    removals = [dynamo.delete(_config, pk, sk) for sk in older]
    try:
        dynamo.transact(
            [dynamo.delete(_config, pk, last, **leases.unchanged(test.stamp)), *removals]
        )
    except TransactionFailed:
        return False
    _config.write_all([], delete=[(pk, sk) for sk in _sort_keys(pk, _PARTS)])
    return True


def withdraw(draft: AbTest) -> bool:
    """Delete a draft, so that the version before it, if there is one, is the latest again.

    Return ``False`` if the draft was changed meanwhile.
    """
    pk, last = key(draft)
    older = [sk for sk in _sort_keys(pk, _VERSIONS) if sk != last]
    writes = [dynamo.delete(_config, pk, last, **leases.unchanged(draft.stamp))]
    if older:
        change = "SET #owner = :owner, #owner_key = :owner_key, #stamp = :stamp"
        values = _owner_keys(draft) | {"stamp": leases.draw_stamp()}
        writes.append(dynamo.update(_config, pk, older[-1], change, values=values))
    return dynamo.transacted(writes)


def delete_version(test: AbTest) -> None:
    """Delete a version that is not the latest, with what depends on it."""
    pk, sk = key(test)
    parts = _sort_keys(pk, part_key(test.version, ""))
    _config.write_all([], delete=[(pk, each) for each in [sk, *parts]])


def due_look(test: AbTest) -> Due:
    """Return the note that the version has to be looked at, at its ``due_ms``."""
    assert test.due_ms is not None
    data = {"account_id": test.account_id, "id": test.id, "version": test.version}
    return Due(CONCERN, test.due_ms, f"{test.account_id}#{test.id}#{test.version}", data)


def key(test: AbTest) -> tuple[str, str]:
    """Return the key of a version's record."""
    return partition(test.account_id, test.id), _sort_key(test.version)


def part_key(number: int, name: str) -> str:
    """Return the sort key of something that is kept beside the record of a version."""
    return f"{_PARTS}{number:08d}#{name}"


def partition(account_id: int, test_id: str) -> str:
    """Return the partition key of everything that is kept about a test."""
    return f"ab_test#{account_id}#{test_id}"


def _written(writes: list[Write], new: AbTest) -> bool:
    if new.due_ms is not None:
        writes = [*writes, due.addition(due_look(new))]
    return dynamo.transacted(writes)


def _creation(new: AbTest) -> Write:
    return dynamo.put(_config, _to_item(new), condition="attribute_not_exists(#pk)")


def _sort_keys(pk: str, prefix: str) -> list[str]:
    found = _config.query_all(
        "#pk = :pk AND begins_with(#sk, :prefix)", {"pk": pk, "prefix": prefix}, consistent=True
    )
    return [item["sk"] for item in found]


def _sort_key(number: int) -> str:
    return f"{_VERSIONS}{number:08d}"


def _owner_keys(test: AbTest) -> dict[str, str]:
    return {
        "owner": account_partition(test.account_id, "ab_tests"),
        "owner_key": f"{owner_digits(test.subaccount_id)}/{test.id}",
    }


def _to_item(test: AbTest) -> Item:
    pk, sk = key(test)
    fields = asdict(replace(test, stamp=leases.draw_stamp()))
    return fields | {"pk": pk, "sk": sk} | _owner_keys(test)


def _from_item(item: Item) -> AbTest:
    fields = {name: item[name] for name in AbTest.__slots__}
    fields["default_template"] = Share(**item["default_template"])
    fields["variants"] = tuple(Share(**each) for each in item["variants"])
    fields["counts"] = {name: Counts(**each) for name, each in item["counts"].items()}
    return AbTest(**fields)
