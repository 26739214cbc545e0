"""Refusals of real servers become the right events of the worker."""

from __future__ import annotations

from time import monotonic

import pytest

from chalicelib.delivery.outcome import Delivered, Failed, Retry
from chalicelib.delivery.transports import OutboundMessage, commit_at_once
from tests.mail_servers.delivery import Delivery, mx
from tests.mail_servers.mailbox import message
from tests.mail_servers.policy import DELAY, Greylist
from tests.mail_servers.postfix import Postfix
from tests.mail_servers.postgrey import run_postgrey
from tests.mail_servers.test_contents import assert_stored, place_of

_LARGE = message(b"A line of a large message\r\n" * 1_000)
_LARGEST = message(b"A line of a very large message\r\n" * 8_000)
_REFUSALS: list[tuple[str, OutboundMessage, tuple[str, str, str]]] = [
    ("postfix all extensions", message(recipient="missing@inbox.test"), ("bounce", "550", "10")),
    ("postfix bare", message(recipient="missing@inbox.test"), ("bounce", "550", "10")),
    ("exim plain", message(recipient="missing@inbox.test"), ("bounce", "550", "10")),
    ("opensmtpd plain", message(recipient="missing@inbox.test"), ("bounce", "550", "10")),
    ("dovecot lmtp", message(recipient="missing@inbox.test"), ("bounce", "550", "10")),
    ("dovecot lmtp", message(b"x\r\n" * 999, "full@inbox.test"), ("bounce", "552", "22")),
    ("exim plain", message(recipient="later@inbox.test"), ("delay", "451", "70")),
    ("haraka plain", message(recipient="missing@inbox.test"), ("bounce", "550", "10")),
    ("haraka plain", message(recipient="later@inbox.test"), ("delay", "450", "70")),
    ("haraka plain", _LARGEST, ("bounce", "552", "23")),
    ("postfix busy", message(), ("delay", "421", "70")),
    ("postfix small", _LARGE, ("bounce", "552", "23")),
    ("postfix small, no size", _LARGE, ("bounce", "552", "23")),
    ("postfix no smtputf8", message(recipient="jörg@inbox.test"), ("bounce", "553", "40")),
]


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize(("place", "original", "expected"), _REFUSALS)
def test_a_refusal_is_an_event_with_its_code_and_class(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    original: OutboundMessage,
    expected: tuple[str, str, str],
) -> None:
    with place_of(request, place) as (port, mailbox), mx(port) as transport:
        event = Delivery(monkeypatch, transport).first_attempt(original)
        assert (event["type"], event["error_code"], event["bounce_class"]) == expected
        assert mailbox.copies(original) == []


@pytest.mark.usefixtures("cloud")
def test_a_greylisted_message_arrives_at_its_second_attempt(
    postfix: Postfix, greylisting: Greylist, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = message()
    with mx(postfix.ports["greylist"]) as transport:
        delivery = Delivery(monkeypatch, transport)
        monkeypatch.setattr("chalicelib.core.queues._whole_seconds", lambda _: 0)
        first = delivery.first_attempt(original)
        assert (first["type"], first["error_code"], first["bounce_class"]) == ("delay", "450", "70")
        greylisting.now += DELAY
        assert delivery.next_attempt()["type"] == "delivery"
    assert_stored(postfix.mailbox, original)


@pytest.mark.usefixtures("cloud")
def test_postgrey_lets_a_message_in_when_it_is_tried_again(
    postfix: Postfix, postgrey_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = message()
    with run_postgrey(postgrey_port), mx(postfix.ports["postgrey"]) as transport:
        delivery = Delivery(monkeypatch, transport)
        monkeypatch.setattr("chalicelib.core.queues._whole_seconds", lambda _: 0)
        event = delivery.first_attempt(original)
        assert (event["type"], event["error_code"], event["bounce_class"]) == ("delay", "450", "70")
        assert "Greylisted" in event["reason"]
        deadline = monotonic() + 20
        while event["type"] == "delay" and monotonic() < deadline:
            event = delivery.next_attempt()
        assert event["type"] == "delivery"
    assert_stored(postfix.mailbox, original)


def test_a_rate_of_messages_that_is_too_high_delays_the_rest(postfix: Postfix) -> None:
    messages = [message() for _ in range(3)]
    with mx(postfix.ports["message rate"]) as transport:
        outcomes = [transport.deliver(each, commit_at_once) for each in messages]
    assert [(type(each), each.code) for each in outcomes] == [
        (Delivered, 250),
        (Delivered, 250),
        (Retry, 450),
    ]
    assert isinstance(outcomes[2], Retry)
    assert outcomes[2].reply.startswith("4.7.1 Error: too much mail")
    for each, count in zip(messages, (1, 1, 0), strict=True):
        assert_stored(postfix.mailbox, each, count)


def test_a_rate_of_connections_that_is_too_high_delays_the_message(postfix: Postfix) -> None:
    messages = [message(), message()]
    outcomes = []
    for each in messages:
        with mx(postfix.ports["connection rate"]) as transport:
            outcomes.append(transport.deliver(each, commit_at_once))
    assert isinstance(outcomes[0], Delivered)
    assert isinstance(outcomes[1], Retry)
    assert outcomes[1].code == 421
    assert_stored(postfix.mailbox, messages[0])
    assert_stored(postfix.mailbox, messages[1], 0)


def test_a_server_that_slows_down_and_hangs_up_after_errors_gets_the_next_message(
    postfix: Postfix,
) -> None:
    last = message()
    with mx(postfix.ports["tarpit"]) as transport:
        for _ in range(2):
            outcome = transport.deliver(message(recipient="missing@inbox.test"), commit_at_once)
            assert isinstance(outcome, Failed)
            assert (outcome.code, outcome.bounce_class) == (550, 10)
        assert isinstance(transport.deliver(last, commit_at_once), Delivered)
    assert_stored(postfix.mailbox, last)
