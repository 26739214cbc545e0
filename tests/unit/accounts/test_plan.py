from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.accounts.model import Account, Cancellation
from chalicelib.accounts.plan import Limits, Plan
from chalicelib.accounts.view import account_view
from chalicelib.core.errors import Forbidden

NOW = 1_769_850_300.0
SMALL = Plan("small", "Small", NOW, type="manual", hourly=10, daily=100, monthly=1000)
LARGE = Plan("large", "Large", NOW + 3600, monthly=50_000)
ACCOUNT = Account(1, "Example Ltd", created=NOW, updated=NOW, subscription=SMALL)


@pytest.mark.spec("2.7-t9")
def test_a_plan_is_shown_with_its_volume() -> None:
    assert account_view(ACCOUNT)["subscription"] == {
        "code": "small",
        "name": "Small",
        "plan_volume": 1000,
        "effective_date": "2026-01-31T09:05:00.000Z",
        "self_serve": False,
        "type": "manual",
    }


@pytest.mark.spec("2.7-t10")
def test_a_pending_plan_is_shown_and_comes_into_force_at_its_time() -> None:
    account = replace(ACCOUNT, pending_subscription=LARGE)
    before, after = account.at(NOW + 3599), account.at(NOW + 3600)
    assert account_view(before)["pending_subscription"] == {
        "code": "large",
        "name": "Large",
        "effective_date": "2026-01-31T10:05:00.000Z",
    }
    assert before.limits(NOW + 3599) == Limits(10, 100, 1000)
    assert account_view(after)["subscription"]["code"] == "large"
    assert "pending_subscription" not in account_view(after)
    assert account.limits(NOW + 3600) == Limits(monthly=50_000)


@pytest.mark.spec("2.7-t14")
def test_a_cancellation_is_shown_while_it_is_pending() -> None:
    assert "pending_cancellation" not in account_view(ACCOUNT)
    cancellation = Cancellation(NOW, NOW + 86_400, "ann")
    assert account_view(replace(ACCOUNT, pending_cancellation=cancellation))[
        "pending_cancellation"
    ] == {
        "creation_date": "2026-01-31T09:05:00.000Z",
        "effective_date": "2026-02-01T09:05:00.000Z",
        "requesting_user": "ann",
    }


@pytest.mark.spec("3-t22")
@pytest.mark.parametrize("status", ["suspended", "terminated"])
def test_an_account_that_is_not_active_may_not_send(status: str) -> None:
    ACCOUNT.check_may_send()
    with pytest.raises(Forbidden, match=f"the account is {status}"):
        replace(ACCOUNT, status=status).check_may_send()
