from __future__ import annotations

import pytest

from chalicelib.core.message_event import Event
from chalicelib.core.request import Request
from chalicelib.events.documentation import TYPES
from chalicelib.tracking.engagement import (
    CLICKS,
    OBSERVED,
    OPENS,
    UNSUBSCRIPTIONS,
    complete,
    observe,
)
from chalicelib.tracking.model import Link
from tests.unit.tracking.examples import NINE, TRANSMISSION, message
from tests.unit.tracking.store.test_message_context import SHARED, own

pytestmark = pytest.mark.usefixtures("cloud")

THUNDERBIRD = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.0"
LINK = Link("https://a.example/?b", "Name")


def request(**headers: str) -> Request:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(headers={"user-agent": THUNDERBIRD} | names, source_ip="192.0.2.7")


CONTEXT = {**SHARED, **own(3)}


def completed(kind: str, link: Link | None = None, context: Event = CONTEXT) -> Event:
    return complete(observe(kind, request(), message(3), link), context, {"ip_pool": "news"})


def test_an_event_has_the_fields_of_its_token_at_once() -> None:
    event = observe("open", request(), message(3))
    assert event["type"] == "open"
    assert event["timestamp"] == NINE
    assert event["customer_id"] == "1"
    assert event["transmission_id"] == TRANSMISSION
    assert event["message_id"] == message(3).message_id
    assert (event["rcpt_to"], event["raw_rcpt_to"]) == ("ann@example.test", "Ann@example.test")
    assert event["recipient_domain"] == "example.test"
    assert "subaccount_id" not in event


def test_two_opens_are_two_events() -> None:
    opens = [observe("open", request(), message()) for _ in range(3)]
    assert len({event["event_id"] for event in opens}) == 3


@pytest.mark.parametrize("kind", UNSUBSCRIPTIONS)
def test_a_message_has_one_unsubscription_of_each_type(kind: str) -> None:
    links = (LINK, Link("https://b.example/", "Other"))
    by_link = {observe(kind, request(), message(), link)["event_id"] for link in links}
    assert len(by_link) == 1
    assert observe(kind, request(), message(1))["event_id"] not in by_link


def test_a_completed_event_has_the_message_context() -> None:
    event = completed("open")
    own_fields = ("rcpt_to", "raw_rcpt_to", "rcpt_hash")
    expected = CONTEXT | {name: event[name] for name in own_fields} | {"ip_pool": "news"}
    assert {name: event[name] for name in CONTEXT if name in event} == expected
    assert OBSERVED not in event
    assert event["rcpt_meta"] == {"n": 3}
    assert event["campaign_id"] == "spring"


def test_an_open_has_user_agent_and_address() -> None:
    event = completed("open")
    assert event["ip_address"] == "192.0.2.7"
    assert event["user_agent"] == THUNDERBIRD
    assert event["user_agent_parsed"]["agent_family"] == "Thunderbird"
    assert event["user_agent_parsed"]["is_prefetched"] is False
    assert event["delv_method"] == "esmtp"
    assert "mailfrom" not in event
    assert "geo_ip" not in event
    assert "target_link_url" not in event


@pytest.mark.parametrize("kind", CLICKS)
def test_a_click_has_its_link(kind: str) -> None:
    event = completed(kind, LINK)
    assert event["target_link_url"] == "https://a.example/?b"
    assert event["target_link_name"] == "Name"
    assert event["user_agent_parsed"]["os_family"] == "Linux"


def test_a_link_without_a_name_is_a_raw_url() -> None:
    assert completed("click", Link("https://a.example/"))["target_link_name"] == "Raw URL"


def test_an_unsubscription_has_its_sender() -> None:
    by_list, by_link = completed("list_unsubscribe"), completed("link_unsubscribe", LINK)
    assert by_list["mailfrom"] == by_link["mailfrom"] == "Ann@example.test"
    assert "user_agent" not in by_list
    assert by_link["user_agent"] == THUNDERBIRD
    assert by_link["target_link_name"] == "Name"
    assert "user_agent_parsed" not in by_link


def test_an_event_without_a_message_context_is_unchanged() -> None:
    event = completed("click", LINK, {})
    assert OBSERVED not in event
    assert event["rcpt_to"] == "ann@example.test"
    assert (event["rcpt_meta"], event["rcpt_tags"]) == ({}, [])
    assert "campaign_id" not in event


def test_a_subaccount_is_named() -> None:
    about = message()
    owned = type(about)(1, 7, about.message_id, 0, "a@b.example", about.expires)
    assert observe("open", request(), owned)["subaccount_id"] == "7"


@pytest.mark.parametrize("name", ["sec_purpose", "purpose", "x_purpose", "x_moz"])
def test_a_request_that_declares_itself_a_prefetch_is_one(name: str) -> None:
    event = complete(
        observe("click", request(**{name: "Prefetch;anonymous"}), message(), LINK), {}, {}
    )
    assert event["user_agent_parsed"]["is_prefetched"] is True


def test_a_long_user_agent_is_cut() -> None:
    assert len(observe("open", request(user_agent="x" * 5000), message())["user_agent"]) == 1000


def test_every_type_of_engagement_is_described() -> None:
    for kind in (*OPENS, *CLICKS, "list_unsubscribe", "link_unsubscribe"):
        assert TYPES[kind].label
        assert TYPES[kind].description.endswith(".")
