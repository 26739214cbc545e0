"""Count the engagement of a test's messages, each message once for each kind.

Access patterns of ``config``:

- the counts of one template → ``ab_test#<account>#<test id>`` /
  ``of#<number>#counts#<template id>``

Access patterns of ``messages``:

- whether a message was counted → ``ab_test#<account>#<test id>#<number>#<message id>`` / ``<kind>``

A count changes in the transaction that writes the message's item, on the condition that there was
none, so counting a message again changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, NotRequired

from chalicelib.ab_tests.model import AbTest, Counts
from chalicelib.ab_tests.store import versions
from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import Key, Keyed, Table, TransactionFailed, Write
from chalicelib.core.settings import settings

_EFFECTS = {
    "accepted": ("accepted", 1),
    "returned": ("accepted", -1),
    "opened": ("opened", 1),
    "clicked": ("clicked", 1),
}
_MOST_AT_ONCE = 70  # with the counts of 21 templates below the 100 actions of a transaction


class TemplateCountsItem(Keyed):
    """The counts of one template of a version: the fields of ``Counts``."""

    accepted: NotRequired[int]
    clicked: NotRequired[int]
    opened: NotRequired[int]
    expires: int


class CountedMessageItem(Keyed):
    """A message that was counted, for one kind of engagement."""

    expires: int


_config: Table[TemplateCountsItem] = Table("config")
_messages: Table[CountedMessageItem] = Table("messages")


class TestVersion(NamedTuple):
    """Names one version of a test."""

    account_id: int
    test_id: str
    number: int


class Engagement(NamedTuple):
    """One thing to count: ``kind`` is ``accepted``, ``returned``, ``opened`` or ``clicked``."""

    template_id: str
    kind: str
    message_id: str


def add(version: TestVersion, engagements: Sequence[Engagement]) -> None:
    """Count each of ``engagements`` (no two alike) that was not counted before."""
    for start in range(0, len(engagements), _MOST_AT_ONCE):
        new = list(engagements[start : start + _MOST_AT_ONCE])
        while new:
            try:
                dynamo.transact([*(_mark(version, each) for each in new), *_sums(version, new)])
                break
            except TransactionFailed as failure:
                new = [each for i, each in enumerate(new) if i not in failure.failed]


def of_tests(tests: Sequence[AbTest]) -> list[dict[str, Counts]]:
    """Return the counts of each version by template: a hundred templates to a request."""
    test_keys = [
        [_counts_key(_version(test), share.template_id) for share in test.shares] for test in tests
    ]
    items = _config.get_all([key for keys in test_keys for key in keys], consistent=True)
    items_by_key = {(item["pk"], item["sk"]): item for item in items}
    return [
        {
            share.template_id: _from_item(items_by_key.get(key))
            for share, key in zip(test.shares, keys, strict=True)
        }
        for test, keys in zip(tests, test_keys, strict=True)
    ]


def _mark(version: TestVersion, engagement: Engagement) -> Write:
    account_id, test_id, number = version
    pk = f"ab_test#{account_id}#{test_id}#{number}#{engagement.message_id}"
    item: CountedMessageItem = {"pk": pk, "sk": engagement.kind, "expires": _expiry()}
    return dynamo.put(_messages, item, condition="attribute_not_exists(#pk)")


def _sums(version: TestVersion, engagements: Iterable[Engagement]) -> list[Write]:
    sums: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for each in engagements:
        name, number = _EFFECTS[each.kind]
        sums[each.template_id][name] += number
    return [
        dynamo.update(
            _config,
            *_counts_key(version, template_id),
            "ADD " + ", ".join(f"#{name} :{name}" for name in numbers) + " SET #expires = :expires",
            values={**numbers, "expires": _expiry()},
        )
        for template_id, numbers in sums.items()
    ]


def _counts_key(version: TestVersion, template_id: str) -> Key:
    return (
        versions.partition(version.account_id, version.test_id),
        versions.part_key(version.number, f"counts#{template_id}"),
    )


def _version(test: AbTest) -> TestVersion:
    return TestVersion(test.account_id, test.id, test.version)


def _from_item(item: TemplateCountsItem | None) -> Counts:
    if item is None:
        return Counts()
    return Counts(item.get("accepted", 0), item.get("clicked", 0), item.get("opened", 0))


def _expiry() -> int:
    return int(clock.now()) + settings().messages_retention
