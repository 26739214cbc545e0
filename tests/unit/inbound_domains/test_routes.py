"""Call the endpoints of ``/inbound-domains``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.domain_claims import store as claims
from chalicelib.inbound_domains import store
from chalicelib.inbound_domains.lookup import registered
from chalicelib.sending_domains import store as sending_domains
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from tests.unit.audit_lines import lines, told
from tests.unit.calling import Client, Response
from tests.unit.inbound_domains.examples import store_inbound_domain
from tests.unit.people import make_account, make_key, make_subaccount
from tests.unit.zones import Zone

PATH = "/api/v1/inbound-domains"
ROUTES = f"{PATH}/in.test/routes"
SERVICE_MX = ("MX", "10 postfinch.test")


@pytest.fixture
def owner(zone: Zone) -> Client:
    make_account()
    return make_key()


@pytest.fixture
def other(owner: Client) -> Client:
    make_account(2)
    return make_key(2)


def create(client: Client, name: str) -> Response:
    return client.post(PATH, {"domain": name})


def refused(response: Response) -> tuple[int, str]:
    return response.status, response.error["code"]


def send_from(name: str, account: int, **statuses: Any) -> SendingDomain:
    domain = SendingDomain(name, account, 1.0, DomainStatus(**statuses))
    assert sending_domains.create(domain)
    return domain


def test_a_new_domain_shows_its_records_and_what_to_publish(owner: Client, zone: Zone) -> None:
    zone.set("reply.example.com", SERVICE_MX)
    domain = create(owner, "Reply.Example.COM").results
    now = clock.iso_ms(clock.now_ms())[:10]
    assert domain.pop("created").startswith(now)
    assert domain.pop("mx_checked").startswith(now)
    record = {
        "purpose": "mx",
        "type": "MX",
        "name": "reply.example.com",
        "value": "10 postfinch.test",
        "required": True,
        "status": "valid",
    }
    assert domain == {
        "domain": "reply.example.com",
        "status": "active",
        "mx_status": "valid",
        "mx_records": ["10 postfinch.test"],
        "mx_error": "",
        "dns_records": [record],
        "relay_webhook_id": None,
    }
    assert owner.get(f"{PATH}/reply.example.com/dns-records").results == [record]
    assert owner.get(f"{PATH}/REPLY.example.com").results.items() >= domain.items()
    assert [each["domain"] for each in owner.get(PATH).results] == ["reply.example.com"]


def test_a_domain_belongs_to_the_subaccount_of_the_request(owner: Client) -> None:
    number = make_subaccount().id
    subaccount = owner.on_behalf_of(number)
    assert create(subaccount, "in.test").results["subaccount_id"] == number
    assert lines()[0]["subaccount_id"] == number
    assert subaccount.get(f"{PATH}/in.test").status == 200
    for client in (owner.on_behalf_of(0), owner.on_behalf_of(make_subaccount().id)):
        assert refused(client.get(f"{PATH}/in.test")) == (404, "1600")
        assert client.get(PATH).results == []
    assert len(owner.get(PATH).results) == 1


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "1400"),
        ({"domain": None}, 422, "1400"),
        ({"domain": 7}, 422, "1300"),
        ({"domain": "nodot"}, 422, "1300"),
        ({"domain": "a@in.test"}, 422, "1300"),
        ({"domain": "x" * 300 + ".test"}, 422, "1300"),
        ({"domain": "co.uk"}, 400, "7000"),
        ({"domain": "gmail.com"}, 400, "7000"),
        ({"domain": "in.gmail.com"}, 400, "7000"),
        ({"domain": "Postfinch.test"}, 400, "7000"),
        ({"domain": "in.postfinch.test"}, 400, "7000"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(
    owner: Client, body: dict[str, Any], status: int, code: str
) -> None:
    assert refused(owner.post(PATH, body)) == (status, code)


def test_the_mail_domains_of_enterprise_accounts_are_refused(
    owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENANT_DOMAIN", "mail{account}.example.net")
    settings.cache_clear()
    assert refused(create(owner, "mail12.example.net")) == (400, "7000")
    assert create(owner, "mailx.example.net").status == 200


def test_a_name_that_any_account_has_registered_is_a_conflict(owner: Client, other: Client) -> None:
    assert create(owner, "in.test").status == 200
    for client in (owner, other):
        response = create(client, "In.test")
        assert refused(response) == (409, "1602")
        assert response.error["message"] == "resource conflict"
        text = "An inbound domain with similar attributes exists"
        assert response.error["description"] == text


def test_a_blocked_name_is_refused_and_one_that_is_blocked_later_shows_it(owner: Client) -> None:
    assert create(owner, "in.example.com").status == 200
    claims.block("example.com")
    assert refused(create(owner, "other.example.com")) == (400, "7000")
    assert owner.get(f"{PATH}/in.example.com").results["status"] == "blocked"


@pytest.mark.parametrize("check", ["cname_status", "mx_status"])
def test_a_bounce_domain_is_a_conflict_and_an_unverified_domain_is_none(
    owner: Client, other: Client, check: str
) -> None:
    send_from("in.example.com", 1, ownership_verified=True, dkim_status="valid")
    assert create(owner, "in.example.com").status == 200
    send_from("b.example.com", 1, ownership_verified=True, **{check: "valid"})
    for client in (owner, other):
        response = create(client, "b.example.com")
        assert refused(response) == (409, "1602")
        text = "A verified sending domain with similar attributes exists"
        assert response.error["description"] == text


def test_a_name_that_another_account_has_verified_is_refused(owner: Client, other: Client) -> None:
    send_from("example.com", 2, ownership_verified=True)
    send_from("example.net", 2)
    for name in ("example.com", "in.example.com"):
        assert refused(create(owner, name)) == (400, "7004")
        assert registered(name) is None
    assert create(owner, "example.net").status == 200
    assert create(other, "in.example.com").status == 200


def test_an_account_that_proves_a_name_gets_it_from_one_that_did_not(
    owner: Client, other: Client
) -> None:
    assert create(owner, "in.example.com").status == 200
    target = {"target": "https://hooks.example.com/", "match": {"domain": "in.example.com"}}
    webhook = owner.post("/api/v1/relay-webhooks", target).results["id"]
    send_from("example.com", 2, ownership_verified=True)
    assert owner.get(f"{PATH}/in.example.com").results["status"] == "owned_by_other"
    assert create(other, "in.example.com").results["status"] == "active"
    domain = registered("in.example.com")
    assert domain
    assert domain.account_id == 2
    assert refused(owner.get(f"{PATH}/in.example.com")) == (404, "1600")
    assert refused(create(owner, "in.example.com")) == (400, "7004")
    line = owner.get("/api/v1/audit-log?resource=inbound-domains").results[0]
    assert (line["action"], line["resource_id"]) == ("DELETE", "in.example.com")
    assert (line["actor"]["type"], line["ip"]) == ("operator", "")
    assert owner.delete(f"/api/v1/relay-webhooks/{webhook}").status == 200
    assert other.post("/api/v1/relay-webhooks", target).status == 200


def test_a_domain_that_a_relay_webhook_uses_cannot_be_deleted(owner: Client) -> None:
    store_inbound_domain(relay_webhook_id="12")
    response = owner.delete(f"{PATH}/in.test")
    assert refused(response) == (409, "1602")
    assert "relay webhook 12" in response.error["description"]
    store_inbound_domain("b.test")
    assert owner.delete(f"{PATH}/B.test").results == {}
    for name in ("b.test", "x" * 3000, "é" * 400):
        response = owner.delete(f"{PATH}/{name}")
        assert refused(response) == (404, "1600")
        assert response.error["message"] == "resource not found"


def test_routes_are_replaced_as_a_whole_and_keep_their_order(owner: Client) -> None:
    store_inbound_domain()
    body = [
        {"pattern": "Sales*", "action": "forward", "forward_to": "a@elsewhere.test"},
        {"pattern": "no-reply", "action": "drop"},
        {"pattern": "*", "action": "webhook"},
    ]
    assert owner.get(ROUTES).results == []
    assert owner.put(ROUTES, {"routes": body}).results == body
    assert told()[:3] == ("PUT", "inbound-domains", "in.test")
    assert owner.get(ROUTES).results == body
    domain = registered("in.test")
    assert domain
    assert [domain.route_for(each).action for each in ("SALES-7", "no-reply", "x")] == [
        "forward",
        "drop",
        "store",
    ]
    assert owner.put(ROUTES, {"routes": []}).results == []
    assert refused(owner.put(f"{PATH}/none.test/routes", {"routes": []})) == (404, "1600")


DROP = {"action": "drop"}
FORWARD = {"pattern": "a", "action": "forward"}


@pytest.mark.parametrize(
    ("entries", "code", "place"),
    [
        (None, "1400", "routes"),
        ({}, "1300", "routes"),
        (["a"], "1300", "routes"),
        ([{"pattern": "a"}], "1400", "action"),
        ([{"action": "drop"}], "1400", "pattern"),
        ([{"pattern": "a", "action": "bounce"}], "1300", "action"),
        ([{"pattern": 7, **DROP}], "1300", "pattern"),
        ([{"pattern": "", **DROP}], "1300", "routes[0].pattern"),
        ([{"pattern": "x" * 65, **DROP}], "1300", "routes[0].pattern"),
        ([{"pattern": "*" * 9, **DROP}], "1300", "routes[0].pattern"),
        ([{"pattern": "a@in.test", **DROP}], "1300", "routes[0].pattern"),
        ([{"pattern": "a b", **DROP}], "1300", "routes[0].pattern"),
        ([{"pattern": "a\0", **DROP}], "1300", "routes[0].pattern"),
        ([FORWARD], "1400", "routes[0].forward_to"),
        ([FORWARD | {"forward_to": "nobody"}], "1300", "routes[0].forward_to"),
        ([FORWARD | {"forward_to": "b@IN.test"}], "1300", "routes[0].forward_to"),
        ([{"pattern": "a", **DROP, "forward_to": "a@b.test"}], "1301", "routes[0].forward_to"),
        ([{"pattern": "a", **DROP}, {"pattern": "A", **DROP}], "1300", "routes[1].pattern"),
        ([{"pattern": f"a{each}", **DROP} for each in range(101)], "1300", "routes"),
    ],
)
def test_routes_that_cannot_work_are_refused(
    owner: Client, entries: Any, code: str, place: str
) -> None:
    store_inbound_domain()
    response = owner.put(ROUTES, {"routes": entries})
    assert refused(response) == (422, code)
    assert place in response.error["description"]
    assert owner.get(ROUTES).results == []


def test_a_change_between_the_check_of_the_name_and_its_write_is_seen(
    owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sending domain becomes a bounce domain just before the inbound domain is written."""
    send_from("in.example.com", 1, ownership_verified=True)
    real, calls = store.create, []

    def create_late(*arguments: Any, **keywords: Any) -> bool:
        if not calls:
            calls.append(1)
            status = DomainStatus(ownership_verified=True, cname_status="valid")
            sending_domains.change("in.example.com", lambda each: replace(each, status=status))
        return real(*arguments, **keywords)

    monkeypatch.setattr(store, "create", create_late)
    assert refused(create(owner, "in.example.com")) == (409, "1602")
    assert store.find(Scope(1, None), "in.example.com") is None
