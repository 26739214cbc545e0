"""The audit log has the changes of subaccounts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from chalicelib.core import audit
from chalicelib.core.audit import Author
from chalicelib.core.request import Actor
from chalicelib.subaccounts import store
from chalicelib.subaccounts.model import Subaccount
from tests.unit.audit_lines import lines, told
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key, make_subaccount

pytestmark = pytest.mark.usefixtures("cloud")

PATH = "/api/v1/subaccounts"
AUTHOR = Author(1, Actor("key", "k1", "Website"), "PUT", PATH, "subaccounts")


@pytest.fixture
def owner(cloud: None) -> Client:
    make_account()
    return make_key()


def test_a_new_subaccount_with_its_key_is_one_line_without_the_key(owner: Client) -> None:
    body = {"name": "Shop", "key_label": "First", "key_grants": ["smtp/inject"]}
    subaccount = owner.post(PATH, body).results
    assert subaccount["key"] not in json.dumps(lines(), default=str)
    action, resource, name, changes = told()
    assert (action, resource, name) == ("POST", "subaccounts", str(subaccount["subaccount_id"]))
    assert changes["name"] == {"from": None, "to": "Shop"}
    (key,) = changes["keys"]["to"]
    assert (key["label"], key["grants"]) == ("First", ["smtp/inject"])
    assert key["id"]
    assert owner.post(PATH, {"name": "Other", "setup_api_key": False}).status == 200
    assert "keys" not in told()[3]


def test_a_change_of_a_subaccount_tells_what_changed(owner: Client) -> None:
    number = make_subaccount().id
    path = f"{PATH}/{number}"
    assert owner.put(path, {"status": "suspended"}).status == 200
    assert lines()[0]["subaccount_id"] == number
    assert told()[3] == {
        "status": {"from": "active", "to": "suspended"},
        "compliance_status": {"from": "active", "to": "suspended"},
    }
    assert owner.put(path, {"status": "suspended"}).status == 200
    assert owner.put(path, {"ip_pool": "none"}).status == 400
    assert owner.put(f"{PATH}/99", {"name": "None"}).status == 404
    assert lines() == []


def test_a_change_that_another_overtook_is_one_line() -> None:
    number = make_subaccount().id
    names = ["Between"]

    def edit(subaccount: Subaccount) -> Subaccount:
        if names:
            name = names.pop()
            store.change(1, number, lambda each: replace(each, name=name))
        return replace(subaccount, name="Last")

    with audit.bound(AUTHOR):
        store.change(1, number, edit)
    assert [line["changes"]["name"]["from"] for line in lines()] == ["A sender", "Between"]
