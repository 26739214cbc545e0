"""What something names cannot be deleted, and the error says what names it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from chalicelib.ab_tests.model import HOUR_MS, Share
from chalicelib.core import clock, dynamo, references
from chalicelib.core.caches import clear_caches
from chalicelib.core.scope import Scope
from chalicelib.dkim.sealed_key import sealed_key
from chalicelib.fleet import store as fleets
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.further_keys.model import FurtherKey
from chalicelib.sending_domains.model import VALID
from chalicelib.transmissions import scheduling
from tests.fake_cloud import aws_requests
from tests.unit.ab_tests.examples import by_size, stored
from tests.unit.calling import Client, Response
from tests.unit.key_pairs import PAIR
from tests.unit.people import make_account, make_domain, make_key, make_subaccount, transmission
from tests.unit.sending_domains.examples import domain
from tests.unit.tracking_domains.examples import store_tracking_domain

POOL = "/api/v1/ip-pools/fast"
DOMAIN = "/api/v1/sending-domains/bounces.test"
AB_TEST = "/api/v1/ab-test/ended"
TO_ONE = [{"address": "one@inbox.test"}]
KEYS = "/api/v1/sending-domains/example.test/dkim-keys"
TRACKING = "/api/v1/tracking-domains/t.test"


@pytest.fixture
def client(cloud: None) -> Client:
    make_account()
    make_domain("example.test")
    domains.create(domain("bounces.test"))
    store_tracking_domain("t.test")
    client = make_key()
    assert client.post("/api/v1/ip-pools", {"name": "fast"}).results == {"id": "fast"}
    return client


def schedule(client: Client, **fields: object) -> str:
    options = {"start_time": clock.iso_offset(clock.now() + 7200)}
    body = transmission() | fields
    body["options"] = options | body.get("options", {})
    return str(client.post("/api/v1/transmissions", body).results["id"])


def store_content(client: Client) -> None:
    """Store templates from both domains, a test that chooses between them, and one that ended."""
    content = transmission()["content"]
    from_bounces = content | {"from": "me@bounces.test"}
    for each, first, second in (
        ("plain", content, None),
        ("bounces", from_bounces, None),
        ("drafted", content, from_bounces),
    ):
        body = {"id": each, "content": first, "published": True}
        assert client.post("/api/v1/templates", body).status == 200
        if second:
            assert client.put(f"/api/v1/templates/{each}", {"content": second}).status == 200
    now = clock.now_ms()
    shares = {"default_template": Share("plain"), "variants": (Share("bounces"),)}
    stored(by_size(1, 1, start_ms=now, end_ms=now + HOUR_MS, **shares))
    stored(by_size(1, id="ended", state="completed", default_template=Share("plain")))


def refusal(client: Client, path: str) -> str:
    response = client.delete(path)
    assert response.status == 409, response
    return str(response.error.get("description") or response.error["message"])


@pytest.mark.spec("4.7-t5")
def test_a_pool_of_subaccounts_cannot_be_deleted_until_they_have_another(client: Client) -> None:
    number = make_subaccount(ip_pool="FAST").id
    assert (
        refusal(client, "/api/v1/ip-pools/Fast")
        == f"IP pool 'fast' is in use by subaccount {number}"
    )
    assert fleets.exists(1, "fast")
    assert client.put(f"/api/v1/subaccounts/{number}", {"ip_pool": ""}).status == 200
    assert client.delete(POOL).status == 204


def test_the_error_lists_the_first_five_and_says_that_there_are_others(client: Client) -> None:
    numbers = [make_subaccount(ip_pool="fast").id for _ in range(7)]
    text = ", ".join(f"subaccount {number}" for number in numbers[:5])
    assert refusal(client, POOL) == f"IP pool 'fast' is in use by {text}, others"


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (POOL, {"options": {"ip_pool": "fast"}}),
        (DOMAIN, {"return_path": "me@Bounces.test"}),
        (DOMAIN, {"content": {"from": "Me <me@Bounces.test>", "subject": "s", "text": "t"}}),
        (DOMAIN, {"override": {"from": {"email": "me@bounces.test"}}}),
        (DOMAIN, {"content": {"email_rfc822": "From: me@bounces.test\r\nSubject: s\r\n\r\nt"}}),
        (DOMAIN, {"content": {"template_id": "bounces"}}),
        (DOMAIN, {"content": {"template_id": "drafted", "use_draft_template": True}}),
        (DOMAIN, {"content": {"ab_test_id": "welcome"}, "recipients": TO_ONE}),
        (AB_TEST, {"content": {"ab_test_id": "ended"}, "recipients": TO_ONE}),
        (TRACKING, {"tracking_domain": "T.test"}),
    ],
)
def test_what_a_scheduled_transmission_names_is_not_deleted_before_it_is_cancelled(
    client: Client, path: str, fields: dict[str, object]
) -> None:
    store_content(client)
    schedule(client)
    schedule(client, content={"template_id": "plain"})
    number = schedule(client, **fields)
    assert refusal(client, path).endswith(f" is in use by scheduled transmission {number}")
    scheduling.cancel(Scope(1, None), number)
    assert client.delete(path).status in (200, 204)


@pytest.mark.cost
def test_a_stored_content_is_read_once_whatever_is_scheduled_with_it(client: Client) -> None:
    store_content(client)
    counts = []
    for _ in range(2):
        for _ in range(4):
            schedule(client, content={"template_id": "plain"})
            schedule(client, content={"ab_test_id": "ended"}, recipients=TO_ONE)
        clear_caches()
        with aws_requests() as requests:
            references.check_unused(references.SENDING_DOMAIN, 1, "bounces.test")
        counts.append(len(requests))
    assert counts[0] == counts[1]


@pytest.mark.spec("2.8-t3")
@pytest.mark.parametrize("field", ["signing_domain", "fbl_signing_domain"])
def test_a_domain_that_signs_for_a_pool_cannot_be_deleted(client: Client, field: str) -> None:
    assert client.put(POOL, {field: "bounces.test"}).status == 200
    assert refusal(client, DOMAIN) == "Sending domain 'bounces.test' is in use by IP pool fast"
    assert client.put(POOL, {field: ""}).status == 200
    assert client.delete(DOMAIN).status == 204


@pytest.mark.spec("2.5-t2")
def test_a_tracking_domain_that_a_sending_domain_names_cannot_be_deleted(client: Client) -> None:
    body = {"tracking_domain": "t.test"}
    assert client.put("/api/v1/sending-domains/example.test", body).status == 200
    text = "Tracking domain 't.test' is in use by sending domain example.test"
    assert refusal(client, TRACKING) == text
    body = {"tracking_domain": ""}
    assert client.put("/api/v1/sending-domains/example.test", body).status == 200
    assert client.delete(TRACKING).status == 204


def conflict(response: Response) -> str:
    assert response.status == 409, response
    assert response.error["code"] == "1602"
    return str(response.error["description"])


def add_key(key_id: str, selector: str) -> None:
    owner = domains.get("example.test")
    assert owner is not None
    key = sealed_key(PAIR, selector, "example.test")
    further_keys.add(owner, FurtherKey(key_id, key, clock.now(), VALID))


@pytest.mark.parametrize("name", ["k1", "Sel1"])
def test_a_key_that_signs_scheduled_mail_is_neither_deleted_nor_replaced(
    client: Client, name: str
) -> None:
    add_key("k1", "sel1")
    add_key("k2", "sel2")
    number = schedule(client, options={"dkim_key": name})
    text = f"DKIM key 'example.test/sel1' is in use by scheduled transmission {number}"
    key = f"{KEYS}/k1"
    assert conflict(client.delete(key)) == text
    assert conflict(client.put(key, {"selector": "other"})) == text
    assert client.put(key, {"headers": "from:to"}).status == 200
    assert client.delete(f"{KEYS}/k2").status == 204
    scheduling.cancel(Scope(1, None), number)
    assert client.delete(key).status == 204


def test_a_domain_stays_shared_while_scheduled_mail_of_a_subaccount_needs_it(
    client: Client,
) -> None:
    path = "/api/v1/sending-domains/example.test"
    assert client.put(path, {"shared_with_subaccounts": True}).status == 200
    schedule(client)
    number = schedule(client.on_behalf_of(make_subaccount().id))
    text = conflict(client.put(path, {"shared_with_subaccounts": False}))
    assert text.endswith(f"'example.test' is in use by scheduled transmission {number}")
    assert client.put(path, {"shared_with_subaccounts": True}).status == 200
    scheduling.cancel(Scope(1, None), number)
    assert client.put(path, {"shared_with_subaccounts": False}).status == 200


def test_a_template_stays_shared_while_scheduled_mail_of_a_subaccount_needs_it(
    client: Client,
) -> None:
    path = "/api/v1/templates/welcome"
    content = transmission()["content"]
    body = {"content": content, "published": True, "shared_with_subaccounts": True}
    assert client.post("/api/v1/templates", {"id": "welcome"} | body).status == 200
    client.put("/api/v1/sending-domains/example.test", {"shared_with_subaccounts": True})
    schedule(client, content={"template_id": "welcome"})
    subaccount = client.on_behalf_of(make_subaccount().id)
    number = schedule(subaccount, content={"template_id": "welcome"})
    text = conflict(client.put(path, {"shared_with_subaccounts": False}))
    assert text == f"Shared template 'welcome' is in use by scheduled transmission {number}"
    assert client.put(path, {"name": "New", "shared_with_subaccounts": True}).status == 200
    scheduling.cancel(Scope(1, None), number)
    assert client.put(path, {"shared_with_subaccounts": False}).status == 200


def restrict(client: Client) -> Response:
    return client.post(
        "/api/v1/subaccounts", {"name": "A sender", "ip_pool": "fast", "setup_api_key": False}
    )


def restrict_later(client: Client) -> Response:
    return client.put(f"/api/v1/subaccounts/{make_subaccount().id}", {"ip_pool": "fast"})


def sign(client: Client) -> Response:
    return client.put(f"{POOL}", {"signing_domain": "bounces.test"})


def sign_for_new_pool(client: Client) -> Response:
    return client.post("/api/v1/ip-pools", {"name": "new", "fbl_signing_domain": "bounces.test"})


def link(client: Client) -> Response:
    return client.put("/api/v1/sending-domains/example.test", {"tracking_domain": "t.test"})


def link_new_domain(client: Client) -> Response:
    return client.post(
        "/api/v1/sending-domains", {"domain": "new.test", "tracking_domain": "t.test"}
    )


NAMINGS = [
    (POOL, restrict),
    (POOL, restrict_later),
    (DOMAIN, sign),
    (DOMAIN, sign_for_new_pool),
    (TRACKING, link),
    (TRACKING, link_new_domain),
]


@pytest.mark.parametrize(("path", "name"), NAMINGS)
def test_what_is_named_during_its_deletion_is_not_deleted(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    name: Callable[[Client], Response],
) -> None:
    check, calls = references.check_unused, iter([name])

    def check_and_name(*arguments: Any) -> None:
        check(*arguments)
        for call in calls:
            assert call(client).status == 200

    monkeypatch.setattr(references, "check_unused", check_and_name)
    assert "is in use by" in refusal(client, path)
    assert list(calls) == []


@pytest.mark.parametrize(("path", "name"), NAMINGS)
def test_what_is_deleted_before_its_name_is_written_is_not_named(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    name: Callable[[Client], Response],
) -> None:
    transact, calls = dynamo.transact, iter([client.delete])

    def delete_and_transact(*arguments: Any, **options: Any) -> None:
        for call in calls:
            assert call(path).status == 204
        transact(*arguments, **options)

    monkeypatch.setattr(dynamo, "transact", delete_and_transact)
    assert name(client).status == 400
    assert list(calls) == []


def test_records_of_other_accounts_do_not_count(client: Client) -> None:
    make_account(2)
    make_subaccount(account=2, ip_pool="fast")
    assert client.delete(POOL).status == 204


def test_only_the_owner_learns_what_names_a_domain(client: Client) -> None:
    make_account(2)
    client.put(POOL, {"signing_domain": "bounces.test"})
    assert make_key(2).delete(DOMAIN).status == 404


def test_every_kind_of_record_has_its_finders() -> None:
    kinds: Iterable[str] = (
        references.IP_POOL,
        references.SENDING_DOMAIN,
        references.BOUNCE_DOMAIN,
        references.TRACKING_DOMAIN,
        references.DKIM_KEY,
        references.SHARED_DOMAIN,
        references.SHARED_TEMPLATE,
        references.AB_TEST,
    )
    assert set(references._finders) == set(kinds)
