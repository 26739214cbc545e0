from __future__ import annotations

import pytest

from chalicelib.accounts.model import DEFAULT_OPTIONS, Account
from chalicelib.accounts.plan import self_hosted_plan
from chalicelib.accounts.view import account_view, iso_date

NOW = 1_769_850_300.75


def account(**fields: object) -> Account:
    return Account(1, "Example Ltd", created=NOW, updated=NOW + 60, **fields)  # type: ignore[arg-type]


@pytest.mark.spec("2.7-t1")
@pytest.mark.spec("2.7-t2")
@pytest.mark.spec("2.7-t3")
@pytest.mark.spec("2.7-t5")
@pytest.mark.spec("2.7-t6")
@pytest.mark.spec("2.7-t7")
@pytest.mark.spec("2.7-t8")
@pytest.mark.spec("3-t22")
def test_a_new_account_is_shown_with_the_defaults() -> None:
    shown = account_view(account())
    assert shown["customer_id"] == 1
    assert shown["company_name"] == "Example Ltd"
    assert shown["country_code"] == "US"
    assert shown["status"] == "active"
    assert shown["status_reason_category"] == ""
    assert shown["tfa_required"] is False
    assert shown["service_level"] == "standard"


@pytest.mark.spec("2.7-t4")
def test_dates_are_iso_dates_in_utc() -> None:
    shown = account_view(account(status_updated=NOW + 120))
    assert shown["created"] == shown["anniversary_date"] == "2026-01-31T09:05:00.000Z"
    assert shown["updated"] == "2026-01-31T09:06:00.000Z"
    assert shown["status_updated"] == "2026-01-31T09:07:00.000Z"
    assert account_view(account())["status_updated"] == shown["created"]


@pytest.mark.spec("2.7-t11")
def test_options_are_the_accounts_own_over_the_services() -> None:
    mine = account(options={"smtp_tracking_default": True, "custom": 1})
    assert account_view(mine)["options"] == DEFAULT_OPTIONS | {
        "smtp_tracking_default": True,
        "custom": 1,
    }
    assert mine.option("smtp_tracking_default") is True
    assert mine.option("inline_seeds") is True
    assert mine.option("unknown") is None
    assert DEFAULT_OPTIONS["smtp_tracking_default"] is False


def test_mail_over_smtp_is_tracked_for_enterprise_accounts_unless_they_chose_not_to() -> None:
    enterprise = account(service_level="enterprise")
    assert enterprise.option("smtp_tracking_default") is True
    assert account_view(enterprise)["options"]["smtp_tracking_default"] is True
    chosen = account(service_level="enterprise", options={"smtp_tracking_default": False})
    assert chosen.option("smtp_tracking_default") is False


@pytest.mark.spec("2.7-t13")
def test_support_tells_of_phone_and_online() -> None:
    assert set(account_view(account())["support"]) == {"phone", "online"}


@pytest.mark.spec("2.7-t9")
def test_a_subscription_has_the_fields_of_a_plan() -> None:
    shown = account_view(account(subscription=self_hosted_plan(NOW)))["subscription"]
    assert set(shown) == {"name", "code", "plan_volume", "effective_date", "self_serve", "type"}
    assert shown["effective_date"] == iso_date(NOW)
    assert shown["plan_volume"] == -1
