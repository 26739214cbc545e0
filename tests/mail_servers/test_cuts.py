"""A cut connection loses no message, and doubles none outside the commit window.

A cut after the final dot, before the whole reply, is inside that window: the server has the
message, and this side cannot know it. Then the message is tried again and arrives twice
(`chalicelib/delivery/transports/__init__.py`). `_DOUBLED` lists these cuts; there is no other.
"""

from __future__ import annotations

import pytest

from chalicelib.delivery.outcome import Delivered, Retry
from chalicelib.delivery.transports import commit_at_once
from chalicelib.delivery.transports.smtp_opening import SessionOptions, TlsMode
from tests.mail_servers.delivery import TIMEOUTS, CommitCount, Delivery, mx, smarthost
from tests.mail_servers.mailbox import message
from tests.mail_servers.postfix import Postfix
from tests.mail_servers.proxy import Cut, Proxy
from tests.mail_servers.test_contents import assert_stored, place_of

_DOUBLED = [Cut(".", "unanswered"), Cut(".", "half answered")]
_CUTS = [
    Cut("CONNECT", "unanswered"),
    Cut("CONNECT", "half answered"),
    *(
        Cut(step, moment)
        for step in ("EHLO", "MAIL", "RCPT", "DATA")
        for moment in ("before", "unanswered", "half answered")
    ),
    Cut("content"),
    Cut("."),
    *_DOUBLED,
]
_PLACES = ["postfix bare", "exim plain", "opensmtpd plain"]
_CASES = [("postfix all extensions", cut) for cut in _CUTS]
_CASES += [(place, cut) for place in _PLACES for cut in _CUTS[-5:]]
_BODY = b"A line of a message of some length\r\n" * 1_500


def _name(value: Cut | str | int) -> str:
    if not isinstance(value, Cut):
        return str(value)
    return f"{value.step} {value.count or value.moment}"


@pytest.mark.parametrize(("place", "cut"), _CASES, ids=_name)
def test_a_message_whose_connection_is_cut_arrives_at_the_second_attempt(
    request: pytest.FixtureRequest, place: str, cut: Cut
) -> None:
    original, commit = message(_BODY), CommitCount()
    with (
        place_of(request, place) as (port, mailbox),
        Proxy(port, cut) as proxy,
        mx(proxy.port) as transport,
    ):
        outcome = transport.deliver(original, commit)
        assert isinstance(outcome, Retry)
        assert (outcome.code, outcome.bounce_class) == (421, 20)
        if cut.step not in ("content", "."):
            assert commit.count == 0
        assert isinstance(transport.deliver(original, commit_at_once), Delivered)
        assert_stored(mailbox, original, 2 if cut in _DOUBLED else 1)


def test_a_cut_after_the_reply_to_the_dot_changes_nothing(postfix: Postfix) -> None:
    original = message()
    cut = Cut("QUIT", "before")
    with Proxy(postfix.ports["all extensions"], cut) as proxy, mx(proxy.port) as transport:
        assert isinstance(transport.deliver(original, commit_at_once), Delivered)
    assert_stored(postfix.mailbox, original)


def test_an_idle_connection_that_was_cut_is_replaced(postfix: Postfix) -> None:
    messages = [message(), message()]
    with Proxy(postfix.ports["all extensions"]) as proxy, mx(proxy.port) as transport:
        for each in messages:
            assert isinstance(transport.deliver(each, commit_at_once), Delivered)
            proxy.hang_up()
        assert proxy.connections == 2
    for each in messages:
        assert_stored(postfix.mailbox, each)


# A handshake takes about 600 bytes of the client and 1,200 of the server
_ENCRYPTED = [Cut("client bytes", count=count) for count in (1, 300, 700)]
_ENCRYPTED += [Cut("server bytes", count=count) for count in (1, 300)]


@pytest.mark.parametrize(
    "cut", [Cut("STARTTLS"), Cut("STARTTLS", "unanswered"), *_ENCRYPTED[:2]], ids=_name
)
def test_a_message_goes_in_the_clear_where_encryption_is_cut(postfix: Postfix, cut: Cut) -> None:
    original = message()
    with Proxy(postfix.ports["TLS"], cut) as proxy, mx(proxy.port) as transport:
        outcome = transport.deliver(original, commit_at_once)
    assert isinstance(outcome, Delivered)
    assert outcome.tls is None
    assert_stored(postfix.mailbox, original)


@pytest.mark.parametrize("cut", _ENCRYPTED, ids=_name)
def test_a_message_under_required_tls_arrives_at_the_second_attempt(
    postfix: Postfix, cut: Cut
) -> None:
    original, commit = message(), CommitCount()
    options = SessionOptions(tls=TlsMode.REQUIRED, timeouts=TIMEOUTS)
    with Proxy(postfix.ports["TLS"], cut) as proxy, smarthost(proxy.port, options) as transport:
        outcome = transport.deliver(original, commit)
        assert isinstance(outcome, Retry)
        assert commit.count == 0
        again = transport.deliver(original, commit_at_once)
        assert isinstance(again, Delivered)
        assert again.tls
    assert_stored(postfix.mailbox, original)


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize(
    ("cut", "copies"), [(Cut("DATA"), 1), (Cut("."), 1), (Cut(".", "unanswered"), 2)], ids=_name
)
def test_the_worker_reports_a_delay_and_then_the_delivery(
    postfix: Postfix, monkeypatch: pytest.MonkeyPatch, cut: Cut, copies: int
) -> None:
    original = message()
    monkeypatch.setattr("chalicelib.core.queues._whole_seconds", lambda _: 0)
    with Proxy(postfix.ports["all extensions"], cut) as proxy, mx(proxy.port) as transport:
        delivery = Delivery(monkeypatch, transport)
        event = delivery.first_attempt(original)
        assert (event["type"], event["error_code"], event["bounce_class"]) == ("delay", "421", "20")
        assert delivery.next_attempt()["type"] == "delivery"
    assert_stored(postfix.mailbox, original, copies)
