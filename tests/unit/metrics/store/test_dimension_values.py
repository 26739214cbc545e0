from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chalicelib.metrics.delta import Delta
from chalicelib.metrics.model import CAMPAIGN, DOMAIN
from chalicelib.metrics.store import dimension_values
from tests.fake_cloud import aws_requests
from tests.unit.metrics.examples import mail

pytestmark = pytest.mark.usefixtures("cloud")


def minute(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) // 60


def add(account: int, day: str, *campaigns: str) -> None:
    delta = Delta()
    for campaign in campaigns:
        event = mail(account, campaign=campaign).event("injection", minute(day) * 60_000)
        delta.add(event)
    dimension_values.add(account, delta)


def campaigns_between(start: str, end: str, account: int = 1) -> list[str]:
    return dimension_values.values(account, CAMPAIGN, minute(start), minute(end))


def test_values_are_listed_by_day_and_account() -> None:
    add(1, "2026-01-30T12:00", "b", "a")
    add(1, "2026-02-02T23:59", "c", "a")
    add(2, "2026-02-02T12:00", "other")
    assert campaigns_between("2026-01-01T00:00", "2026-03-01T00:00") == ["a", "b", "c"]
    assert campaigns_between("2026-01-31T00:00", "2026-03-01T00:00") == ["a", "c"]
    assert campaigns_between("2026-01-30T00:00", "2026-02-02T00:00") == ["a", "b"]
    assert campaigns_between("2026-02-02T00:00", "2026-02-02T00:01") == ["a", "c"]
    assert campaigns_between("2026-02-03T00:00", "2026-02-09T00:00") == []
    assert dimension_values.values(
        1, DOMAIN, minute("2026-01-01T00:00"), minute("2026-03-01T00:00")
    ) == ["x.test"]


def test_mail_without_a_value_adds_nothing_to_the_list() -> None:
    add(1, "2026-01-30T12:00", "")
    assert campaigns_between("2026-01-01T00:00", "2026-03-01T00:00") == []


def test_values_too_long_for_a_key_are_listed_in_full() -> None:
    long = "é" * 200
    add(1, "2026-01-30T12:00", long, "a\nb")
    assert campaigns_between("2026-01-01T00:00", "2026-03-01T00:00") == ["a\nb", long]


@pytest.mark.cost
def test_a_process_writes_a_value_once_a_day() -> None:
    with aws_requests() as requests:
        add(1, "2026-01-30T12:00", "a")
    assert [each.operation for each in requests] == ["TransactWriteItems"]
    with aws_requests() as requests:
        add(1, "2026-01-30T13:00", "a")
    assert requests == []
    dimension_values.clear_cache()
    add(1, "2026-01-30T13:00", "a")
    assert campaigns_between("2026-01-01T00:00", "2026-03-01T00:00") == ["a"]


@pytest.mark.cost
def test_listing_a_month_takes_one_request() -> None:
    add(1, "2026-01-30T12:00", *(f"campaign-{n}" for n in range(120)))
    with aws_requests() as requests:
        assert len(campaigns_between("2026-01-01T00:00", "2026-02-01T00:00")) == 120
    assert len(requests) == 1
    with aws_requests() as requests:
        campaigns_between("2026-01-01T00:00", "2026-07-01T00:00")
    assert len(requests) == 6
