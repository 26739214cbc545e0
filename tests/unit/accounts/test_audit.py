"""The audit log has the changes of an account, and the second factor that it asks for begins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.accounts.model import Account
from chalicelib.accounts.store import accounts
from chalicelib.core import audit
from chalicelib.core.audit import Author
from chalicelib.core.request import Actor
from chalicelib.core.settings import settings
from tests.fake_cloud import aws_requests
from tests.unit.audit_lines import lines, only_line, told
from tests.unit.moving_clock import moving_clock
from tests.unit.people import make_account, make_key, make_subaccount, make_user, sign_in

pytestmark = pytest.mark.usefixtures("cloud")

ACCOUNT = "/api/v1/account"
AUTHOR = Author(1, Actor("key", "k1", "Website"), "PUT", ACCOUNT, "account")


def test_a_change_of_an_account_is_a_line_with_the_fields_that_changed() -> None:
    make_account()
    user = make_user()
    browser = sign_in(user)
    body = {"company_name": "Acme", "options": {"click_tracking": False}}
    assert browser.put(ACCOUNT, body).status == 200
    line = only_line()
    changes = line.pop("changes")
    assert changes["company_name"] == {"from": "Company 1", "to": "Acme"}
    assert changes["options"]["to"] == changes["options"]["from"] | {"click_tracking": False}
    assert set(changes) == {"company_name", "options"}
    assert (line["actor_type"], line["actor_id"]) == ("user", user.id)
    assert (line["resource"], line["resource_id"], line["path"]) == ("account", "1", ACCOUNT)


def test_a_request_that_changes_nothing_is_no_line() -> None:
    make_account()
    assert make_key().put(ACCOUNT, {"company_name": "Company 1"}).status == 200
    assert make_key().put(ACCOUNT, {"company_name": 1}).status == 422
    assert lines() == []


def test_a_change_that_another_overtook_tells_what_it_came_upon() -> None:
    make_account()
    names = ["Between"]

    def edit(account: Account) -> Account:
        if names:
            name = names.pop()
            accounts.change(1, lambda each: replace(each, company_name=name))
        return replace(account, company_name="Last")

    with audit.bound(AUTHOR):
        accounts.change(1, edit)
    names_told = [line["changes"]["company_name"] for line in lines()]
    assert names_told == [
        {"from": "Company 1", "to": "Between"},
        {"from": "Between", "to": "Last"},
    ]


def test_an_account_whose_number_is_taken_is_no_line() -> None:
    account = make_account()
    with audit.bound(AUTHOR):
        assert not accounts.create(account)
        assert lines() == []
        assert accounts.create(replace(account, customer_id=2))
    assert only_line()["resource_id"] == "2"


@pytest.mark.cost
def test_the_line_costs_no_request_of_its_own() -> None:
    make_account()
    key = make_key()
    with aws_requests() as requests:
        assert key.put(ACCOUNT, {"company_name": "Acme"}).status == 200
    operations = [each.operation for each in requests]
    assert operations[-2:] == ["GetItem", "TransactWriteItems"]
    assert not {"PutItem", "UpdateItem"} & set(operations)


def test_who_asks_all_users_for_a_second_factor_must_set_one_up_too() -> None:
    make_account()
    with moving_clock(1_000_000.0) as clock:
        browser, other = sign_in(make_user()), sign_in(make_user())
        with_factor = sign_in(make_user(), second_factor=True)
        assert other.get(ACCOUNT).status == 200
        assert browser.put(ACCOUNT, {"tfa_required": True}).status == 200
        assert told() == ("PUT", "account", "1", {"tfa_required": {"from": False, "to": True}})
        clock.now += settings().key_cache_seconds + 1
        for each in (browser, other):
            refusal = each.get(ACCOUNT)
            assert (refusal.status, refusal.error["code"]) == (403, "2fa_setup_required")
            assert refusal.error["description"]
            assert each.put(ACCOUNT, {"tfa_required": False}).status == 403
        assert with_factor.get(ACCOUNT).results["tfa_required"] is True
        assert make_key().get(ACCOUNT).status == 200


def test_what_concerns_the_whole_account_is_never_in_the_log_of_a_subaccount() -> None:
    make_account()
    number = make_subaccount().id
    key = make_key().on_behalf_of(number)
    assert key.put(ACCOUNT, {"company_name": "Acme"}).status == 200
    config = {"threshold": 1000, "match": ["a"]}
    assert key.post("/api/v1/inline-seeds/config", config).status == 200
    assert [line["resource"] for line in lines()] == ["account", "inline-seeds"]
    assert not any("subaccount_id" in line for line in lines())
