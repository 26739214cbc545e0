"""``/api-keys/current``: what a key may do, and whom its requests act for."""

from __future__ import annotations

import pytest

from chalicelib.api_keys import store
from chalicelib.api_keys.model import key_id
from chalicelib.core.dynamo import Table
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key, make_subaccount

PATH = "/api/v1/api-keys/current"


@pytest.fixture(autouse=True)
def _account(cloud: None) -> None:
    make_account(1)


def test_a_key_without_grants_learns_what_it_is() -> None:
    client = make_key(1, grants=())
    results = client.get(PATH).results
    assert results["short_key"] == client.key[:4]
    assert (results["grants"], results["valid_ips"]) == ([], [])
    assert (results["customer_id"], results["subaccount"]) == (1, None)
    assert client.key not in str(results)


def test_its_id_is_that_of_the_other_routes() -> None:
    client = make_key(1, grants=("api_keys/manage", "templates/view"))
    results = client.get(PATH).results
    assert results["grants"] == ["api_keys/manage", "templates/view"]
    view = client.get(f"/api/v1/api-keys/{results['id']}").results
    assert results == view | {"customer_id": 1, "subaccount": None}


def test_grants_that_others_include_are_listed_too() -> None:
    client = make_key(1, grants=("users/manage", "sending_domains/manage"))
    assert client.get(PATH).results["grants"] == [
        "sending_domains/manage",
        "sending_domains/view",
        "users/manage",
        "users/view",
    ]


def test_the_header_decides_whom_the_key_of_an_account_acts_for() -> None:
    subaccount = make_subaccount(1, "Bakery", status="suspended")
    client = make_key(1)
    expected = {"id": subaccount.id, "name": "Bakery", "status": "suspended"}
    assert client.on_behalf_of(subaccount.id).get(PATH).results["subaccount"] == expected
    assert client.on_behalf_of(0).get(PATH).results["subaccount"] is None
    assert client.on_behalf_of(99).get(PATH).status == 400


def test_a_subaccounts_key_acts_for_its_subaccount() -> None:
    subaccount = make_subaccount(1, "Bakery")
    client = make_key(1, subaccount.id, grants=("webhooks/view",))
    results = client.get(PATH).results
    assert results["subaccount"] == {"id": subaccount.id, "name": "Bakery", "status": "active"}
    assert results["subaccount_id"] == subaccount.id


def test_a_request_without_a_valid_key_learns_nothing() -> None:
    assert Client("0" * 40).get(PATH).status == 401
    client = make_key(1)
    assert client.get(PATH).status == 200
    Table("config").delete(*store.key_of(key_id(client.key)))  # still in the cache
    assert client.get(PATH).status == 401
