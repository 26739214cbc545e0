from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable

import pytest

from relay import connection
from relay.backend import SubmittedEnvelope
from relay.session import RelaySession
from tests.unit.relay.conftest import RunningRelay
from tests.unit.relay.fakes import TIMEOUT, FakeStore, Wire, fields_of

MESSAGE = b"Subject: hello\r\n\r\nbody\r\n"
TRANSACTION = b"MAIL FROM:<a@example.test>\r\nRCPT TO:<b@x.test>\r\nDATA\r\n"


def seconds_until_end(client: Wire) -> float:
    started = time.monotonic()
    while client.reply():
        pass
    return time.monotonic() - started


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)


# Pipelining.


def test_a_burst_of_commands_is_answered_in_order(sender: Wire, store: FakeStore) -> None:
    sender.say(b"RSET\r\nNOOP\r\n" + TRANSACTION)
    assert sender.codes(5) == [250, 250, 250, 250, 354]
    sender.say(MESSAGE + b".\r\n" + TRANSACTION)
    assert sender.codes(4) == [250, 250, 250, 354]
    sender.say(MESSAGE + b".\r\nQUIT\r\n")
    assert sender.codes(2) == [250, 221]
    assert [envelope.data for envelope in store.envelopes] == [MESSAGE, MESSAGE]


def test_a_burst_is_answered_in_one_write(sender: Wire) -> None:
    sender.say(b"NOOP\r\n" * 40)
    first = sender.socket.recv(65536)
    assert first == b"250 2.0.0 OK\r\n" * 40


def test_commands_may_arrive_octet_by_octet(sender: Wire) -> None:
    for octet in b"NOOP\r\n":
        sender.say(bytes([octet]))
    assert sender.reply() == "250 2.0.0 OK"


def test_a_refused_recipient_in_a_burst_does_not_stop_the_rest(
    sender: Wire, store: FakeStore
) -> None:
    sender.say(b"MAIL FROM:<a@example.test>\r\nRCPT TO:<nobody>\r\nRCPT TO:<b@x.test>\r\nDATA\r\n")
    assert sender.codes(4) == [250, 553, 250, 354]
    assert sender.ask(MESSAGE + b".\r\n").startswith("250 ")
    assert store.envelopes[0].recipients == ("b@x.test",)


def test_a_client_that_ends_its_side_still_gets_its_answers(sender: Wire) -> None:
    sender.say(TRANSACTION)
    sender.replies(3)
    sender.say(MESSAGE + b".\r\nQUIT\r\n")
    sender.socket.shutdown(socket.SHUT_WR)
    assert sender.codes(2) == [250, 221]
    assert sender.reply() == ""


def test_a_message_cut_off_is_not_accepted(
    clear_relay: RunningRelay, sender: Wire, store: FakeStore
) -> None:
    sender.begin_data()
    sender.say(MESSAGE)
    sender.close()
    until(lambda: clear_relay.server.connections_open == 0)
    assert not store.messages


def test_a_flood_of_commands_does_not_shut_out_another_client(
    clear_relay: RunningRelay, sender: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    flood = 20_000
    other = clear_relay.client()
    served: list[bytes] = []
    serve = RelaySession.serve

    async def observed(self: RelaySession, line: bytes) -> None:
        served.append(line.strip())
        await serve(self, line)

    monkeypatch.setattr(RelaySession, "serve", observed)
    other.ask(b"NOOP\r\n")  # a session looks its method up before it waits for a command
    sender.say(b"NOOP\r\n" * flood)
    assert other.ask(b"RSET\r\n").startswith("250 ")
    assert sender.codes(flood) == [250] * flood
    assert served.index(b"RSET") < flood / 2


def test_the_replies_of_a_long_burst_leave_before_it_is_used_up(
    sender: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    gathered: list[int] = []
    flush = RelaySession._flush

    def count(self: RelaySession) -> None:
        gathered.append(len(self._output))
        flush(self)

    monkeypatch.setattr(RelaySession, "_flush", count)
    sender.say(b"NOOP\r\n" * 2000)
    assert sender.codes(2000) == [250] * 2000
    assert max(gathered) <= 50


# Smuggling.


@pytest.mark.parametrize(
    "false_end",
    [
        b"\n.\n",
        b"\r.\r",
        b"\n.\r\n",
        b"\r\n.\n",
        b"\r\n\0.\r\n",
        b"\r\n.\r",
        b"\r.\r\n",
        b"\r\n.\0\r\n",
        b"\r\n.\r\r\n",
        b"\r\n.\n\r\n",
        b"\n\n.\r\n\n",
        b"\r\n\x0b.\x0b\r\n\n",
    ],
)
def test_no_false_end_splits_a_message(sender: Wire, store: FakeStore, false_end: bytes) -> None:
    sender.begin_data()
    sender.say(b"Subject: a\r\n\r\nx" + false_end)
    sender.say(b"MAIL FROM:<evil@x.test>\r\nRCPT TO:<victim@x.test>\r\nDATA\r\nevil\r\n")
    assert sender.is_quiet(0.05)
    assert sender.ask(b".\r\n").startswith("554 5.6.0 ")
    assert sender.ask(b"NOOP\r\n") == "250 2.0.0 OK"
    assert not store.messages


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\n\r"])
def test_no_command_hides_behind_another_line_end(sender: Wire, line_end: bytes) -> None:
    sender.say(b"NOOP" + line_end + b"MAIL FROM:<evil@x.test>\r\nRCPT TO:<b@x.test>\r\n")
    assert sender.reply().startswith("500 5.5.2 ")
    assert sender.reply() == "503 5.5.1 Send MAIL first"


def test_a_client_that_ends_lines_with_lf_is_refused_at_once(relay: RunningRelay) -> None:
    assert relay.client().ask(b"EHLO client.test\n").startswith("500 5.5.2 ")


# TLS.


def test_commands_sent_in_the_clear_after_starttls_are_not_run(
    relay: RunningRelay, trust: ssl.SSLContext
) -> None:
    client = relay.client()
    client.ask(b"EHLO client.test\r\n")
    client.say(b"STARTTLS\r\nEHLO injected.test\r\nVRFY injected\r\n")
    assert client.reply().startswith("220 ")
    client.start_tls(trust)
    assert client.ask(b"NOOP\r\n") == "250 2.0.0 OK"
    assert client.ask(b"MAIL FROM:<a@example.test>\r\n").startswith("503 ")


def test_half_a_command_sent_in_the_clear_does_not_join_the_next(
    relay: RunningRelay, trust: ssl.SSLContext
) -> None:
    client = relay.client()
    client.say(b"STARTTLS\r\nVRFY ")
    assert client.reply().startswith("220 ")
    client.start_tls(trust)
    assert client.ask(b"NOOP\r\n") == "250 2.0.0 OK"


def test_a_failed_handshake_ends_the_connection(relay: RunningRelay) -> None:
    client = relay.client()
    client.ask(b"STARTTLS\r\n")
    client.say(b"EHLO this is no handshake\r\n")
    assert seconds_until_end(client) < TIMEOUT
    until(lambda: relay.server.connections_open == 0)


def test_a_client_that_leaves_during_the_handshake_is_removed(relay: RunningRelay) -> None:
    client = relay.client()
    client.ask(b"STARTTLS\r\n")
    client.close()
    until(lambda: relay.server.connections_open == 0)


def test_a_handshake_that_does_not_begin_ends(
    start_submission: Callable[..., RunningRelay],
) -> None:
    relay = start_submission(idle_seconds=0.2)
    client = relay.client()
    client.ask(b"STARTTLS\r\n")
    assert client.reply() == "", "nothing is said in the clear within a handshake"
    until(lambda: relay.server.connections_open == 0)


def test_a_burst_and_a_large_message_pass_through_tls(
    relay: RunningRelay, store: FakeStore, trust: ssl.SSLContext
) -> None:
    client = relay.client()
    client.ask(b"STARTTLS\r\n")
    client.start_tls(trust)
    client.log_in()
    large = (b"x" * 1022 + b"\r\n") * 2048
    assert client.begin_data().startswith("354 ")
    client.say(large + b".\r\n" + TRANSACTION)
    assert client.codes(4) == [250, 250, 250, 354]
    assert store.envelopes[0].data == large


# Time.


def test_an_idle_client_gets_421_and_is_disconnected(
    start_submission: Callable[..., RunningRelay],
) -> None:
    relay = start_submission(idle_seconds=0.2)
    client = relay.client()
    assert client.reply() == "421 4.4.2 Idle for too long, closing"
    assert client.reply() == ""
    until(lambda: relay.server.connections_open == 0)


def test_octets_without_a_line_end_do_not_count_as_activity(
    start_submission: Callable[..., RunningRelay],
) -> None:
    client = start_submission(idle_seconds=0.3).client()
    said = 0
    while said < 40 and client.is_quiet(0.05):
        client.say(b"x")
        said += 1
    assert said < 40
    assert client.reply().startswith("421 4.4.2 ")


def test_idle_time_in_data_is_counted_from_the_last_octets(
    start_submission: Callable[..., RunningRelay],
) -> None:
    client = start_submission(require_tls=False, idle_seconds=1.0).client()
    client.log_in()
    client.begin_data()
    for _ in range(4):
        client.say(b"x\r\n")
        assert client.is_quiet(0.3)
    assert client.ask(b".\r\n").startswith("250 ")


def test_a_client_that_stops_during_data_is_disconnected(
    start_submission: Callable[..., RunningRelay], store: FakeStore
) -> None:
    client = start_submission(require_tls=False, idle_seconds=0.2).client()
    client.log_in()
    client.begin_data()
    client.say(MESSAGE)
    assert client.reply().startswith("421 4.4.2 Idle")
    assert not store.messages


def test_a_message_that_trickles_for_too_long_ends(
    start_submission: Callable[..., RunningRelay], store: FakeStore
) -> None:
    client = start_submission(require_tls=False, data_seconds=0.3).client()
    client.log_in()
    client.begin_data()
    for _ in range(100):
        client.say(b"x\r\n")
        if not client.is_quiet(0.02):
            break
    assert client.reply() == "421 4.4.2 The message took too long, closing"
    assert not store.messages


def test_waiting_for_the_store_is_not_the_clients_idle_time(
    start_submission: Callable[..., RunningRelay], store: FakeStore
) -> None:
    release = threading.Event()

    def wait(_: SubmittedEnvelope) -> None:
        release.wait(TIMEOUT)

    store.on_accept = wait
    client = start_submission(require_tls=False, idle_seconds=0.1).client()
    client.log_in()
    client.begin_data()
    client.say(MESSAGE + b".\r\n")
    assert client.is_quiet(0.3)
    release.set()
    assert client.reply().startswith("250 ")


def test_a_client_that_never_reads_its_replies_is_disconnected(
    start_submission: Callable[..., RunningRelay], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_LINGER_SECONDS", 0.1)
    relay = start_submission(idle_seconds=0.2)
    client = relay.client()
    client.socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        client.say(b"EHLO client.test\r\n" * 1_000_000)
    until(lambda: relay.server.connections_open == 0)


# Faults of the relay itself.


def test_a_fault_within_the_session_ends_the_connection_with_its_id(
    relay: RunningRelay, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(self: RelaySession, line: bytes) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(RelaySession, "serve", fail)
    client = relay.client()
    reply = client.ask(b"NOOP\r\n")
    assert reply.startswith("421 4.3.0 ")
    assert client.reply() == ""
    assert fields_of(caplog.records, "relay fault")["fault_id"] in reply
    assert relay.server.counters.faults == 1


@pytest.mark.parametrize(
    ("peername", "address"),
    [
        (("192.0.2.1", 5), "192.0.2.1"),
        (("::ffff:192.0.2.1", 5, 0, 0), "192.0.2.1"),
        (("2001:db8::1", 5, 0, 0), "2001:db8::1"),
        (("fe80::1%eth0", 5, 0, 2), "fe80::1"),
        (None, ""),
    ],
)
def test_a_clients_address_has_one_form(peername: tuple[object, ...] | None, address: str) -> None:
    assert connection._address_of(peername) == address


def test_a_client_that_resets_the_connection_is_no_fault(
    clear_relay: RunningRelay, trust: ssl.SSLContext
) -> None:
    for encrypted in (False, True):
        client = clear_relay.client()
        if encrypted:
            client.ask(b"EHLO client.test\r\n")
            client.ask(b"STARTTLS\r\n")
            client.start_tls(trust)
        at_once = struct.pack("ii", 1, 0)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        client.close()
    # The fixture fails at the end of a relay whose loop was told of a fault
    until(lambda: clear_relay.server.connections_open == 0)
