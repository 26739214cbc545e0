from __future__ import annotations

import re
from typing import Any

import pytest

from chalicelib.api_keys.grants import PRIMARY_GRANTS, SUBACCOUNT_GRANTS
from chalicelib.core import clock
from chalicelib.core.dynamo import Table
from tests.unit.calling import Client
from tests.unit.fleet.examples import make_pool
from tests.unit.people import make_account, make_domain, make_key, make_subaccount, transmission

PATH = "/api/v1/subaccounts"
NEW = {"name": "North", "key_label": "North's key", "key_grants": ["transmissions/modify"]}


@pytest.fixture
def owner(cloud: None) -> Client:
    make_account()
    make_domain("example.test", shared_with_subaccounts=True)
    for name in ("fast", "Fast 1", "A1_" + "x" * 17):
        make_pool(name)
    return make_key()


@pytest.mark.spec("4.5-t1")
def test_a_subaccount_is_created_with_a_key_of_its_own(owner: Client) -> None:
    result = owner.post(PATH, NEW).results
    assert set(result) == {"subaccount_id", "key", "label", "short_key"}
    assert isinstance(result["subaccount_id"], int)
    assert re.fullmatch(r"[0-9a-f]{40}", result["key"])
    assert (result["label"], result["short_key"]) == ("North's key", result["key"][:4])
    (key,) = owner.on_behalf_of(result["subaccount_id"]).get("/api/v1/api-keys").results
    assert (key["label"], key["grants"]) == ("North's key", ["transmissions/modify"])
    assert Client(result["key"]).post("/api/v1/transmissions", transmission()).status == 200


@pytest.mark.spec("4.5-t1")
def test_a_subaccount_can_be_created_without_a_key(owner: Client) -> None:
    result = owner.post(PATH, {"name": "North", "setup_api_key": False}).results
    assert set(result) == {"subaccount_id"}
    assert owner.on_behalf_of(result["subaccount_id"]).get("/api/v1/api-keys").results == []


def test_a_new_subaccounts_key_gets_no_grants_that_the_callers_key_lacks(owner: Client) -> None:
    manager = make_key(grants=["subaccount/manage", "subaccount/view", "webhooks/view"])
    refusal = manager.post(PATH, NEW | {"key_grants": ["webhooks/view", "transmissions/modify"]})
    assert refusal.status == 403
    assert "transmissions/modify" in str(refusal.error)
    assert owner.get(f"{PATH}/summary").results == {"total": 0}
    assert manager.post(PATH, NEW | {"key_grants": ["webhooks/view"]}).status == 200
    assert manager.post(PATH, {"name": "South", "setup_api_key": False}).status == 200


@pytest.mark.spec("4.5-t1")
@pytest.mark.spec("5-r4")
def test_the_key_can_be_limited_to_addresses(owner: Client) -> None:
    result = owner.post(PATH, NEW | {"key_valid_ips": ["198.51.100.0/24", "2001:db8::1"]}).results
    client = Client(result["key"])
    assert client.post("/api/v1/transmissions", transmission()).status == 403
    assert client.at("198.51.100.9").post("/api/v1/transmissions", transmission()).status == 200


def test_the_key_can_have_an_end(owner: Client) -> None:
    result = owner.post(PATH, NEW | {"key_expires_at": "2127-01-31T09:00:00Z"}).results
    (key,) = owner.on_behalf_of(result["subaccount_id"]).get("/api/v1/api-keys").results
    assert key["expires_at"] == "2127-01-31T09:00:00.000Z"
    assert (key["created_by"]["type"], key["created_by"]["label"]) == ("key", "tests")
    client = Client(result["key"])
    assert client.post("/api/v1/transmissions", transmission()).status == 200
    for moment, status in ((4_957_059_599.0, 200), (4_957_059_600.0, 401)):
        with clock.use(lambda moment=moment: moment):
            assert client.post("/api/v1/transmissions", transmission()).status == status


@pytest.mark.spec("4.5-t2")
@pytest.mark.spec("2.6-t1")
@pytest.mark.spec("2.6-t2")
@pytest.mark.spec("2.6-t3")
@pytest.mark.spec("2.6-t4")
@pytest.mark.spec("2.6-t5")
@pytest.mark.spec("2.6-t6")
def test_a_subaccount_is_shown_with_its_fields(owner: Client) -> None:
    body = NEW | {"ip_pool": "Fast_1", "options": {"deliverability": True, "rockets": True}}
    number = owner.post(PATH, body).results["subaccount_id"]
    assert owner.get(f"{PATH}/{number}").results == {
        "id": number,
        "name": "North",
        "status": "active",
        "compliance_status": "active",
        "ip_pool": "Fast_1",
        "options": {"deliverability": True, "open_tracking_disabled": False},
    }


@pytest.mark.spec("2.6-t2")
@pytest.mark.spec("2.6-t5")
@pytest.mark.spec("8-t8")
@pytest.mark.parametrize(
    ("body", "params"),
    [
        ({}, ["name", "key_label", "key_grants"]),
        ({"name": "North"}, ["key_label", "key_grants"]),
        ({"setup_api_key": False}, ["name"]),
        ({"setup_api_key": "no", "name": "x"}, ["setup_api_key", "key_label", "key_grants"]),
        (NEW | {"name": ""}, ["name"]),
        (NEW | {"name": "é" * 65}, ["name"]),
        (NEW | {"name": 7}, ["name"]),
        (NEW | {"key_label": " "}, ["key_label"]),
        (NEW | {"key_grants": []}, ["key_grants"]),
        (NEW | {"key_grants": "smtp/inject"}, ["key_grants"]),
        (NEW | {"key_grants": ["templates/modify"]}, ["key_grants"]),
        (NEW | {"key_valid_ips": "192.0.2.1"}, ["key_valid_ips"]),
        (NEW | {"key_expires_at": "2026-01-31T09:00:00Z"}, ["key_expires_at"]),
        (NEW | {"key_expires_at": "soon"}, ["key_expires_at"]),
        (NEW | {"key_valid_ips": ["192.0.2.1", "192.0.2.0/33"]}, ["key_valid_ips"]),
        (NEW | {"ip_pool": "x" * 21}, ["ip_pool"]),
        (NEW | {"ip_pool": "not-this"}, ["ip_pool"]),
        (NEW | {"ip_pool": "é"}, ["ip_pool"]),
        (NEW | {"ip_pool": "missing"}, ["ip_pool"]),
        (NEW | {"ip_pool": 7}, ["ip_pool"]),
        (NEW | {"options": []}, ["options"]),
        (NEW | {"options": {"deliverability": 1}}, ["deliverability"]),
        (
            {"name": 1, "key_grants": ["x"], "ip_pool": "-"},
            ["name", "key_label", "key_grants", "ip_pool"],
        ),
    ],
)
def test_each_error_names_the_parameter_that_is_wrong(
    owner: Client, body: dict[str, Any], params: list[str]
) -> None:
    response = owner.post(PATH, body)
    assert response.status == 400
    assert [error["param"] for error in response.body["errors"]] == params
    for error in response.body["errors"]:
        assert set(error) == {"message", "param", "value"}
        assert error["param"] in error["message"]
    assert owner.get(f"{PATH}/summary").results == {"total": 0}
    assert owner.on_behalf_of(0).get("/api/v1/api-keys").results == (
        owner.get("/api/v1/api-keys").results
    )


@pytest.mark.spec("8-t8")
def test_the_longest_name_and_pool_are_accepted(owner: Client) -> None:
    body = NEW | {"name": "é" * 64, "ip_pool": "A1_" + "x" * 17}
    number = owner.post(PATH, body).results["subaccount_id"]
    assert owner.get(f"{PATH}/{number}").results["name"] == "é" * 64


@pytest.mark.spec("4.5-t3")
def test_a_change_keeps_the_fields_that_it_does_not_name(owner: Client) -> None:
    number = owner.post(PATH, NEW | {"ip_pool": "fast"}).results["subaccount_id"]
    path = f"{PATH}/{number}"
    message = {"message": "Successfully updated subaccount information"}
    assert owner.put(path, {}).results == message
    owner.put(path, {"name": "South"})
    owner.put(path, {"options": {"open_tracking_disabled": True}})
    owner.put(path, {"options": {"deliverability": True}})
    view = owner.get(path).results
    assert (view["name"], view["ip_pool"], view["status"]) == ("South", "fast", "active")
    assert view["options"] == {"deliverability": True, "open_tracking_disabled": True}
    owner.put(path, {"ip_pool": ""})
    assert owner.get(path).results["ip_pool"] == ""
    assert owner.get(f"{PATH}?ip_pool=fast").body["total_count"] == 0


@pytest.mark.spec("4.5-t3")
@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"status": "gone"}, "status"),
        ({"status": 1}, "status"),
        ({"name": ""}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"ip_pool": "a b"}, "ip_pool"),
        ({"ip_pool": "missing"}, "ip_pool"),
        ({"options": {"deliverability": "yes"}}, "deliverability"),
    ],
)
def test_the_error_of_an_invalid_change_names_the_parameter(
    owner: Client, body: dict[str, Any], param: str
) -> None:
    path = f"{PATH}/{owner.post(PATH, NEW).results['subaccount_id']}"
    before = owner.get(path).results
    response = owner.put(path, body | {"name": body.get("name", "New")})
    assert (response.status, response.error["param"]) == (400, param)
    assert owner.get(path).results == before


@pytest.mark.spec("3-t7")
@pytest.mark.spec("2.6-t3")
@pytest.mark.spec("2.6-t4")
@pytest.mark.spec("7-t3")
def test_only_active_subaccounts_send_and_all_read(owner: Client) -> None:
    result = owner.post(
        PATH, NEW | {"key_grants": ["transmissions/modify", "message_events/view"]}
    ).results
    path, own = f"{PATH}/{result['subaccount_id']}", Client(result["key"])
    on_behalf = owner.on_behalf_of(result["subaccount_id"])
    for status in ("suspended", "active", "terminated", "active"):
        owner.put(path, {"status": status})
        view = owner.get(path).results
        assert view["status"] == view["compliance_status"] == status
        for client in (own, on_behalf):
            response = client.post("/api/v1/transmissions", transmission())
            assert client.get("/api/v1/events/message").status == 200
            if status == "active":
                assert response.status == 200
                continue
            assert response.status == 403
            assert response.error["description"] == (
                f"subaccount {result['subaccount_id']} is {status} and cannot send"
            )
    assert owner.post("/api/v1/transmissions", transmission()).status == 200


def test_a_subaccount_that_does_not_exist_is_not_found(owner: Client) -> None:
    foreign = make_subaccount(account=2).id
    for number in (foreign, 99):
        assert owner.get(f"{PATH}/{number}").status == 404
        assert owner.put(f"{PATH}/{number}", {"name": "x"}).status == 404


@pytest.mark.spec("4.5-t2")
@pytest.mark.parametrize("text", ["x", "1.5", "-1", "99999999999"])
def test_an_id_that_is_no_number_is_a_bad_request(owner: Client, text: str) -> None:
    response = owner.get(f"{PATH}/{text}")
    assert (response.status, response.error["param"]) == (400, "id")


@pytest.mark.spec("5-r5")
def test_without_the_grants_subaccounts_are_neither_read_nor_changed(owner: Client) -> None:
    number = make_subaccount().id
    viewer = make_key(grants={"subaccount/view"})
    assert viewer.get(f"{PATH}/{number}").status == viewer.get(PATH).status == 200
    assert viewer.post(PATH, NEW).status == viewer.put(f"{PATH}/{number}", {}).status == 403
    others = make_key(grants=PRIMARY_GRANTS - {"subaccount/view", "subaccount/manage"})
    for path in (PATH, f"{PATH}/summary", f"{PATH}/{number}"):
        assert others.get(path).status == 403
    assert "subaccount/view" not in SUBACCOUNT_GRANTS


@pytest.mark.spec("5-r2")
def test_no_stored_item_holds_the_key(owner: Client) -> None:
    result = owner.post(PATH, NEW).results
    from chalicelib.core import aws

    items = str(aws.dynamodb().scan(TableName=Table("config").name)["Items"])
    assert result["key"] not in items
    assert result["key"][:6] not in items
