from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from relay.backend import Identity, SubmittedEnvelope
from relay.config import RelayConfig
from relay.server import RelayServer, serve
from relay.services import Submission
from relay.session import RelaySession
from tests.unit.relay.conftest import RunningRelay
from tests.unit.relay.fakes import TIMEOUT, FakeStore, Wire, plain

MESSAGE = b"Subject: hello\r\n\r\nbody\r\n"


def configured(**settings: object) -> RelayConfig:
    return RelayConfig(ports=(0,), require_tls=False, **settings)  # type: ignore[arg-type]


def test_every_port_is_bound(
    start_submission: Callable[..., RunningRelay],
) -> None:
    relay = start_submission(ports=(0, 0))
    assert len(set(relay.server.ports)) == 2
    for port in relay.server.ports:
        assert Wire(port).greeting.startswith("220 ")


def test_a_port_in_use_is_an_error_and_leaves_no_other_bound(store: FakeStore) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as occupied,
        socket.create_server(("127.0.0.1", 0)) as probe,
    ):
        free = probe.getsockname()[1]
        probe.close()
        config = RelayConfig(ports=(free, occupied.getsockname()[1]), require_tls=False)
        server = RelayServer(config, Submission(store, store), None)
        with pytest.raises(OSError, match="in use"):
            asyncio.run(server.start())
        socket.create_server(("127.0.0.1", free)).close()


def test_a_socket_that_listens_is_served_in_place_of_a_port(store: FakeStore) -> None:
    async def serve_one(listener: socket.socket) -> tuple[tuple[int, ...], bytes]:
        relay = RelayServer(configured(), Submission(store, store), None, listeners=[listener])
        await relay.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", relay.ports[0])
        greeting = await reader.readexactly(4)
        writer.close()
        await relay.drain()
        return relay.ports, greeting

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert asyncio.run(serve_one(listener)) == ((port,), b"220 ")


def test_two_servers_share_a_port_with_reuse_port(
    start_submission: Callable[..., RunningRelay],
) -> None:
    first = start_submission(reuse_port=True)
    second = start_submission(reuse_port=True, ports=(first.port,))
    assert first.port == second.port


def test_ipv6_is_served(start_submission: Callable[..., RunningRelay], store: FakeStore) -> None:
    relay = start_submission(host="::1", require_tls=False)
    with socket.create_connection(("::1", relay.port), TIMEOUT) as client:
        assert client.recv(100).startswith(b"220 ")


def test_required_tls_without_a_certificate_is_an_error(store: FakeStore) -> None:
    with pytest.raises(ValueError, match="certificate"):
        RelayServer(RelayConfig(), Submission(store, store), None)


def test_replies_do_not_wait_for_more_data(
    clear_relay: RunningRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_delay: list[int] = []
    connection_made = RelaySession.connection_made

    def look(self: RelaySession, transport: asyncio.BaseTransport) -> None:
        accepted = transport.get_extra_info("socket")
        without_delay.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        connection_made(self, transport)

    monkeypatch.setattr(RelaySession, "connection_made", look)
    clear_relay.client()
    assert without_delay == [1]


# Caps.


def test_connections_of_one_address_are_capped(
    start_submission: Callable[..., RunningRelay],
) -> None:
    relay = start_submission(max_connections_per_address=2)
    first, second = relay.client(), relay.client()
    third = relay.client(greet=False)
    assert third.reply() == "421 4.7.0 Too many connections, try again later"
    assert third.reply() == ""
    assert second.ask(b"NOOP\r\n").startswith("250 ")
    first.ask(b"QUIT\r\n")
    assert first.reply() == ""
    assert relay.client().greeting.startswith("220 ")
    assert relay.server.counters.connections_refused == 1
    assert relay.server.counters.connections == 4


def test_connections_in_all_are_capped(start_submission: Callable[..., RunningRelay]) -> None:
    relay = start_submission(max_connections=1)
    relay.client()
    assert relay.client(greet=False).reply().startswith("421 4.7.0 ")


def test_idle_connections_do_not_delay_a_client(
    start_submission: Callable[..., RunningRelay], store: FakeStore
) -> None:
    relay = start_submission(require_tls=False, max_connections_per_address=300)

    def seconds_of_ten_messages() -> float:
        client = relay.client()
        client.log_in()
        started = time.monotonic()
        for _ in range(10):
            client.begin_data()
            assert client.ask(MESSAGE + b".\r\n").startswith("250 ")
        return time.monotonic() - started

    alone = max(seconds_of_ten_messages() for _ in range(3))
    for _ in range(200):
        relay.client()
    assert relay.server.connections_open >= 200
    assert min(seconds_of_ten_messages() for _ in range(3)) < 4 * alone


def test_many_clients_at_once_are_all_served(
    start_submission: Callable[..., RunningRelay], store: FakeStore
) -> None:
    relay = start_submission(require_tls=False, workers=4)

    def send(number: int) -> str:
        client = relay.client()
        client.log_in()
        client.begin_data()
        return client.ask(b"%d\r\n.\r\n" % number)

    with ThreadPoolExecutor(20) as clients:
        answers = list(clients.map(send, range(40)))
    assert sorted(answers) == sorted(f"250 2.0.0 OK id-{number + 1}" for number in range(40))
    bodies = sorted(int(envelope.data) for envelope in store.envelopes)
    assert bodies == list(range(40))


# Drain.


def test_draining_ends_clients_between_messages_and_accepts_no_more(
    clear_relay: RunningRelay, sender: Wire
) -> None:
    drained = clear_relay.call(clear_relay.server.drain())
    assert sender.reply() == "421 4.3.2 Service shutting down, connect again"
    assert sender.reply() == ""
    drained.result(TIMEOUT)
    with pytest.raises(ConnectionRefusedError):
        Wire(clear_relay.port)


def test_draining_lets_a_message_under_way_finish(
    clear_relay: RunningRelay, sender: Wire, store: FakeStore
) -> None:
    sender.ask(b"MAIL FROM:<a@example.test>\r\n")
    drained = clear_relay.call(clear_relay.server.drain())
    assert sender.ask(b"RCPT TO:<b@x.test>\r\n").startswith("250 ")
    assert sender.ask(b"DATA\r\n").startswith("354 ")
    sender.say(MESSAGE + b".\r\nNOOP\r\n")
    assert sender.reply() == "250 2.0.0 OK id-1"
    assert sender.reply().startswith("421 4.3.2 ")
    drained.result(TIMEOUT)
    assert len(store.messages) == 1


def test_draining_waits_for_a_message_that_is_being_stored(
    clear_relay: RunningRelay, sender: Wire, store: FakeStore
) -> None:
    storing, release = threading.Event(), threading.Event()

    def store_slowly(_: SubmittedEnvelope) -> None:
        storing.set()
        release.wait(TIMEOUT)

    store.on_accept = store_slowly
    sender.begin_data()
    sender.say(MESSAGE + b".\r\n")
    assert storing.wait(TIMEOUT)
    drained = clear_relay.call(clear_relay.server.drain())
    assert sender.is_quiet(0.05)
    release.set()
    assert sender.reply().startswith("250 ")
    drained.result(TIMEOUT)


def test_draining_does_not_cut_off_a_command(
    clear_relay: RunningRelay, store: FakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    called, release = threading.Event(), threading.Event()

    def authenticate(*_: object) -> Identity:
        called.set()
        release.wait(TIMEOUT)
        return Identity(1, None, "k1")

    monkeypatch.setattr(store, "authenticate", authenticate)
    client = clear_relay.client()
    client.say(b"EHLO client.test\r\nAUTH PLAIN " + plain("SMTP_Injection", "key") + b"\r\n")
    assert called.wait(TIMEOUT)
    drained = clear_relay.call(clear_relay.server.drain())
    release.set()
    assert client.codes(3) == [250, 235, 421]
    drained.result(TIMEOUT)


def test_draining_ends_a_client_that_does_not_finish(
    start_submission: Callable[..., RunningRelay], store: FakeStore
) -> None:
    relay = start_submission(require_tls=False, drain_seconds=0.1)
    client = relay.client()
    client.log_in()
    client.begin_data()
    relay.call(relay.server.drain()).result(TIMEOUT)
    assert client.reply() == "421 4.3.2 Service shutting down, connect again"
    assert client.reply() == ""
    assert not store.messages


def test_a_message_that_is_stored_slowly_gets_its_reply(
    start_submission: Callable[..., RunningRelay], store: FakeStore
) -> None:
    relay = start_submission(require_tls=False, drain_seconds=0.1)
    client, other = relay.client(), relay.client()
    storing, release = threading.Event(), threading.Event()

    def store_slowly(_: SubmittedEnvelope) -> None:
        storing.set()
        release.wait(TIMEOUT)

    store.on_accept = store_slowly
    for each in (client, other):
        each.log_in()
        each.begin_data()
    client.say(MESSAGE + b".\r\n")
    assert storing.wait(TIMEOUT)
    drained = relay.call(relay.server.drain())
    assert other.reply().startswith("421 4.3.2 "), "the time to finish is over"
    release.set()
    assert client.reply() == "250 2.0.0 OK id-1"
    assert client.reply().startswith("421 4.3.2 ")
    drained.result(TIMEOUT)


def test_draining_sends_nothing_in_the_clear_during_a_handshake(
    start_submission: Callable[..., RunningRelay],
) -> None:
    relay = start_submission(drain_seconds=0.1)
    client = relay.client()
    assert client.ask(b"STARTTLS\r\n").startswith("220 ")
    relay.call(relay.server.drain()).result(TIMEOUT)
    with contextlib.suppress(ConnectionResetError):
        assert client.reply() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_every_relay(store: FakeStore, number: signal.Signals) -> None:
    last_words: list[str] = []

    def end_it(relays: list[RelayServer]) -> None:
        clients = [Wire(relay.ports[0]) for relay in relays]
        os.kill(os.getpid(), number)
        last_words.extend(client.reply() for client in clients)

    async def run() -> None:
        relays = [RelayServer(configured(), Submission(store, store), None) for _ in range(2)]
        serving = asyncio.create_task(serve(*relays))
        while not all(relay.ports for relay in relays):
            await asyncio.sleep(0.005)
        await asyncio.to_thread(end_it, relays)
        await asyncio.wait_for(serving, TIMEOUT)

    asyncio.run(run())
    assert [words[:9] for words in last_words] == ["421 4.3.2"] * 2


def test_the_counters_are_written_from_time_to_time_and_at_the_end(
    start_submission: Callable[..., RunningRelay], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "relay"):
        relay = start_submission(counters_seconds=0.02)
        client = relay.client()
        deadline = time.monotonic() + TIMEOUT
        while not caplog.records or "relay counters" not in caplog.messages:
            assert client.is_quiet(0.01)
            assert time.monotonic() < deadline
        relay.call(relay.server.drain()).result(TIMEOUT)
    records = [vars(each) for each in caplog.records if "counters" in each.message]
    assert sum(each["Connections"] for each in records) == 1
    assert records[-1]["ConnectionsOpen"] == 0
