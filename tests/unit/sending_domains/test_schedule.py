from __future__ import annotations

import pytest

from chalicelib.core.settings import settings
from chalicelib.sending_domains.model import DomainStatus
from chalicelib.sending_domains.schedule import is_grace_over, with_next_check
from tests.unit.sending_domains.examples import domain

NOW = 1_000_000_000.0
DAY, HOUR = 86_400, 3600
OWNED, LOST = DomainStatus(True, cname_status="valid"), DomainStatus(cname_status="invalid")


@pytest.mark.parametrize(
    ("status", "since", "answered", "in_seconds"),
    [
        (OWNED, 0.0, True, DAY),
        (OWNED, 0.0, False, HOUR),
        (DomainStatus(True, abuse_at_status="valid"), 0.0, True, None),
        (DomainStatus(), 0.0, True, 14 * DAY),
        (DomainStatus(), NOW - 13 * DAY, True, DAY),
        (LOST, NOW - DAY, True, HOUR),
        (DomainStatus(dkim_status="pending"), NOW, False, HOUR),
        (LOST, NOW - 14 * DAY + 60, True, 60),
    ],
)
def test_the_time_of_the_next_check_depends_on_the_status(
    status: DomainStatus, since: float, answered: bool, in_seconds: int | None
) -> None:
    after = with_next_check(domain(status=status, unverified_since=since), NOW, answered=answered)
    assert after.check_ms == (0 if in_seconds is None else (NOW + in_seconds) * 1000)


def test_unverified_since_is_set_at_the_loss_of_verification_and_then_kept() -> None:
    lost = with_next_check(domain(status=LOST), NOW)
    assert lost.unverified_since == NOW
    assert with_next_check(lost, NOW + 5).unverified_since == NOW
    assert with_next_check(domain(status=OWNED, unverified_since=NOW), NOW).unverified_since == 0


def test_the_grace_is_over_after_two_weeks_without_verification() -> None:
    grace = settings().domain_grace
    lost = domain(status=LOST, unverified_since=NOW)
    assert not is_grace_over(lost, NOW + grace - 1)
    assert is_grace_over(lost, NOW + grace)
    assert not is_grace_over(domain(status=OWNED), NOW + grace)
