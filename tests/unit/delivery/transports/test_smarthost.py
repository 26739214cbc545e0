"""The smarthost transport delivers to a host on loopback."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP as Server
from aiosmtpd.smtp import Envelope, Session

from chalicelib.delivery.outcome import Delivered, Outcome, Retry
from chalicelib.delivery.transports import OutboundMessage, Transport, commit_at_once
from chalicelib.delivery.transports.session_pool import PoolLimits
from chalicelib.delivery.transports.smarthost import SmarthostTransport
from chalicelib.delivery.transports.smtp_opening import SessionOptions, TlsMode
from tests.unit.delivery.scripted_server import (
    HANG_UP,
    STANDARD,
    Answers,
    ScriptedServer,
    certificate,
)


def transport_to(
    host: ScriptedServer, *, tls: TlsMode = TlsMode.OPPORTUNISTIC, connections: int = 20
) -> SmarthostTransport:
    return SmarthostTransport(
        host.host,
        host.port,
        SessionOptions(tls=tls),
        PoolLimits(connections=connections),
        ehlo_name="client.test",
    )


def message(n: int = 0, source_address: str | None = None, ehlo_name: str = "") -> OutboundMessage:
    content = f"Subject: {n}\r\n\r\nhello\r\n".encode()
    return OutboundMessage("a@example.com", f"b{n}@example.net", content, source_address, ehlo_name)


def test_messages_share_a_connection() -> None:
    with ScriptedServer() as host:
        transport: Transport = transport_to(host)
        outcomes = [transport.deliver(message(n), commit_at_once) for n in range(10)]
        transport.close()
    assert all(isinstance(outcome, Delivered) for outcome in outcomes)
    assert len(host.conversations) == 1
    assert len(host.contents) == 10
    assert host.conversations[0].verbs()[-1] == "QUIT"


def test_a_connection_that_the_host_closed_is_replaced() -> None:
    with ScriptedServer() as host:
        transport = transport_to(host)
        transport.deliver(message(1), commit_at_once)
        host.hang_up()
        outcome = transport.deliver(message(2), commit_at_once)
        transport.close()
    assert outcome.code == 250
    assert len(host.contents) == 2


def test_a_connection_that_breaks_when_it_is_used_again_is_replaced_once() -> None:
    answers: Answers = {"MAIL": [b"250 ok\r\n", HANG_UP]}
    with ScriptedServer(answers=answers) as host:
        transport = transport_to(host)
        transport.deliver(message(1), commit_at_once)
        outcome = transport.deliver(message(2), commit_at_once)
        transport.close()
    assert outcome.code == 250
    assert len(host.conversations) == 2
    assert len(host.contents) == 2


def test_a_host_that_keeps_breaking_is_a_retry() -> None:
    answers: Answers = {"MAIL": [b"250 ok\r\n", HANG_UP, HANG_UP, HANG_UP]}
    with ScriptedServer(answers=answers) as host:
        transport = transport_to(host)
        transport.deliver(message(1), commit_at_once)
        outcome = transport.deliver(message(2), commit_at_once)
    assert isinstance(outcome, Retry)
    assert len(host.conversations) == 2


def test_a_message_that_may_have_been_taken_is_not_sent_again() -> None:
    answers: Answers = {".": [b"250 ok\r\n", HANG_UP]}
    with ScriptedServer(answers=answers) as host:
        transport = transport_to(host)
        transport.deliver(message(1), commit_at_once)
        outcome = transport.deliver(message(2), commit_at_once)
    assert isinstance(outcome, Retry)
    assert sum(conversation.verbs().count("DATA") for conversation in host.conversations) == 2


def test_a_refusal_before_the_message_never_fails_it() -> None:
    answers: Answers = {"CONNECT": [b"554 5.7.1 who are you\r\n"]}
    with ScriptedServer(answers=answers) as host:
        outcome = transport_to(host).deliver(message(), commit_at_once)
    assert isinstance(outcome, Retry)
    assert outcome.code == 554


def test_required_tls_that_is_not_offered_is_a_retry() -> None:
    with ScriptedServer() as host:
        outcome = transport_to(host, tls=TlsMode.REQUIRED).deliver(message(), commit_at_once)
    assert isinstance(outcome, Retry)
    assert (outcome.code, outcome.bounce_class) == (454, 20)


def test_encrypted_connections_are_used_again_too() -> None:
    with ScriptedServer(extensions=(*STANDARD, "STARTTLS"), tls=certificate()[0]) as host:
        transport = transport_to(host, tls=TlsMode.REQUIRED)
        outcomes = [transport.deliver(message(n), commit_at_once) for n in range(3)]
        transport.close()
    assert [outcome.tls for outcome in outcomes] == ["TLSv1.3"] * 3
    assert len(host.conversations) == 1


def test_each_source_address_and_name_has_connections_of_its_own() -> None:
    with ScriptedServer() as host:
        transport = transport_to(host)
        for _ in range(2):
            first = transport.deliver(message(1, "127.0.0.2", "two.test"), commit_at_once)
            second = transport.deliver(message(2, "127.0.0.3", "three.test"), commit_at_once)
        transport.close()
    assert (first.sending_ip, second.sending_ip) == ("127.0.0.2", "127.0.0.3")
    seen = [(each.client, each.commands[0]) for each in host.conversations]
    assert seen == [("127.0.0.2", "EHLO two.test"), ("127.0.0.3", "EHLO three.test")]
    assert [len(each.contents) for each in host.conversations] == [2, 2]


def test_threads_use_several_connections_and_no_message_is_lost_or_doubled() -> None:
    with ScriptedServer() as host:
        transport = transport_to(host, connections=4)
        with ThreadPoolExecutor(8) as threads:
            outcomes = list(
                threads.map(lambda n: transport.deliver(message(n), commit_at_once), range(200))
            )
        transport.close()
    assert all(outcome.code == 250 for outcome in outcomes)
    assert len(host.conversations) <= 4
    assert sorted(host.contents) == sorted(message(n).data for n in range(200))


def test_no_dot_of_another_message_falls_between_a_dot_and_its_record() -> None:
    turn, records = threading.Lock(), []
    with ScriptedServer() as host:
        transport = transport_to(host)

        def deliver(n: int) -> None:
            def commit(finish: Callable[[], Outcome]) -> Outcome:
                with turn:
                    before = len(host.contents)
                    outcome = finish()
                    deadline = time.monotonic() + 60
                    while len(host.contents) == before and time.monotonic() < deadline:
                        pass  # the host notes a message just after it has answered
                    records.append((before, len(host.contents)))
                    return outcome

            transport.deliver(message(n), commit)

        with ThreadPoolExecutor(6) as threads:
            list(threads.map(deliver, range(60)))
        transport.close()
    assert records == [(n, n + 1) for n in range(60)]


class Keeper:
    """An aiosmtpd handler that keeps what it is given."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []

    async def handle_DATA(self, server: Server, session: Session, envelope: Envelope) -> str:
        self.envelopes.append(envelope)
        return "250 2.0.0 kept"


def test_an_aiosmtpd_server_understands_every_command() -> None:
    keeper = Keeper()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(
        keeper,
        hostname="127.0.0.1",
        port=port,
        tls_context=certificate()[0],
        require_starttls=True,
        enable_SMTPUTF8=True,
    )
    content = b".first\r\n..\r\nSubject: \xc3\xa9\r\n\r\n.\r\nlast"
    controller.start()
    try:
        transport = SmarthostTransport(
            "127.0.0.1", port, SessionOptions(tls=TlsMode.REQUIRED), ehlo_name="client.test"
        )
        for recipient in ("b\u00e9@example.net", "c@b\u00fccher.example"):
            outcome = transport.deliver(OutboundMessage("", recipient, content), commit_at_once)
            assert outcome == Delivered(250, "2.0.0 kept", "127.0.0.1", "TLSv1.3")
        transport.close()
    finally:
        controller.stop()
    assert [envelope.rcpt_tos for envelope in keeper.envelopes] == [
        ["b\u00e9@example.net"],
        ["c@xn--bcher-kva.example"],
    ]
    assert {envelope.content for envelope in keeper.envelopes} == {content + b"\r\n"}
