from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chalicelib.accounts.model import Account
from chalicelib.accounts.store import accounts
from chalicelib.api_keys.grants import PRIMARY_GRANTS
from chalicelib.core import clock, config_cache
from chalicelib.core.dynamo import Table
from tests.fake_cloud import aws_requests
from tests.unit.calling import Client
from tests.unit.people import limit, make_account, make_domain, make_key, transmission

pytestmark = pytest.mark.usefixtures("cloud")

ACCOUNT = "/api/v1/account"
NOW = datetime(2026, 1, 31, 9, 5, tzinfo=UTC).timestamp()


@pytest.fixture
def owner(cloud: None) -> Client:
    make_account()
    make_domain("example.test")
    return make_key()


@pytest.mark.spec("4.6-t1")
@pytest.mark.spec("2.7-t12")
def test_usage_is_shown_only_when_it_is_asked_for(owner: Client) -> None:
    assert "usage" not in owner.get(ACCOUNT).results
    assert "usage" not in owner.get(f"{ACCOUNT}?include=other").results
    with clock.use(lambda: NOW):
        limit(daily=50, monthly=100)
        owner.post("/api/v1/transmissions", transmission("me@example.test", "a@b.test", "c@d.test"))
        usage = owner.get(f"{ACCOUNT}?include=usage").results["usage"]
    assert usage == {
        "timestamp": "2026-01-31T09:05:00.000Z",
        "day": {
            "limit": 50,
            "used": 2,
            "start": "2026-01-30T10:00:00.000Z",
            "end": "2026-01-31T10:00:00.000Z",
        },
        "month": {
            "limit": 100,
            "used": 2,
            "start": "2026-01-01T00:00:00.000Z",
            "end": "2026-02-01T00:00:00.000Z",
        },
        "sandbox": {"used": 0, "limit": 5},
    }


def test_a_missing_limit_is_shown_as_minus_one(owner: Client) -> None:
    usage = owner.get(f"{ACCOUNT}?include=usage").results["usage"]
    assert (usage["day"]["limit"], usage["month"]["limit"]) == (-1, -1)


@pytest.mark.spec("2.7-t12")
@pytest.mark.spec("2.7-t8")
def test_an_enterprise_account_has_no_usage(owner: Client) -> None:
    accounts.change(1, lambda account: replace(account, service_level="enterprise"))
    view = owner.get(f"{ACCOUNT}?include=usage").results
    assert view["service_level"] == "enterprise"
    assert "usage" not in view
    assert owner.get("/api/v1/usage").status == 403


def test_usage_is_shown_by_feature(owner: Client) -> None:
    limit(monthly=10**9)
    with clock.use(lambda: NOW):
        assert "last_usage_date" not in owner.get("/api/v1/usage").results["messaging"]
        owner.post("/api/v1/transmissions", transmission())
        usage = owner.get("/api/v1/usage").results
    assert usage["messaging"]["day"]["used"] == usage["messaging"]["month"]["used"] == 1
    assert usage["messaging"]["last_usage_date"] == "2026-01-31T09:05:00.000Z"
    assert usage["recipient_validation"]["day"]["used"] == 0


@pytest.mark.spec("4.6-t2")
@pytest.mark.spec("5-r9")
def test_name_options_and_the_two_factor_requirement_can_be_changed(owner: Client) -> None:
    body = {"company_name": "New", "tfa_required": True, "options": {"inline_seeds": False}}
    assert owner.put(ACCOUNT, body).results == {"message": "Account has been updated"}
    view = owner.get(ACCOUNT).results
    assert (view["company_name"], view["tfa_required"]) == ("New", True)
    assert view["options"]["inline_seeds"] is False
    assert view["options"]["rest_tracking_default"] is True


@pytest.mark.spec("4.6-t2")
def test_a_change_keeps_the_fields_that_it_does_not_name(owner: Client) -> None:
    owner.put(ACCOUNT, {"tfa_required": True, "options": {"smtp_tracking_default": True}})
    owner.put(ACCOUNT, {"company_name": "New", "options": {"click_tracking": False}})
    owner.put(ACCOUNT, {"company_name": None})
    view = owner.get(ACCOUNT).results
    assert (view["company_name"], view["tfa_required"]) == ("New", True)
    assert view["options"]["smtp_tracking_default"] is True
    assert view["options"]["click_tracking"] is False


@pytest.mark.spec("1-r5")
def test_unknown_and_read_only_fields_are_ignored(owner: Client) -> None:
    body = {"status": "terminated", "service_level": "enterprise", "options": {"rockets": True}}
    assert owner.put(ACCOUNT, body).status == 200
    view = owner.get(ACCOUNT).results
    assert (view["status"], view["service_level"]) == ("active", "standard")
    assert "rockets" not in view["options"]


@pytest.mark.parametrize(
    "body",
    [
        {"company_name": 7},
        {"company_name": "x" * 257},
        {"tfa_required": "yes"},
        {"options": []},
        {"options": {"click_tracking": 1}},
        [],
    ],
)
def test_a_field_of_another_type_is_refused(owner: Client, body: object) -> None:
    response = owner.put(ACCOUNT, body)
    assert (response.status, response.error["code"]) == (422, "1300")


@pytest.mark.spec("5-r5")
def test_without_the_grants_the_account_is_neither_read_nor_changed(owner: Client) -> None:
    viewer = make_key(grants={"account/view"})
    assert viewer.get(ACCOUNT).status == 200
    assert viewer.put(ACCOUNT, {}).status == 403
    other = make_key(grants=PRIMARY_GRANTS - {"account/view", "usage/view"})
    assert other.get(ACCOUNT).status == other.get("/api/v1/usage").status == 403


def test_a_concurrent_change_is_not_lost(owner: Client) -> None:
    calls: list[str] = []

    def edit(account: Account) -> Account:
        calls.append(account.company_name)
        if len(calls) == 1:
            accounts.change(1, lambda other: replace(other, company_name="Theirs"))
        return replace(account, tfa_required=True)

    changed = accounts.change(1, edit)
    assert calls == ["Company 1", "Theirs"]
    assert (changed.company_name, changed.tfa_required) == ("Theirs", True)
    assert accounts.get(1) == changed


def test_an_account_that_does_not_exist_cannot_be_changed() -> None:
    with pytest.raises(accounts.UnknownAccount, match="account 9 does not exist"):
        accounts.change(9, lambda account: account)
    with pytest.raises(accounts.UnknownAccount):
        accounts.get_cached(9)


@pytest.mark.cost
def test_an_account_is_cached_until_this_process_changes_it(owner: Client) -> None:
    assert accounts.get_cached(1).company_name == "Company 1"
    with aws_requests() as requests:
        accounts.get_cached(1)
    assert requests == []
    owner.put(ACCOUNT, {"company_name": "New"})
    assert accounts.get_cached(1).company_name == "New"


def test_ids_of_accounts_are_drawn_in_order_and_accounts_are_listed_by_them() -> None:
    ids = [accounts.draw_id() for _ in range(3)]
    assert ids == [1, 2, 3]
    for number in (10, 2):
        make_account(number)
    assert [account.customer_id for account in accounts.all_accounts()] == [2, 10]


def test_a_key_of_a_deleted_account_gets_a_server_error(owner: Client) -> None:
    Table("config").delete(*accounts.key_of(1))
    config_cache.clear_cache()
    assert owner.get(ACCOUNT).status == 500
