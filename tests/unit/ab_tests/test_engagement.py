from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.ab_tests.engagement import count_events
from chalicelib.ab_tests.model import AbTest, Counts
from chalicelib.ab_tests.store import counts
from chalicelib.ab_tests.store.counts import Engagement, TestVersion
from chalicelib.core import dynamo
from chalicelib.core.dynamo import Table
from chalicelib.core.settings import settings
from tests.fake_cloud import aws_requests
from tests.unit.ab_tests.examples import by_size, stored

pytestmark = pytest.mark.usefixtures("cloud")

WELCOME = TestVersion(1, "welcome", 1)


def counts_of(test: AbTest) -> dict[str, Counts]:
    (test_counts,) = counts.of_tests([test])
    return test_counts


def event(kind: str, message: str = "m1", template: str = "t1", **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "customer_id": "1",
        "ab_test_id": "welcome",
        "ab_test_version": "1",
        "template_id": template,
        "message_id": message,
        **fields,
    }


def test_without_engagement_everything_is_zero() -> None:
    assert counts_of(by_size(5, 5)) == {"t0": Counts(), "t1": Counts()}


def test_each_kind_is_counted_by_template() -> None:
    counts.add(
        WELCOME,
        [
            Engagement("t0", "accepted", "m1"),
            Engagement("t1", "accepted", "m2"),
            Engagement("t1", "accepted", "m3"),
            Engagement("t1", "opened", "m2"),
            Engagement("t1", "clicked", "m2"),
        ],
    )
    assert counts_of(by_size(5, 5)) == {"t0": Counts(1), "t1": Counts(2, 1, 1)}


def test_a_message_is_counted_once_for_each_kind() -> None:
    first = Engagement("t1", "opened", "m1")
    for _ in range(3):
        counts.add(WELCOME, [first])
    counts.add(WELCOME, [first, Engagement("t1", "opened", "m2"), Engagement("t0", "opened", "m3")])
    assert counts_of(by_size(5, 5)) == {"t0": Counts(opened=1), "t1": Counts(opened=2)}


@pytest.mark.cost
def test_hundreds_of_messages_are_counted_once() -> None:
    several = [Engagement("t1", "accepted", f"m{number}") for number in range(200)]
    counts.add(WELCOME, several)
    with aws_requests() as requests:
        counts.add(WELCOME, [*several[:100], Engagement("t1", "accepted", "new"), *several[100:]])
    assert counts_of(by_size(5, 5))["t1"] == Counts(201)
    assert len(requests) == 4


def test_versions_tests_and_accounts_are_counted_apart() -> None:
    engagement = Engagement("t1", "accepted", "m1")
    for version in (
        WELCOME,
        TestVersion(2, "welcome", 1),
        TestVersion(1, "other", 1),
        TestVersion(1, "welcome", 2),
    ):
        counts.add(version, [engagement])
    test = by_size(5, 5)
    tests = [test, replace(test, id="other"), replace(test, version=2)]
    assert [each["t1"] for each in counts.of_tests(tests)] == [Counts(1)] * 3


def test_a_count_whose_reply_was_lost_is_made_once(monkeypatch: Any) -> None:
    transact = dynamo.transact

    def twice(writes: Any, **options: Any) -> None:
        transact(writes, **options)
        monkeypatch.setattr(dynamo, "transact", transact)
        transact(writes, **options)

    monkeypatch.setattr(dynamo, "transact", twice)
    counts.add(WELCOME, [Engagement("t1", "accepted", "m1")])
    assert counts_of(by_size(5, 5))["t1"] == Counts(1)


@pytest.mark.parametrize(
    ("kinds", "total"),
    [
        (["injection", "delivery"], Counts(1)),
        (["delivery", "out_of_band"], Counts(0)),
        (["open"], Counts(opened=1)),
        (["initial_open", "open", "amp_open", "amp_initial_open"], Counts(opened=1)),
        (["click"], Counts(clicked=1, opened=1)),
        (["open", "click", "amp_click"], Counts(clicked=1, opened=1)),
        (["bounce", "delay", "spam_complaint", "link_unsubscribe"], Counts()),
    ],
)
def test_events_are_counted_by_their_kind(kinds: list[str], total: Counts) -> None:
    events = [event(kind) for kind in kinds]
    for _ in range(2):
        count_events(events)
    assert counts_of(by_size(5, 5))["t1"] == total


@pytest.mark.cost
def test_events_without_a_test_or_a_message_are_not_counted() -> None:
    with aws_requests() as requests:
        count_events([event("delivery", ab_test_id=""), {"type": "open", "customer_id": "1"}])
        count_events([event("click", message=""), event("click", template="")])
        count_events([event("click", ab_test_version="")])
    assert requests == []


@pytest.mark.cost
def test_the_counts_of_many_tests_are_read_a_hundred_templates_at_a_time() -> None:
    tests = [replace(by_size(1, 1), id=f"test-{number}") for number in range(60)]
    with aws_requests() as requests:
        assert len(counts.of_tests(tests)) == 60
        assert counts.of_tests([]) == []
    assert [request.operation for request in requests] == ["BatchGetItem"] * 2


def test_the_item_of_a_counted_message_expires_with_the_message() -> None:
    stored(by_size(5, 5))
    counts.add(WELCOME, [Engagement("t1", "opened", "m1")])
    item = Table("messages").get("ab_test#1#welcome#1#m1", "opened")
    assert item is not None
    assert item["expires"] > settings().messages_retention
