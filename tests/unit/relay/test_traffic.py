"""Limits on the messages of a network and the recipients of a domain in a minute."""

from __future__ import annotations

import os
from collections.abc import Callable

from relay import replies
from relay.config import RelayConfig
from relay.services import Inbound
from relay.traffic import Traffic
from tests.unit.moving_clock import moving_clock
from tests.unit.relay.conftest import RunningRelay
from tests.unit.relay.fakes import FakeInboundStore, Wire

START = 1_700_000_040.0  # the beginning of a minute
CONFIG = RelayConfig(max_network_messages=10, max_network_recipients=4, max_domain_recipients=3)
RCPT = b"RCPT TO:<%b@inbound.test>\r\n"


def messages(traffic: Traffic, peer_ip: str = "192.0.2.1", attempts: int = 100) -> int:
    """Return how many messages of these attempts are allowed."""
    return sum(traffic.allows_message(peer_ip, CONFIG) for _ in range(attempts))


def test_a_network_has_a_limit_of_its_own() -> None:
    traffic = Traffic()
    with moving_clock(START):
        assert messages(traffic) == 10
        assert messages(traffic, "192.0.2.2") == 10
        assert messages(traffic, "2001:db8::1", 6) + messages(traffic, "2001:db8::2:3") == 10
        assert messages(traffic, "2001:db8:0:1::1") == 10


def test_messages_recipients_and_domains_are_counted_apart() -> None:
    traffic = Traffic()
    with moving_clock(START):
        assert messages(traffic) == 10
        assert sum(traffic.allows_recipient("192.0.2.1", CONFIG) for _ in range(9)) == 4
        assert sum(traffic.allows_domain("192.0.2.1", CONFIG) for _ in range(9)) == 3


def test_the_window_slides() -> None:
    traffic = Traffic()
    with moving_clock(START) as clock:
        clock.passes(30)
        assert messages(traffic) == 10
        clock.passes(60)  # half of that minute is within the last sixty seconds
        assert messages(traffic) == 5
        clock.passes(120)
        assert messages(traffic) == 10


def test_attempts_beyond_the_limit_do_not_count() -> None:
    traffic = Traffic()
    with moving_clock(START) as clock:
        messages(traffic, attempts=10_000)
        clock.passes(120)
        assert messages(traffic) == 10


def test_no_limit_counts_nothing() -> None:
    traffic = Traffic()
    assert all(traffic.allows_message("192.0.2.1", RelayConfig()) for _ in range(100))
    assert all(traffic.allows_domain("in.test", RelayConfig()) for _ in range(100))


def test_processes_forked_later_share_the_counts() -> None:
    traffic = Traffic()
    with moving_clock(START):
        assert messages(traffic, attempts=4) == 4
        child = os.fork()
        if not child:
            os._exit(messages(traffic, attempts=3))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        assert messages(traffic) == 3


def begin(client: Wire) -> str:
    return client.ask(b"MAIL FROM:<a@x.test>\r\n")


def test_a_network_with_too_many_messages_is_sent_away(
    start: Callable[..., RunningRelay], inbound_store: FakeInboundStore
) -> None:
    relay = start(Inbound(inbound_store), max_network_messages=2)
    client = relay.client()
    client.ask(b"EHLO x\r\n")
    for _ in range(2):
        assert begin(client).startswith("250 ")
        assert client.ask(b"RSET\r\n").startswith("250 ")
    assert begin(client) == replies.TOO_MANY_FROM_NETWORK.encode().decode().strip()
    assert client.reply() == ""


def test_recipients_beyond_a_limit_are_to_come_later(
    start: Callable[..., RunningRelay], inbound_store: FakeInboundStore
) -> None:
    relay = start(Inbound(inbound_store), max_network_recipients=3, max_domain_recipients=2)
    client = relay.client()
    client.ask(b"EHLO x\r\n")
    begin(client)
    replies_ = [client.ask(RCPT % name) for name in (b"a", b"b", b"c", b"d")]
    assert [each[:9] for each in replies_] == ["250 2.1.5", "250 2.1.5", "451 4.7.1", "451 4.7.1"]
    assert "domain" in replies_[2]
    assert "network" in replies_[3]
    client.ask(b"DATA\r\n")
    assert client.ask(b"Subject: x\r\n\r\n.\r\n").startswith("250 ")
    assert inbound_store.envelopes[0].recipients == ("a@inbound.test", "b@inbound.test")
