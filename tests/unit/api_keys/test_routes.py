from __future__ import annotations

import re
from typing import Any

import pytest

from chalicelib.api_keys import store
from chalicelib.api_keys.grants import PRIMARY_GRANTS, SUBACCOUNT_GRANTS, used
from chalicelib.api_keys.model import draw_key, key_id, new_key
from chalicelib.core import clock
from chalicelib.core.request import Actor
from chalicelib.core.settings import settings
from chalicelib.users.roles import ADMIN, DEVELOPER, REPORTING, TEMPLATES, grants_of
from tests.fake_cloud import aws_requests
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key, make_subaccount, make_user, sign_in

pytestmark = pytest.mark.usefixtures("cloud")

KEYS = "/api/v1/api-keys"
NEW = {"label": "Sender", "grants": ["transmissions/modify", "smtp/inject"]}


@pytest.fixture
def owner(cloud: None) -> Client:
    make_account()
    return make_key()


def labels(client: Client) -> list[str]:
    return [key["label"] for key in client.get(KEYS).results]


@pytest.mark.spec("5-r2")
def test_a_key_is_shown_once_and_works(owner: Client) -> None:
    key = owner.post(KEYS, NEW | {"grants": ["account/view"]}).results
    assert re.fullmatch(r"[0-9a-f]{40}", key["key"])
    assert key["short_key"] == key["key"][:4]
    assert key["label"] == "Sender"
    assert Client(key["key"]).get("/api/v1/account").status == 200
    for body in (owner.get(f"{KEYS}/{key['id']}").body, owner.get(KEYS).body):
        assert key["key"] not in str(body)


def test_a_key_is_shown_with_all_its_fields_but_the_secret(owner: Client) -> None:
    (own,) = owner.get(KEYS).results
    with clock.use(lambda: 1_769_850_000.25):
        key = owner.post(KEYS, NEW | {"valid_ips": ["192.0.2.0/24"]}).results
    assert owner.get(f"{KEYS}/{key['id']}").results == {
        "id": key["id"],
        "label": "Sender",
        "short_key": key["short_key"],
        "grants": ["smtp/inject", "transmissions/modify"],
        "valid_ips": ["192.0.2.0/24"],
        "created_at": "2026-01-31T09:00:00.250Z",
        "created_by": {"type": "key", "id": own["id"], "label": "tests"},
        "expires_at": None,
        "last_used": None,
    }


def test_keys_are_listed_by_owner_and_by_age(owner: Client) -> None:
    first, second = make_subaccount().id, make_subaccount().id
    for moment, (client, label) in enumerate(
        [
            (owner.on_behalf_of(second), "of the second"),
            (owner, "older"),
            (owner.on_behalf_of(first), "of the first"),
            (owner, "newer"),
        ]
    ):
        with clock.use(lambda moment=moment: 2e9 + moment):
            client.post(KEYS, NEW | {"label": label})
    assert labels(owner) == ["tests", "older", "newer", "of the first", "of the second"]
    assert labels(owner.on_behalf_of(0)) == ["tests", "older", "newer"]
    assert labels(owner.on_behalf_of(second)) == ["of the second"]
    (key,) = owner.on_behalf_of(second).get(KEYS).results
    assert key["subaccount_id"] == second


@pytest.mark.spec("5-r6")
def test_writes_without_the_header_reach_the_keys_of_the_primary_account_only(
    owner: Client,
) -> None:
    number = make_subaccount().id
    key = owner.on_behalf_of(number).post(KEYS, NEW).results
    path = f"{KEYS}/{key['id']}"
    assert owner.get(path).results["subaccount_id"] == number
    assert owner.put(path, {"label": "x"}).status == 404
    assert owner.delete(path).status == 404
    assert owner.on_behalf_of(number).put(path, {"label": "x"}).status == 200
    assert owner.on_behalf_of(number).delete(path).status == 204


def test_a_change_keeps_the_fields_that_it_does_not_name(owner: Client) -> None:
    key = owner.post(KEYS, NEW | {"valid_ips": ["192.0.2.1"]}).results
    path = f"{KEYS}/{key['id']}"
    before = owner.get(path).results
    assert owner.put(path, {}).results == {"message": "API key has been updated"}
    assert owner.get(path).results == before
    owner.put(path, {"label": "New", "grants": ["metrics/view"]})
    assert owner.get(path).results == before | {"label": "New", "grants": ["metrics/view"]}
    owner.put(path, {"valid_ips": []})
    assert owner.get(path).results["valid_ips"] == []
    assert Client(key["key"]).get("/api/v1/account").status == 403


def test_of_two_changes_at_once_neither_undoes_the_other(
    owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{KEYS}/{owner.post(KEYS, NEW | {'valid_ips': ['192.0.2.1']}).results['id']}"
    real = store.change

    def change_after_another(*arguments: Any) -> bool:
        monkeypatch.undo()
        assert owner.put(path, {"grants": ["smtp/inject"], "valid_ips": []}).status == 200
        return real(*arguments)

    monkeypatch.setattr(store, "change", change_after_another)
    assert owner.put(path, {"label": "Renamed"}).status == 200
    view = owner.get(path).results
    assert (view["label"], view["grants"], view["valid_ips"]) == ("Renamed", ["smtp/inject"], [])


@pytest.mark.spec("5-r4")
def test_a_change_takes_effect_at_once_in_this_process_and_in_ten_seconds_in_others(
    owner: Client,
) -> None:
    key = owner.post(KEYS, NEW | {"grants": ["account/view"]}).results
    caller, path = Client(key["key"]), f"{KEYS}/{key['id']}"
    assert caller.get("/api/v1/account").status == 200
    owner.put(path, {"valid_ips": ["198.51.100.1"]})
    assert caller.get("/api/v1/account").status == 403
    assert caller.at("198.51.100.1").get("/api/v1/account").status == 200
    assert owner.delete(path).status == 204
    assert caller.at("198.51.100.1").get("/api/v1/account").status == 401
    assert owner.get(path).status == 404
    assert owner.put(path, {"label": "x"}).status == 404
    assert settings().key_cache_seconds <= 10


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "label"),
        ({"label": "x"}, "grants"),
        (NEW | {"label": ""}, "label"),
        (NEW | {"label": "x" * 257}, "label"),
        (NEW | {"grants": []}, "grants"),
        (NEW | {"grants": "smtp/inject"}, "grants"),
        (NEW | {"grants": ["smtp/inject", "rockets/launch"]}, "grants"),
        (NEW | {"valid_ips": "192.0.2.1"}, "valid_ips"),
        (NEW | {"valid_ips": ["192.0.2.0/33"]}, "valid_ips"),
        (NEW | {"valid_ips": ["192.0.2.1"] * 101}, "valid_ips"),
        (NEW | {"expires_at": "2026-01-31T09:00:00Z"}, "expires_at"),
        (NEW | {"expires_at": "2999-01-31T09:00:00"}, "expires_at"),
        (NEW | {"expires_at": "2999-02-31T09:00:00Z"}, "expires_at"),
        (NEW | {"expires_at": "9999-12-31T23:59:59-10:00"}, "expires_at"),
        (NEW | {"expires_at": "tomorrow"}, "expires_at"),
        (NEW | {"expires_at": ""}, "expires_at"),
        (NEW | {"expires_at": 1_800_000_000}, "expires_at"),
    ],
)
def test_an_error_names_the_parameter_that_is_wrong(
    owner: Client, body: dict[str, object], param: str
) -> None:
    response = owner.post(KEYS, body)
    assert response.status == 400
    assert param in [error["param"] for error in response.body["errors"]]
    assert labels(owner) == ["tests"]


def test_a_key_ends_at_the_moment_that_it_names_and_gets_another_end_or_none(
    owner: Client,
) -> None:
    body = NEW | {"expires_at": "2127-01-31T10:00:00.5+01:00"}
    path = f"{KEYS}/{owner.post(KEYS, body).results['id']}"
    assert owner.get(path).results["expires_at"] == "2127-01-31T09:00:00.500Z"
    owner.put(path, {"label": "Renamed"})
    assert owner.get(path).results["expires_at"] == "2127-01-31T09:00:00.500Z"
    owner.put(path, {"expires_at": "2128-01-31T09:00:00Z"})
    assert owner.get(path).results["expires_at"] == "2128-01-31T09:00:00.000Z"
    assert owner.put(path, {"expires_at": "2020-01-31T09:00:00Z"}).status == 400
    owner.put(path, {"expires_at": None})
    assert owner.get(path).results["expires_at"] is None


def test_the_list_is_filtered_by_label_end_and_last_use(owner: Client) -> None:
    for label, end, last_used in (
        ("Shop", "2127-03-01T00:00:00Z", 1_800_000_000),
        ("Workshop", "2127-05-01T00:00:00Z", None),
        ("Reports", None, 1_700_000_000),
    ):
        response = owner.post(KEYS, NEW | {"label": label, "expires_at": end}).results
        if last_used:
            store.note_use(key_id(response["key"]), last_used)

    def shown(query: str) -> list[str]:
        return [key["label"] for key in owner.get(f"{KEYS}?{query}").results]

    assert shown("label=SHOP") == ["Shop", "Workshop"]
    assert shown("label=") == ["tests", "Shop", "Workshop", "Reports"]
    assert shown("expires_before=2127-03-01T00:00:00Z") == []
    assert shown("expires_before=2127-03-01T00:00:00.001Z") == ["Shop"]
    assert shown("expires_before=2127-06-01T02:00:00+02:00") == ["Shop", "Workshop"]
    assert shown("last_used_before=2026-01-01T00:00:00Z") == ["Workshop", "Reports"]
    assert shown("label=o&last_used_before=2026-01-01T00:00:00Z&expires_before=2130-01-01T00:00Z")
    with clock.use(lambda: 5_200_000_000.0):  # both that have an end are past it
        assert shown("expires_before=2130-01-01T00:00:00Z") == ["Shop", "Workshop"]


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("label=" + "x" * 257, "label"),
        ("expires_before=", "expires_before"),
        ("expires_before=2127-03-01", "expires_before"),
        ("last_used_before=2127-03-01T00:00:00", "last_used_before"),
        ("last_used_before=never", "last_used_before"),
    ],
)
def test_a_filter_that_is_wrong_is_named(owner: Client, query: str, param: str) -> None:
    response = owner.get(f"{KEYS}?{query}")
    assert (response.status, response.error["param"]) == (400, param)


def test_a_key_shows_the_user_who_made_it_and_an_erased_one_by_a_pseudonym(owner: Client) -> None:
    ada, bob = Actor("user", "u1", "ada@example.com"), Actor("user", "u2", "bob@example.com")
    for actor in (ada, bob):
        store.put(new_key(draw_key(), 1, actor.label, ["metrics/view"], created_by=actor))
    store.rename_creator(1, ada._replace(label="erased"))
    creators = {key["label"]: key["created_by"] for key in owner.get(KEYS).results}
    assert creators == {
        "tests": None,
        "ada@example.com": {"type": "user", "id": "u1", "label": "erased"},
        "bob@example.com": {"type": "user", "id": "u2", "label": "bob@example.com"},
    }


def test_who_is_tied_to_a_subaccount_does_not_see_the_address_of_who_made_a_key(
    owner: Client,
) -> None:
    subaccount = make_subaccount().id
    ada = Actor("user", "u1", "ada@example.com")
    key = new_key(draw_key(), 1, "x", ["metrics/view"], subaccount_id=subaccount, created_by=ada)
    store.put(key)
    browser = sign_in(make_user(role="developer", subaccount_id=subaccount))
    hidden = {"type": "user", "id": "u1", "label": ""}
    assert [each["created_by"] for each in browser.get(KEYS).results] == [hidden]
    assert browser.get(f"{KEYS}/{key.id}").results["created_by"] == hidden
    assert owner.get(f"{KEYS}/{key.id}").results["created_by"]["label"] == "ada@example.com"


@pytest.mark.spec("5-r3")
def test_a_subaccounts_key_takes_the_ten_grants_only(owner: Client) -> None:
    client = owner.on_behalf_of(make_subaccount().id)
    assert client.post(KEYS, NEW | {"grants": sorted(SUBACCOUNT_GRANTS)}).status == 200
    for grant in sorted(PRIMARY_GRANTS - SUBACCOUNT_GRANTS):
        response = client.post(KEYS, NEW | {"grants": [grant]})
        assert (response.status, response.error["value"]) == (400, grant)
    path = f"{KEYS}/{client.get(KEYS).results[0]['id']}"
    assert client.put(path, {"grants": ["metrics/view"]}).status == 400


@pytest.mark.spec("7-t3")
def test_a_key_can_give_other_keys_only_the_grants_that_it_has() -> None:
    limited = make_key(grants={"api_keys/manage", "metrics/view"})
    assert limited.post(KEYS, NEW | {"grants": ["metrics/view"]}).status == 200
    response = limited.post(KEYS, NEW)
    assert response.status == 403
    assert "smtp/inject, transmissions/modify" in response.error["description"]
    path = f"{KEYS}/{limited.get(KEYS).results[0]['id']}"
    assert limited.put(path, {"grants": ["metrics/view", "smtp/inject"]}).status == 403


@pytest.mark.spec("5-r5")
def test_without_the_grant_keys_are_neither_read_nor_changed(owner: Client) -> None:
    other = make_key(grants=PRIMARY_GRANTS - {"api_keys/manage", "grants/view"})
    for method, path in (("GET", KEYS), ("POST", KEYS), ("DELETE", f"{KEYS}/1")):
        assert other.call(method, path, NEW).status == 403
    assert other.get("/api/v1/authenticate/grants").status == 403


@pytest.mark.spec("5-r3")
def test_grants_are_listed_with_a_label_and_a_description(owner: Client) -> None:
    grants = owner.get("/api/v1/authenticate/grants").results
    assert {grant["key"] for grant in grants} == PRIMARY_GRANTS
    assert all(grant["label"] and grant["description"] for grant in grants)
    assert {grant["key"] for grant in grants if grant["used"]} == used()
    for role in (ADMIN, DEVELOPER, TEMPLATES, REPORTING):
        with_role = {grant["key"] for grant in grants if role in grant["roles"]}
        assert with_role == grants_of(role)
    grants = owner.get("/api/v1/authenticate/grants?role=subaccount").results
    assert {grant["key"] for grant in grants} == SUBACCOUNT_GRANTS


@pytest.mark.parametrize("name", ["none", "0" * 26, "%20", "a" * 3000])
def test_a_key_that_does_not_exist_is_not_found(owner: Client, name: str) -> None:
    assert owner.get(f"{KEYS}/{name}").status == 404


@pytest.mark.cost
def test_one_key_of_many_is_found_in_one_request(owner: Client) -> None:
    ids = [owner.post(KEYS, NEW).results["id"] for _ in range(5)]
    with aws_requests() as requests:
        owner.get(f"{KEYS}/{ids[2]}")
    assert [request.operation for request in requests] == ["Query"]
