"""Messages that arrive at once have a limit of room, and leave it when they end."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from chalicelib.core.settings import settings
from relay.__main__ import listeners
from relay.arriving import ArrivingOctets
from relay.services import Inbound
from tests.unit.relay.conftest import RunningRelay
from tests.unit.relay.fakes import FakeInboundStore, Wire

BEGIN = b"HELO x.test\r\nMAIL FROM:<a@x.test>\r\nRCPT TO:<b@inbound.test>\r\n"
LINES = b"x" * 98 + b"\r\n"


@pytest.fixture
def small_relay(
    start: Callable[..., RunningRelay], inbound_store: FakeInboundStore
) -> RunningRelay:
    """Start an inbound port with room for 5,000 octets."""
    return start(Inbound(inbound_store), max_arriving=5_000)


def transaction(relay: RunningRelay) -> Wire:
    client = relay.client()
    for line in BEGIN.splitlines(keepends=True):
        assert client.ask(line).startswith("250 ")
    return client


def test_a_message_without_room_is_refused_for_now_and_leaves_its_room(
    small_relay: RunningRelay, inbound_store: FakeInboundStore
) -> None:
    first, second = transaction(small_relay), transaction(small_relay)
    assert first.ask(b"BDAT 3000\r\n" + LINES * 30).startswith("250 ")
    assert second.ask(b"BDAT 3000\r\n" + LINES * 30).startswith("452 4.3.1 ")
    assert first.ask(b"BDAT 1900 LAST\r\n" + LINES * 19).startswith("250 ")
    third = transaction(small_relay)
    assert third.ask(b"BDAT 4900 LAST\r\n" + LINES * 49).startswith("250 ")
    fourth = transaction(small_relay)
    assert fourth.ask(b"BDAT 5100\r\n" + LINES * 51).startswith("452 4.3.1 ")
    assert [len(each) for each in inbound_store.messages] == [4900, 4900]
    assert small_relay.server._context.arriving.octets == 0


def test_a_client_that_leaves_takes_its_octets_along(small_relay: RunningRelay) -> None:
    client = transaction(small_relay)
    assert client.ask(b"BDAT 3000\r\n" + LINES * 30).startswith("250 ")
    assert client.ask(b"RSET\r\n").startswith("250 ")
    assert small_relay.server._context.arriving.octets == 0


def test_a_network_has_a_part_of_the_room() -> None:
    arriving = ArrivingOctets(100, 60)
    assert arriving.add("192.0.2.1", 60)
    assert not arriving.add("192.0.2.1", 1)
    assert arriving.add("192.0.2.2", 39)
    assert not arriving.add("192.0.2.3", 1)
    arriving.remove("192.0.2.1", 61)
    assert arriving.add("192.0.2.1", 60)


def test_without_a_limit_anything_has_room() -> None:
    assert ArrivingOctets(0, 0).add("192.0.2.1", 10**12)


def test_clients_and_their_messages_have_files_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))
    monkeypatch.setenv("RELAY_TLS_PORTS", "465")
    monkeypatch.setenv("RELAY_TLS_DIRECTORY", str(tmp_path))
    settings.cache_clear()
    inbound, *of_senders = listeners(settings())
    assert len(of_senders) == 2
    most = inbound.config.max_connections
    clients = most + sum(each.config.max_connections for each in of_senders)
    messages = most
    assert clients + messages < 1024
