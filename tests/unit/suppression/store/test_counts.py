from __future__ import annotations

import pytest

from chalicelib.core.scope import Scope
from chalicelib.suppression import service
from chalicelib.suppression.model import SOURCES, TRACKING_CONSENT_REVOKED, TYPES, SuppressionKind
from chalicelib.suppression.store import counts
from chalicelib.suppression.store.items import parts_in, table
from tests.fake_cloud import aws_requests
from tests.unit.suppression.examples import entry, summary


@pytest.mark.spec("4.8-t6")
def test_the_summary_counts_by_source_and_in_total(account: int) -> None:
    for number, source in enumerate(SOURCES, start=1):
        many = [entry(f"u{n}@{number}.test", source=source) for n in range(number)]
        service.impose_all(account, None, many)
    service.put_all(account, 7, [entry("u@x.test", list_id="news"), entry("u@x.test")])
    assert summary(account, 0) == {
        "compliance": 1,
        "manually_added": 2,
        "unsubscribe_link": 3,
        "bounce_rule": 4,
        "list_unsubscribe": 5,
        "spam_complaint": 6,
        "total": 21,
    }
    assert summary(account, 7)["total"] == summary(account, 7)["manually_added"] == 2
    assert summary(account, None)["total"] == 23
    assert summary(account + 1, None)["total"] == 0


@pytest.mark.spec("4.8-t6")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("type", TYPES)
def test_the_total_is_the_sum_of_its_parts(account: int, source: str, type: str) -> None:
    service.impose_all(account, None, [entry("u@x.test", type, source=source)])
    service.put_all(account, 7, [entry("u@x.test", type)])
    numbers = summary(account)
    assert numbers.pop("total") == sum(numbers.values()) == 1 + (source != TRACKING_CONSENT_REVOKED)


@pytest.mark.cost
def test_the_whole_account_is_counted_in_one_request(account: int) -> None:
    for owner in range(2, 12):
        service.put_all(account, owner, [entry("u@x.test")])
    with aws_requests() as requests:
        assert summary(account, None)["total"] == 10
    assert [request.operation for request in requests] == ["BatchGetItem"]


def test_counts_are_spread_over_shards(account: int) -> None:
    for number in range(40):
        service.put_all(account, None, [entry(f"u{number}@x.test")])
    shards = list(table.query_all("#pk = :pk", {"pk": f"{account}#counts"}))
    assert len(shards) > counts.SHARDS / 2
    assert summary(account, None)["total"] == 40


def test_kinds_and_sources_are_counted_apart(account: int) -> None:
    service.put_all(account, None, [entry("u@x.test"), entry("u@x.test", list_id="news")])
    (tally,) = counts.read(account, parts_in(Scope(account, 0))).values()
    wide, specific = (
        SuppressionKind("non_transactional", False),
        SuppressionKind("non_transactional", True),
    )
    assert counts.total(tally, [wide], SOURCES) == 1
    assert counts.total(tally, [wide, specific], ["Manually Added"]) == 2
    assert counts.total(tally, [wide, specific], ["Compliance"]) == 0
