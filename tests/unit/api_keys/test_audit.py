"""The audit log has the changes of API keys, never a key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chalicelib.api_keys import model, store
from chalicelib.core import audit
from chalicelib.core.audit import Author
from chalicelib.core.request import Actor
from chalicelib.core.scope import Scope
from tests.fake_cloud import aws_requests
from tests.unit.audit_lines import lines, told
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key, make_subaccount

pytestmark = pytest.mark.usefixtures("cloud")

KEYS = "/api/v1/api-keys"
AUTHOR = Author(1, Actor("key", "k1", "Website"), "PUT", KEYS, "api-keys")
BODY = {"label": "Shop", "grants": ["templates/view"], "valid_ips": ["192.0.2.0/24"]}


@pytest.fixture
def owner(cloud: None) -> Client:
    make_account()
    return make_key()


def test_a_new_key_is_a_line_without_the_key(owner: Client) -> None:
    key = owner.post(KEYS, BODY).results
    text = json.dumps(lines(), default=str)
    action, resource, name, changes = told()
    assert (action, resource, name) == ("POST", "api-keys", key["id"])
    values = {field: each["to"] for field, each in changes.items() if each["to"] is not None}
    assert values == BODY
    assert key["key"] not in text
    assert model.key_id(key["key"]) not in text


def test_a_change_of_a_key_tells_what_changed(owner: Client) -> None:
    path = f"{KEYS}/{owner.post(KEYS, BODY).results['id']}"
    told()
    grants = ["templates/view", "usage/view"]
    assert owner.put(path, {"label": "Shop", "grants": grants}).status == 200
    changes: dict[str, Any] = {"grants": {"from": ["templates/view"], "to": grants}}
    assert told()[3] == changes
    assert owner.put(path, {"expires_at": "2190-01-31T09:05:00Z"}).status == 200
    end = {"from": None, "to": "2190-01-31T09:05:00.000Z"}
    assert told()[3] == {"expires_at": end}
    assert owner.put(path, {"label": "Shop"}).status == 200
    assert owner.put(path, {"grants": ["none"]}).status == 400
    assert lines() == []


def test_a_deleted_key_is_one_line_however_often_it_is_deleted(owner: Client) -> None:
    subaccount = make_subaccount().id
    name = (
        owner.on_behalf_of(subaccount).post(KEYS, BODY | {"grants": ["smtp/inject"]}).results["id"]
    )
    assert lines()[0]["subaccount_id"] == subaccount
    told()
    (key,) = [each for each in store.in_scope(Scope(1, None)) if each.id == name]
    assert owner.on_behalf_of(subaccount).delete(f"{KEYS}/{name}").status == 204
    assert lines()[0]["subaccount_id"] == subaccount
    assert told()[3]["label"] == {"from": "Shop", "to": None}
    with audit.bound(AUTHOR):
        store.delete(key)
        assert not store.change(key, {"label": "Other"})
    assert lines() == []


@pytest.mark.cost
def test_a_line_costs_no_request_of_its_own(owner: Client) -> None:
    with aws_requests() as requests:
        path = f"{KEYS}/{owner.post(KEYS, BODY).results['id']}"
        owner.put(path, {"label": "Other"})
        owner.delete(path)
    operations = [each.operation for each in requests]
    assert operations.count("TransactWriteItems") == 3
    assert not {"PutItem", "UpdateItem", "DeleteItem"} & set(operations)
