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
    view = account_view(account())
    assert view["customer_id"] == 1
    assert view["company_name"] == "Example Ltd"
    assert view["country_code"] == "US"
    assert view["status"] == "active"
    assert view["status_reason_category"] == ""
    assert view["tfa_required"] is False
    assert view["service_level"] == "standard"


@pytest.mark.spec("2.7-t4")
def test_dates_are_iso_dates_in_utc() -> None:
    view = account_view(account(status_updated=NOW + 120))
    assert view["created"] == view["anniversary_date"] == "2026-01-31T09:05:00.000Z"
    assert view["updated"] == "2026-01-31T09:06:00.000Z"
    assert view["status_updated"] == "2026-01-31T09:07:00.000Z"
    assert account_view(account())["status_updated"] == view["created"]


@pytest.mark.spec("2.7-t11")
def test_an_accounts_options_override_the_services_defaults() -> None:
    record = account(options={"smtp_tracking_default": True, "custom": 1})
    assert account_view(record)["options"] == DEFAULT_OPTIONS | {
        "smtp_tracking_default": True,
        "custom": 1,
    }
    assert record.option("smtp_tracking_default") is True
    assert record.option("inline_seeds") is True
    assert record.option("unknown") is None
    assert DEFAULT_OPTIONS["smtp_tracking_default"] is False


def test_mail_over_smtp_is_tracked_for_enterprise_accounts_unless_their_options_say_no() -> None:
    enterprise = account(service_level="enterprise")
    assert enterprise.option("smtp_tracking_default") is True
    assert account_view(enterprise)["options"]["smtp_tracking_default"] is True
    untracked = account(service_level="enterprise", options={"smtp_tracking_default": False})
    assert untracked.option("smtp_tracking_default") is False


@pytest.mark.spec("2.7-t13")
def test_support_has_the_fields_phone_and_online() -> None:
    assert set(account_view(account())["support"]) == {"phone", "online"}


@pytest.mark.spec("2.7-t9")
def test_a_subscription_has_the_fields_of_a_plan() -> None:
    subscription = account_view(account(subscription=self_hosted_plan(NOW)))["subscription"]
    assert set(subscription) == {
        "name",
        "code",
        "plan_volume",
        "effective_date",
        "self_serve",
        "type",
    }
    assert subscription["effective_date"] == iso_date(NOW)
    assert subscription["plan_volume"] == -1
