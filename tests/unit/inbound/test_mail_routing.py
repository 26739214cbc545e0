"""The routes of a domain decide what becomes of a message."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.caches import clear_caches
from chalicelib.core.scope import Scope
from chalicelib.inbound.mail_routing import Reading, received_message
from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.inbound_domains.model import Action
from chalicelib.received_mail import parsing
from chalicelib.received_mail.model import ReceivedMessage
from tests.unit.inbound.received import head, raw, recipient, route
from tests.unit.inbound_domains.examples import store_inbound_domain

pytestmark = pytest.mark.usefixtures("cloud")

ROUTES = (
    route("billing", Action.FORWARD, "money@inbox.test"),
    route("support+vip", Action.DROP),
    route("support", Action.STORE),
    route("no-*", Action.DROP),
)


def routed(address: str, **fields: Any) -> ReceivedMessage:
    clear_caches()
    to = recipient(address, 1, **fields)
    return received_message(head([to]), to, Reading(parsing.read(raw()), {}, b"x"), None)


def outcome(address: str) -> tuple[str, str, str]:
    message = routed(address)
    return message.action, message.webhook_id, message.forward_to


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("billing@in.test", ("forward", "", "money@inbox.test")),
        ("Billing@In.test", ("forward", "", "money@inbox.test")),
        ('"billing"@in.test', ("forward", "", "money@inbox.test")),
        ("billing+2026@in.test", ("forward", "", "money@inbox.test")),
        ("support@in.test", ("store", "", "")),
        ("support+vip@in.test", ("drop", "", "")),
        ("support+other@in.test", ("store", "", "")),
        ("no-reply@in.test", ("drop", "", "")),
        ("anybody@in.test", ("webhook", "17", "")),
    ],
)
def test_the_first_route_of_a_local_part_counts(
    address: str, expected: tuple[str, str, str]
) -> None:
    store_inbound_domain(routes=ROUTES, relay_webhook_id="17")
    assert outcome(address) == expected


def test_without_a_relay_webhook_mail_is_stored() -> None:
    store_inbound_domain(routes=(route("a", Action.WEBHOOK),))
    assert outcome("a@in.test") == outcome("b@in.test") == ("store", "", "")


def test_mail_to_a_domain_that_was_deleted_meanwhile_is_stored_for_its_owner() -> None:
    store_inbound_domain(relay_webhook_id="17", routes=ROUTES)
    inbound_domains.delete(Scope(1, None), "in.test")
    message = routed("billing@in.test")
    assert (message.action, message.account_id) == ("store", 1)
    store_inbound_domain(account=2, relay_webhook_id="18")
    assert outcome("billing@in.test") == ("store", "", "")


@pytest.mark.parametrize(
    ("address", "tag"),
    [
        ("help@in.test", ""),
        ("help+9@in.test", "9"),
        ("help+A+b@in.test", "A+b"),
        ("help+@in.test", ""),
        ('"help+a"@in.test', "a"),
    ],
)
def test_the_tag_is_what_follows_the_plus_sign(address: str, tag: str) -> None:
    assert routed(address).tag == tag


def test_the_record_has_the_envelope_and_what_was_read() -> None:
    store_inbound_domain()
    message = routed("help@in.test", subaccount_id=None)
    assert message.id == head([])["id"] + "01"
    assert (message.rcpt_to, message.mail_from) == ("help@in.test", "ann@inbox.test")
    assert (message.subject, message.friendly_from) == ("Re: Order", "ann@inbox.test")
    assert message.content == b"x"
