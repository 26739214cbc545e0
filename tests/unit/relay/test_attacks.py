"""A port that takes mail from anyone takes no message that its client did not say."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator

import pytest

from relay.config import RelayConfig
from relay.failed_logins import FailedLogins
from relay.services import Inbound
from relay.tls import CertificateFiles, TlsContexts
from tests.unit.infrastructure.clouds import eventually
from tests.unit.relay.attacks import (
    BEGIN,
    HELLO,
    HIDDEN,
    LONGEST_LINE,
    MESSAGE,
    MOST_OCTETS,
    RECIPIENT,
    SENDER,
    Attack,
    attacks,
)
from tests.unit.relay.conftest import RunningRelay
from tests.unit.relay.fakes import INBOUND, TIMEOUT, FakeInboundStore

ATTACKS = attacks()
LIMITS = {
    "max_message": MOST_OCTETS,
    "max_inbound_message": MOST_OCTETS // 2,
    "max_in_memory": 1_000,
    "max_text_line": LONGEST_LINE,
    "max_command_line": 1_100,
    "max_connections_per_address": 10_000,
}


@pytest.fixture(scope="module")
def store_of_all() -> FakeInboundStore:
    return FakeInboundStore()


@pytest.fixture(scope="module")
def target(store_of_all: FakeInboundStore, certificate: CertificateFiles) -> Iterator[RunningRelay]:
    """Return one relay that all attacks meet."""
    config = RelayConfig(ports=(0,), hostname="relay.test", drain_seconds=1.0, **LIMITS)
    relay = RunningRelay(config, Inbound(store_of_all), TlsContexts(certificate), FailedLogins())
    yield relay
    relay.stop()


def converse(port: int, octets: bytes, step: int) -> str:
    """Say the octets, end our side, and return all that was answered."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        received = b""
        try:
            for start in range(0, len(octets), step or len(octets)):
                client.sendall(octets[start : start + (step or len(octets))])
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was closed before it had read everything
        try:
            while part := client.recv(65_536):
                received += part
        except ConnectionError:
            pass
        return received.decode()


def codes_of(answers: str) -> list[int]:
    """Return the codes of the replies, each of which must have the form of one."""
    lines = answers.split("\r\n")
    assert lines.pop() == ""
    assert all(re.fullmatch(r"[2-5][0-9]{2}[ -][\x20-\x7e]*", line) for line in lines), answers
    return [int(line[:3]) for line in lines if line[3] == " "]


def test_there_are_enough_attacks_with_names_of_their_own() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 553


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_stores_nothing_but_what_was_said(
    attack: Attack, target: RunningRelay, store_of_all: FakeInboundStore
) -> None:
    store_of_all.envelopes.clear()
    codes = codes_of(converse(target.port, HELLO + attack.octets, attack.step))
    assert tuple(codes[-len(attack.last) :]) == attack.last
    envelopes = store_of_all.envelopes
    assert len(envelopes) == attack.messages
    assert HIDDEN.decode() not in {envelope.mail_from for envelope in envelopes}
    for envelope in envelopes:
        assert envelope.mail_from == SENDER.decode()
        assert envelope.recipients == (RECIPIENT.decode(),)
        assert envelope.places == (INBOUND,)
    for message in store_of_all.messages:
        bare = message.replace(b"\r\n", b"")
        assert not set(bare) & set(b"\r\n\0")
        assert len(message) <= MOST_OCTETS
    assert target.server.counters.faults == 0


def test_all_attacks_leave_a_relay_that_serves(target: RunningRelay) -> None:
    client = target.client()
    client.ask(HELLO)
    client.say(BEGIN + b"BDAT %d LAST\r\n" % len(MESSAGE) + MESSAGE)
    assert client.codes(3) == [250, 250, 250]
    client.close()
    eventually(lambda: target.server.connections_open == 0)


@pytest.mark.parametrize(
    "injection",
    [
        BEGIN + b"DATA\r\n" + MESSAGE + b".\r\n",
        BEGIN + b"BDAT %d LAST\r\n" % len(MESSAGE) + MESSAGE,
        b"EHLO evil.test\r\n",
        b"NOOP\r\n" * 50,
        b"BDAT 1000 LAST\r\n",
        b"MAIL FROM:<hidden@evil.test>\r\n",
        b"RSET\n",
        b"\0" * 100,
        b"\r\n\r\n",
    ],
)
@pytest.mark.parametrize("before", [b"", BEGIN, BEGIN + b"BDAT 4\r\nab\r\n"])
def test_what_is_said_before_the_handshake_is_forgotten(
    target: RunningRelay,
    store_of_all: FakeInboundStore,
    trust: ssl.SSLContext,
    before: bytes,
    injection: bytes,
) -> None:
    store_of_all.envelopes.clear()
    client = target.client()
    client.ask(HELLO)
    client.say(before + b"STARTTLS\r\n" + injection)
    while not client.reply().startswith("220 "):
        pass
    client.start_tls(trust)
    assert client.ask(b"NOOP\r\n") == "250 2.0.0 OK"
    assert client.ask(b"DATA\r\n").startswith("503 ")
    assert client.ask(b"MAIL FROM:<a@x.test>\r\n").startswith("503 ")
    assert not store_of_all.envelopes
    client.close()


def test_a_size_over_the_limit_is_one_rejection_for_each_recipient_that_was_named(
    target: RunningRelay, store_of_all: FakeInboundStore
) -> None:
    store_of_all.rejections.clear()
    client = target.client()
    client.ask(HELLO)
    client.say(BEGIN + b"BDAT 999999999 LAST\r\n")
    assert client.codes(4) == [250, 250, 552, 421]
    ((recipients, reply),) = store_of_all.rejections
    assert (recipients, reply.code) == ((RECIPIENT.decode(),), 552)
