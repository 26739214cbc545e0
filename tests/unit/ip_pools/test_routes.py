"""``/ip-pools`` and ``/sending-ips`` as a client sees them."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.fleet import sending_ips, store, warmup
from chalicelib.sending_domains import store as domains
from tests.unit.calling import Client, Response
from tests.unit.fleet.examples import DAY, NOON, add, an_ip, make_pool, warming
from tests.unit.people import make_account, make_key, make_subaccount
from tests.unit.sending_domains.examples import domain

POOLS = "/api/v1/ip-pools"
IPS = "/api/v1/sending-ips"
DEFAULT = {"id": "default", "name": "Default", "ips": []}


@pytest.fixture
def owner(cloud: None) -> Client:
    make_account()
    assert domains.create(domain("signs.test"))
    return make_key()


def refusal(response: Response) -> tuple[int, str]:
    """Return the status and the message, which is all that an error holds."""
    assert [set(error) for error in response.body["errors"]] == [{"message"}]
    return response.status, response.error["message"]


@pytest.mark.spec("4.7-t1")
@pytest.mark.spec("2.8-t2")
def test_every_account_has_the_default_pool(owner: Client) -> None:
    assert owner.get(POOLS).results == [DEFAULT]
    assert owner.get(f"{POOLS}/default").results == DEFAULT


@pytest.mark.spec("4.7-t1")
@pytest.mark.spec("4.7-t2")
@pytest.mark.spec("4.7-t3")
@pytest.mark.spec("2.8-t1")
@pytest.mark.spec("2.8-t3")
@pytest.mark.spec("2.8-t4")
@pytest.mark.spec("2.8-t6")
def test_a_pool_is_created_under_an_id_made_from_its_name(owner: Client) -> None:
    assert owner.post(POOLS, {"name": "Overflow Pool"}).results == {"id": "overflow_pool"}
    body = {
        "name": "Marketing IP Pool",
        "signing_domain": "signs.test",
        "fbl_signing_domain": "Signs.test",
        "auto_warmup_overflow_pool": "Overflow_Pool",
        "id": "mine",
        "ips": [{"external_ip": "192.0.2.9"}],
    }
    assert owner.post(POOLS, body).results == {"id": "marketing_ip_pool"}
    view = {
        "id": "marketing_ip_pool",
        "name": "Marketing IP Pool",
        "signing_domain": "signs.test",
        "fbl_signing_domain": "signs.test",
        "auto_warmup_overflow_pool": "overflow_pool",
        "ips": [],
    }
    assert owner.get(f"{POOLS}/marketing_ip_pool").results == view
    assert owner.get(f"{POOLS}/MARKETING_IP_POOL").results == view
    views = [DEFAULT, {"id": "overflow_pool", "name": "Overflow Pool", "ips": []}, view]
    assert owner.get(POOLS).results == views
    assert owner.post(POOLS, {"name": "Marketing IP Pool"}).results == {"id": "marketing_ip_pool_2"}


@pytest.mark.spec("4.7-t2")
@pytest.mark.spec("2.8-t3")
@pytest.mark.spec("2.8-t6")
@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "name"),
        ({"name": " "}, "name"),
        ({"name": 7}, "name"),
        ({"name": "x" * 129}, "name"),
        ({"name": "a", "signing_domain": "nobody.test"}, "signing_domain"),
        ({"name": "a", "fbl_signing_domain": "nobody.test"}, "fbl_signing_domain"),
        ({"name": "a", "signing_domain": ["signs.test"]}, "signing_domain"),
        ({"name": "a", "auto_warmup_overflow_pool": "nowhere"}, "nowhere"),
        ([], "object"),
    ],
)
def test_an_invalid_pool_is_refused_with_messages(owner: Client, body: Any, word: str) -> None:
    response = owner.post(POOLS, body)
    assert response.status == (422 if body == [] else 400)
    assert all(set(error) == {"message"} for error in response.body["errors"])
    assert word in response.error["message"]
    assert owner.get(POOLS).results == [DEFAULT]


@pytest.mark.spec("2.8-t6")
def test_the_shared_pool_takes_overflow_but_not_of_enterprise_accounts(owner: Client) -> None:
    body = {"name": "New", "auto_warmup_overflow_pool": "shared pool"}
    assert owner.post(POOLS, body).status == 200
    make_account(2, service_level="enterprise")
    enterprise = make_key(2)
    assert enterprise.post(POOLS, body).status == 400
    assert enterprise.post(POOLS, {"name": "New"}).status == 200
    assert enterprise.put(f"{POOLS}/new", body).status == 400


@pytest.mark.spec("4.7-t4")
@pytest.mark.spec("2.8-t3")
@pytest.mark.spec("2.8-t4")
def test_an_update_changes_what_it_names_and_an_empty_string_removes(owner: Client) -> None:
    make_pool("Spare")
    make_pool("Marketing", signing_domain="signs.test", fbl_signing_domain="signs.test")
    path = f"{POOLS}/marketing"
    changed = {"name": "Renamed", "auto_warmup_overflow_pool": "spare", "fbl_signing_domain": ""}
    assert owner.put(path, changed).results == {
        "id": "marketing",
        "name": "Renamed",
        "fbl_signing_domain": "",
        "auto_warmup_overflow_pool": "spare",
    }
    assert owner.get(path).results == {
        "id": "marketing",
        "name": "Renamed",
        "signing_domain": "signs.test",
        "auto_warmup_overflow_pool": "spare",
        "ips": [],
    }
    assert owner.put(path, {"signing_domain": "", "auto_warmup_overflow_pool": ""}).status == 200
    assert set(owner.get(path).results) == {"id", "name", "ips"}


@pytest.mark.spec("4.7-t4")
@pytest.mark.spec("4.7-t5")
def test_the_default_pool_is_reserved(owner: Client) -> None:
    for response in (
        owner.put(f"{POOLS}/default", {"name": "Mine"}),
        owner.delete(f"{POOLS}/default"),
    ):
        status, message = refusal(response)
        assert (status, message.startswith("IP Pool default is reserved")) == (400, True)


@pytest.mark.spec("4.7-t3")
@pytest.mark.spec("4.7-t4")
@pytest.mark.spec("4.7-t5")
@pytest.mark.parametrize("pool_id", ["nowhere", "shared%20pool", "%C3%A4"])
def test_an_unknown_pool_is_not_found(owner: Client, pool_id: str) -> None:
    make_pool("Nowhere", account=2)
    assert refusal(owner.get(f"{POOLS}/{pool_id}")) == (404, "IP pool not found.")
    for response in (
        owner.put(f"{POOLS}/{pool_id}", {"name": "x"}),
        owner.delete(f"{POOLS}/{pool_id}"),
    ):
        status, message = refusal(response)
        assert status == 404
        assert message.startswith("IP Pool ")
        assert message.endswith(" does not exist.")


@pytest.mark.spec("4.7-t5")
@pytest.mark.spec("2.8-t5")
def test_the_ips_of_a_deleted_pool_are_shown_in_the_default_pool(owner: Client) -> None:
    make_pool("Fast")
    add(an_ip(1, "fast"), warming(2, "fast"))
    view = [
        {
            "external_ip": "192.0.2.1",
            "hostname": "mta1.example.test",
            "auto_warmup_enabled": False,
        },
        {
            "external_ip": "192.0.2.2",
            "hostname": "mta2.example.test",
            "auto_warmup_enabled": True,
            "auto_warmup_stage": 1,
        },
    ]
    assert owner.get(f"{POOLS}/fast").results["ips"] == view
    response = owner.delete(f"{POOLS}/fast")
    assert (response.status, response.body) == (204, None)
    assert owner.get(POOLS).results == [DEFAULT | {"ips": view}]
    assert owner.delete(f"{POOLS}/fast").status == 404


def test_sending_ips_are_listed_and_shown(owner: Client) -> None:
    assert owner.get(IPS).results == []
    make_pool("Fast")
    add(an_ip(1, customer_provided=True), warming(2, "fast", 5), account=1)
    add(an_ip(3), account=2)
    first = {
        "external_ip": "192.0.2.1",
        "hostname": "mta1.example.test",
        "ip_pool": "default",
        "customer_provided": True,
        "auto_warmup_enabled": False,
    }
    second = {
        "external_ip": "192.0.2.2",
        "hostname": "mta2.example.test",
        "ip_pool": "fast",
        "customer_provided": False,
        "auto_warmup_enabled": True,
        "auto_warmup_stage": 5,
    }
    assert owner.get(IPS).results == [first, second]
    assert owner.get(f"{IPS}/192.0.2.2").results == second


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_a_sending_ip_must_be_an_address_of_the_account(owner: Client, method: str) -> None:
    add(an_ip(3), account=2)
    assert refusal(owner.call(method, f"{IPS}/192.0.2", {})) == (
        400,
        "external_ip must be a valid IP address",
    )
    assert refusal(owner.call(method, f"{IPS}/192.0.2.3", {})) == (404, "Sending IP does not exist")


def test_a_sending_ip_is_moved_and_warmed_up(owner: Client) -> None:
    make_pool("Fast")
    add(an_ip(1))
    path = f"{IPS}/192.0.2.1"
    body = {"ip_pool": "FAST", "auto_warmup_enabled": True, "auto_warmup_stage": 1}
    assert owner.put(path, body).results == {"message": "Updated Sending IP."}
    view = owner.get(path).results
    assert (view["ip_pool"], view["auto_warmup_enabled"]) == ("fast", True)
    assert view["auto_warmup_stage"] == 1
    (ip,) = store.get(1).ips
    assert ip.advance_ms % 86_400_000 == 0
    assert owner.put(path, {"auto_warmup_enabled": False, "ip_pool": "default"}).status == 200
    assert "auto_warmup_stage" not in owner.get(path).results


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"ip_pool": "nowhere"}, "nowhere does not exist"),
        ({"ip_pool": "shared pool"}, "does not exist"),
        ({"ip_pool": ""}, "ip_pool"),
        ({"ip_pool": 1}, "ip_pool"),
        ({"auto_warmup_enabled": "yes"}, "auto_warmup_enabled"),
        ({"auto_warmup_stage": 0}, "from 1 to 29"),
        ({"auto_warmup_stage": 30}, "from 1 to 29"),
        ({"auto_warmup_stage": 1.5}, "from 1 to 29"),
        ({"auto_warmup_stage": True}, "from 1 to 29"),
        ({"auto_warmup_stage": 6}, "at most 5"),
        ({"auto_warmup_stage": 3, "auto_warmup_enabled": False}, "auto_warmup_enabled"),
    ],
)
def test_an_invalid_change_of_an_ip_is_refused(owner: Client, body: Any, word: str) -> None:
    add(warming(1, stage=5))
    response = owner.put(f"{IPS}/192.0.2.1", body)
    assert response.status == 400
    assert [set(error) for error in response.body["errors"]] == [{"message"}]
    assert word in response.error["message"]
    assert owner.get(f"{IPS}/192.0.2.1").results["auto_warmup_stage"] == 5


@pytest.mark.spec("2.6-t5")
def test_a_subaccount_sees_the_pool_that_it_is_limited_to(owner: Client) -> None:
    make_pool("Fast")
    add(an_ip(1), an_ip(2, "fast"))

    def visible_ids(**fields: str) -> tuple[list[str], list[str]]:
        client = owner.on_behalf_of(make_subaccount(**fields).id)
        pools, ips = client.get(POOLS).results, client.get(IPS).results
        for pool_id in ("default", "fast"):
            is_visible = client.get(f"{POOLS}/{pool_id}").status == 200
            assert is_visible == (pool_id in [pool["id"] for pool in pools])
        for address in ("192.0.2.1", "192.0.2.2"):
            is_visible = client.get(f"{IPS}/{address}").status == 200
            assert is_visible == (address in [ip["external_ip"] for ip in ips])
        return [pool["id"] for pool in pools], [ip["external_ip"][-1] for ip in ips]

    assert visible_ids() == (["default", "fast"], ["1", "2"])
    assert visible_ids(ip_pool="FAST") == (["fast"], ["2"])
    assert visible_ids(ip_pool="gone") == ([], []), "its pool was deleted by an earlier version"


def test_pools_are_changed_by_the_primary_account_only(owner: Client) -> None:
    make_pool("Fast")
    add(an_ip(1))
    client = owner.on_behalf_of(make_subaccount().id)
    responses = [
        client.post(POOLS, {"name": "Mine"}),
        client.put(f"{POOLS}/fast", {"name": "Mine"}),
        client.delete(f"{POOLS}/fast"),
        client.put(f"{IPS}/192.0.2.1", {"ip_pool": "fast"}),
    ]
    assert [response.status for response in responses] == [403] * 4
    assert [pool["name"] for pool in owner.get(POOLS).results] == ["Default", "Fast"]


@pytest.mark.parametrize(("grant", "allowed"), [("ip_pools/view", 200), ("ip_pools/manage", 403)])
def test_reading_and_changing_need_a_grant_each(owner: Client, grant: str, allowed: int) -> None:
    add(an_ip(1))
    client = make_key(grants=[grant])
    for target in (POOLS, f"{POOLS}/default", IPS, f"{IPS}/192.0.2.1"):
        assert client.get(target).status == allowed
    created = client.post(POOLS, {"name": "New"}).status
    assert created == (403 if allowed == 200 else 200)
    changed = client.put(f"{IPS}/192.0.2.1", {"ip_pool": "default"}).status
    assert changed == created


def test_the_warm_up_of_an_ip_is_shown_day_by_day(owner: Client) -> None:
    path = f"{IPS}/192.0.2.1/warmup"
    with clock.use(lambda: NOON):
        add(warming(1))
        assert owner.get(path).results == {
            "external_ip": "192.0.2.1",
            "auto_warmup_enabled": True,
            "auto_warmup_stage": 1,
            "next_stage_time": "2024-10-05T00:00:00+00:00",
            "last_stage": 29,
            "today": {"date": "2024-10-04", "stage": 1, "sent": 0, "limit": 200},
            "history": [],
        }
        for _ in range(3):
            warmup.reserve(1, warming(1), NOON, 90)
    with clock.use(lambda: NOON + DAY):
        warmup.advance_due(NOON + DAY)
        warmup.reserve(1, warming(1, stage=2), NOON + DAY, 30)
        results = owner.get(path).results
    assert results["today"] == {"date": "2024-10-05", "stage": 2, "sent": 30, "limit": 280}
    first_day = {"date": "2024-10-04", "stage": 1, "sent": 200, "limit": 200}
    assert results["history"] == [results["today"], first_day]


def test_an_ip_that_is_warm_has_only_the_history_of_its_warm_up(owner: Client) -> None:
    add(an_ip(1))
    assert owner.get(f"{IPS}/192.0.2.1/warmup").results == {
        "external_ip": "192.0.2.1",
        "auto_warmup_enabled": False,
        "last_stage": 29,
        "history": [],
    }


def test_the_history_of_an_ip_stays_with_the_account_that_had_it(owner: Client) -> None:
    make_account(2)
    add(warming(1))
    warmup.reserve(1, warming(1), clock.now(), 5)
    sending_ips.remove(1, "192.0.2.1")
    add(warming(1), account=2)
    results = make_key(2).get(f"{IPS}/192.0.2.1/warmup").results
    assert (results["today"]["sent"], results["history"]) == (0, [])
    assert owner.get(f"{IPS}/192.0.2.1/warmup").status == 404


def test_a_warm_up_is_visible_to_those_who_see_the_ip(owner: Client) -> None:
    make_pool("other")
    add(warming(1))
    subaccount = make_subaccount(ip_pool="other")
    assert owner.on_behalf_of(subaccount.id).get(f"{IPS}/192.0.2.1/warmup").status == 404
    assert owner.get(f"{IPS}/192.0.2.9/warmup").status == 404
    assert owner.get(f"{IPS}/nonsense/warmup").status == 400
