"""What becomes of the messages of a test: accepted, clicked, opened, each counted once.

Access patterns:

- the counts of one template → table ``config``, in the partition of the test,
  ``sk = of#<version>#counts#<template id>``
- that a message was counted → table ``messages``,
  ``pk = ab_test#<account>#<test id>#<version>#<message id>``, ``sk`` the kind

A count moves in the transaction that writes the message's item, on the condition that there was
none; counting again changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from chalicelib.ab_tests.model import AbTest, Counts
from chalicelib.ab_tests.store import versions
from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import Table, TransactionFailed, Write
from chalicelib.core.settings import settings

Event = Mapping[str, Any]

#: event type → what it says of its message. A click shows that the message was opened; a message
#: that comes back was not accepted after all (spec 2.13).
KINDS = {
    "delivery": ("accepted",),
    "out_of_band": ("returned",),
    "open": ("opened",),
    "initial_open": ("opened",),
    "amp_open": ("opened",),
    "amp_initial_open": ("opened",),
    "click": ("clicked", "opened"),
    "amp_click": ("clicked", "opened"),
}
_EFFECTS = {
    "accepted": ("accepted", 1),
    "returned": ("accepted", -1),
    "opened": ("opened", 1),
    "clicked": ("clicked", 1),
}
_NAMING = ("ab_test_id", "ab_test_version", "template_id", "message_id")
_MOST_AT_ONCE = 70  # with the counts of 21 templates below the 100 actions of a transaction

_config = Table("config")
_messages = Table("messages")


class Version(NamedTuple):
    """Names one version of a test."""

    account_id: int
    test_id: str
    number: int


class Engagement(NamedTuple):
    """One thing to count: ``kind`` is ``accepted``, ``returned``, ``opened`` or ``clicked``."""

    template_id: str
    kind: str
    message_id: str


def count_events(events: Iterable[Event]) -> None:
    """Count what events say of messages that were tried: those that name an A/B test."""
    found: dict[Version, dict[Engagement, None]] = defaultdict(dict)
    for event in events:
        if all(event.get(name) for name in _NAMING):
            about = Version(
                int(event["customer_id"]), event["ab_test_id"], int(event["ab_test_version"])
            )
            for kind in KINDS.get(event["type"], ()):
                found[about][Engagement(event["template_id"], kind, event["message_id"])] = None
    for about, engagements in found.items():
        count(about, list(engagements))


def count(about: Version, engagements: Sequence[Engagement]) -> None:
    """Count each of ``engagements`` (no two alike) that was not counted before."""
    for start in range(0, len(engagements), _MOST_AT_ONCE):
        new = list(engagements[start : start + _MOST_AT_ONCE])
        while new:
            try:
                dynamo.transact([*(_mark(about, each) for each in new), *_additions(about, new)])
                break
            except TransactionFailed as failure:
                new = [each for i, each in enumerate(new) if i not in failure.failed]


def counts(tests: Sequence[AbTest]) -> list[dict[str, Counts]]:
    """Return the counts of each version by template: a hundred templates to a request."""
    keys = [
        [_counts_key(_version(test), share.template_id) for share in test.shares] for test in tests
    ]
    items = _config.get_all([key for several in keys for key in several], consistent=True)
    found = {(item["pk"], item["sk"]): item for item in items}
    return [
        {
            share.template_id: _from_item(found.get(key, {}))
            for share, key in zip(test.shares, several, strict=True)
        }
        for test, several in zip(tests, keys, strict=True)
    ]


def _mark(about: Version, engagement: Engagement) -> Write:
    pk = f"ab_test#{about.account_id}#{about.test_id}#{about.number}#{engagement.message_id}"
    item = {"pk": pk, "sk": engagement.kind, "expires": _expiry()}
    return dynamo.put(_messages, item, condition="attribute_not_exists(#pk)")


def _additions(about: Version, engagements: Iterable[Engagement]) -> list[Write]:
    sums: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for each in engagements:
        name, amount = _EFFECTS[each.kind]
        sums[each.template_id][name] += amount
    return [
        dynamo.update(
            _config,
            *_counts_key(about, template_id),
            "ADD " + ", ".join(f"#{name} :{name}" for name in added) + " SET #expires = :expires",
            values={**added, "expires": _expiry()},
        )
        for template_id, added in sums.items()
    ]


def _counts_key(about: Version, template_id: str) -> tuple[str, str]:
    return (
        versions.partition(about.account_id, about.test_id),
        versions.part_key(about.number, f"counts#{template_id}"),
    )


def _version(test: AbTest) -> Version:
    return Version(test.account_id, test.id, test.version)


def _from_item(item: Mapping[str, Any]) -> Counts:
    return Counts(**{name: item.get(name, 0) for name in Counts.__slots__})


def _expiry() -> int:
    return int(clock.now()) + settings().messages_retention
