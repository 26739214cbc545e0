"""Each recipient who was accepted gets an event, whatever goes before the mail starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.ab_tests.model import Share
from chalicelib.ab_tests.store import versions as ab_tests
from chalicelib.accounts.store import accounts
from chalicelib.core import clock
from chalicelib.core.dynamo import Table
from chalicelib.data_privacy import service as data_privacy
from chalicelib.dkim.sealed_key import sealed_key
from chalicelib.events import service as events
from chalicelib.events.positions import EventWindow
from chalicelib.fleet import store as fleets
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.further_keys.model import FurtherKey
from chalicelib.sending_domains.model import VALID, DomainStatus
from chalicelib.subaccounts import store as subaccounts
from chalicelib.templates.store import records as templates
from tests.unit.ab_tests.examples import by_size, stored
from tests.unit.calling import Client
from tests.unit.delivery.mail_host import MailHost
from tests.unit.key_pairs import PAIR
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account, make_domain, make_key, make_subaccount
from tests.unit.queue_workers import work_off
from tests.unit.sending_domains.examples import domain
from tests.unit.tracking_domains.examples import store_tracking_domain

NOW = 1_767_225_600.0
HOUR = 3600.0
TO = [{"address": f"r{number}@inbox.test"} for number in range(2)]
CONTENT = {"from": "me@example.test", "subject": "Hello", "text": "Hello"}
API = "/api/v1"
FINAL = {"delivery", "bounce", "generation_failure", "generation_rejection", "policy_rejection"}


@pytest.fixture(autouse=True)
def time(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    MailHost().install(monkeypatch)
    with moving_clock(NOW) as moving:
        yield moving


@pytest.fixture
def client() -> Client:
    make_account()
    make_domain("example.test", shared_with_subaccounts=True)
    domains.create(domain("bounces.test"))
    store_tracking_domain("t.test")
    owner = domains.get("example.test")
    assert owner is not None
    key = sealed_key(PAIR, "sel1", "example.test")
    further_keys.add(owner, FurtherKey("k1", key, clock.now(), VALID))
    client = make_key()
    client.post(f"{API}/ip-pools", {"name": "fast"})
    client.post(f"{API}/recipient-lists", {"id": "friends", "recipients": TO})
    client.post("/api/labs/snippets", {"id": "foot", "content": {"text": "Bye"}})
    text = "Hello {{render_snippet('foot')}}"
    for each, version in (("welcome", CONTENT), ("footed", CONTENT | {"text": text})):
        template = {"id": each, "content": version, "published": True}
        assert client.post(f"{API}/templates", template).status == 200
    return client


def schedule(client: Client, **fields: Any) -> None:
    body: dict[str, Any] = {"recipients": TO, "content": CONTENT} | fields
    options = {"start_time": clock.iso_offset(NOW + HOUR)} | body.get("options", {})
    response = client.post(f"{API}/transmissions", body | {"options": options})
    assert response.results["total_rejected_recipients"] == 0


def outcomes() -> dict[str, list[str]]:
    """Return the final events of each recipient."""
    by_recipient: dict[str, list[str]] = {}
    window = EventWindow(int(NOW * 1000), int((NOW + 86_400) * 1000))
    for _, event in events.newest_first(1, window):
        if event["type"] in FINAL:
            by_recipient.setdefault(event["rcpt_to"], []).append(event["type"])
    return by_recipient


def drop(key: tuple[str, str]) -> None:
    Table("config").delete(*key)


def drop_template(_: Client) -> None:
    template = templates.get(1, None, "welcome")
    assert template is not None
    drop(templates.head(template))


def unpublish(_: Client) -> None:
    template = templates.get(1, None, "welcome")
    assert template is not None
    Table("config").update(
        *templates.head(template), "SET #published = :none", values={"none": None}
    )


def drop_key(_: Client) -> None:
    owner, key = domains.get("example.test"), further_keys.get("example.test", "k1")
    assert owner is not None
    assert key is not None
    further_keys.remove(owner, key)


def change_domain(**fields: Any) -> Callable[[Client], object]:
    return lambda _: domains.change("example.test", lambda old: replace(old, **fields))


def drop_domain(name: str) -> Callable[[Client], object]:
    return lambda _: drop(domains.key_of(name))


def erase(client: Client) -> None:
    emails = [each["address"] for each in TO]
    body = {"recipients": emails, "include_subaccounts": True}
    assert client.post(f"{API}/data-privacy/rtbf-request", body).status == 200
    data_privacy.carry_out_due()


def delete(path: str) -> Callable[[Client], object]:
    def act(client: Client) -> None:
        assert client.delete(path).status in (200, 204)

    return act


WELCOME = {"content": {"template_id": "welcome"}}
LOSSES: dict[str, tuple[dict[str, Any], Callable[[Client], object]]] = {
    "nothing": ({}, lambda _: None),
    "list": ({"recipients": {"list_id": "friends"}}, delete(f"{API}/recipient-lists/friends")),
    "template": (WELCOME, drop_template),
    "snippet": ({"content": {"template_id": "footed"}}, delete("/api/labs/snippets/foot")),
    "sending domain of a template": (WELCOME, drop_domain("example.test")),
    "sending domain": ({}, drop_domain("example.test")),
    "verification": ({}, change_domain(status=DomainStatus())),
    "key": ({"options": {"dkim_key": "k1"}}, drop_key),
    "bounce domain": ({"return_path": "me@bounces.test"}, drop_domain("bounces.test")),
    "tracking domain": (
        {"tracking_domain": "t.test"},
        lambda _: drop(("tracking-domain#t.test", "domain")),
    ),
    # An account without sending IPs may use its pools as labels
    "pool": ({"options": {"ip_pool": "fast"}}, lambda _: drop(fleets.key_of(1))),
    "account": (
        {},
        lambda _: accounts.change(1, lambda old: replace(old, status="suspended")),
    ),
    "recipients": ({}, erase),
    "published version": (WELCOME, unpublish),
}


EVENTS = {
    "nothing": "delivery",
    "list": "generation_failure",
    "template": "generation_failure",
    "snippet": "generation_failure",
    "sending domain of a template": "generation_rejection",
    "sending domain": "generation_rejection",
    "verification": "generation_rejection",
    "key": "generation_rejection",
    "bounce domain": "generation_rejection",
    "tracking domain": "generation_rejection",
    "pool": "delivery",
    "account": "generation_rejection",
    "recipients": "delivery",
    "published version": "generation_failure",
}


@pytest.mark.parametrize("loss", LOSSES)
def test_each_recipient_gets_one_final_event(client: Client, time: Clock, loss: str) -> None:
    fields, lose = LOSSES[loss]
    schedule(client, **fields)
    lose(client)
    time.now += HOUR
    work_off()
    assert outcomes() == {each["address"]: [EVENTS[loss]] for each in TO}


@pytest.mark.parametrize("fields", [{"status": "suspended"}, {"status": "terminated"}])
def test_each_recipient_of_a_subaccount_gets_one_final_event(
    client: Client, time: Clock, fields: dict[str, str]
) -> None:
    number = make_subaccount().id
    schedule(client.on_behalf_of(number))
    assert subaccounts.change(1, number, lambda old: replace(old, **fields))  # type: ignore[arg-type]
    time.now += HOUR
    work_off()
    assert sorted(outcomes().values()) == [["generation_rejection"]] * len(TO)


def test_a_list_is_sent_to_as_it_is_at_the_start(client: Client, time: Clock) -> None:
    schedule(client, recipients={"list_id": "friends"})
    body = {"recipients": [{"address": "new@inbox.test"}]}
    assert client.put(f"{API}/recipient-lists/friends", body).status == 200
    time.now += HOUR
    work_off()
    assert outcomes() == {"new@inbox.test": ["delivery"]}


def test_the_recipient_of_an_ab_test_that_is_gone_gets_one_final_event(
    client: Client, time: Clock
) -> None:
    test = stored(by_size(1, state="completed", default_template=Share("welcome")))
    schedule(client, recipients=TO[:1], content={"ab_test_id": test.id})
    ab_tests.delete(test)
    time.now += HOUR
    work_off()
    assert outcomes() == {TO[0]["address"]: ["generation_failure"]}
