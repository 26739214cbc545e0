"""The inbound port takes reports by SMTP and puts their events on the queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chalicelib.core import aws, clock, queues
from chalicelib.core.settings import settings
from chalicelib.received_mail.inbound_queue import QUEUE
from chalicelib.sending_domains import store as domains
from relay.__main__ import listeners
from relay.inbound import MailAcceptor
from relay.services import Inbound
from tests.fake_cloud import queued
from tests.unit.inbound.examples import (
    DOMAIN,
    INJECTED_MS,
    bounce_address,
    emitted,
    store_context,
    unsubscribe_address,
)
from tests.unit.inbound.samples import dsn, group
from tests.unit.inbound_domains.examples import store_inbound_domain
from tests.unit.relay.conftest import RunningRelay
from tests.unit.relay.fakes import Wire
from tests.unit.sending_domains.examples import domain

BOUNCE = dsn(group()).replace("\n", "\r\n")


@pytest.fixture
def now() -> Iterator[list[float]]:
    """Return the clock, which a test can set."""
    seconds = [INJECTED_MS / 1000 + 60]
    with clock.use(lambda: seconds[0]):
        yield seconds


@pytest.fixture
def host(cloud: None, now: list[float], start: Callable[..., RunningRelay]) -> Wire:
    """Return a mail host that is connected to the inbound port."""
    domains.create(domain(DOMAIN))
    client = start(Inbound(MailAcceptor())).client()
    assert client.ask(b"HELO mx.inbox.test\r\n").startswith("250 ")
    return client


def to(host: Wire, recipient: str) -> str:
    assert host.ask(b"MAIL FROM:<>\r\n").startswith("250 ")
    return host.ask(f"RCPT TO:<{recipient}>\r\n".encode())


def report(host: Wire, recipient: str, message: str = BOUNCE) -> str:
    assert to(host, recipient).startswith("250 2.1.5")
    assert host.ask(b"DATA\r\n").startswith("354 ")
    return host.ask(message.encode() + b"\r\n.\r\n")


def test_a_report_is_queued_when_it_is_answered(host: Wire) -> None:
    store_context()
    response = report(host, bounce_address())
    (event,) = emitted()
    assert response == f"250 2.0.0 OK {event['event_id']}"
    assert event["type"] == "out_of_band"


@pytest.mark.parametrize(
    "recipient",
    [
        f"someone@{DOMAIN}",
        f"postmaster@{DOMAIN}",
        bounce_address().replace("a", "b"),
        unsubscribe_address().replace("u.", "b.", 1),
    ],
)
def test_an_unsigned_address_is_refused(host: Wire, recipient: str) -> None:
    assert to(host, recipient).startswith("550 5.1.1 ")
    assert host.ask(b"DATA\r\n").startswith("503 ")


def test_an_expired_address_is_refused(host: Wire, now: list[float]) -> None:
    now[0] += settings().messages_retention + 86_400
    assert to(host, bounce_address()).startswith("550 5.1.1 ")


def test_nothing_is_relayed_to_other_domains(host: Wire) -> None:
    assert to(host, bounce_address(domain="elsewhere.test")).startswith("550 5.7.1 ")


def test_a_report_about_an_unknown_message_is_refused(host: Wire) -> None:
    assert report(host, bounce_address()).startswith("550 5.1.1 ")
    assert emitted() == []


@pytest.mark.parametrize("missing", ["messages", "config", "events"])
def test_a_report_is_deferred_while_the_cloud_is_out_of_reach(host: Wire, missing: str) -> None:
    store_context()
    if missing == "events":
        url = aws.sqs().get_queue_url(QueueName=settings().queue(missing))["QueueUrl"]
        aws.sqs().delete_queue(QueueUrl=url)
    else:
        aws.dynamodb().delete_table(TableName=settings().table(missing))
    ask = to if missing == "config" else report
    assert ask(host, bounce_address()).startswith("451 4.3.0 ")


MESSAGE = b"Subject: x\r\n\r\nbody\r\n"


class TestInboundDomains:
    @pytest.fixture(autouse=True)
    def place(self, host: Wire) -> None:
        store_inbound_domain("in.test")
        host.ask(b"EHLO mx.inbox.test\r\n")

    def test_a_message_is_queued_when_it_is_answered_and_the_reply_has_its_id(
        self, host: Wire
    ) -> None:
        assert to(host, "anything@in.test").startswith("250 2.1.5")
        response = host.ask(b"BDAT %d LAST\r\n" % len(MESSAGE) + MESSAGE)
        (work,) = map(queues.read, queued(QUEUE))
        assert response == f"250 2.0.0 OK {work.head['id']}"
        assert work.payload().startswith(b"Received: from mx.inbox.test ([127.0.0.1])\r\n\tby ")
        assert work.payload().endswith(b"\r\n" + MESSAGE)

    def test_a_report_and_other_mail_may_come_in_one_message(self, host: Wire) -> None:
        store_context()
        to(host, bounce_address())
        host.ask(b"RCPT TO:<postmaster@in.test>\r\n")
        host.ask(b"DATA\r\n")
        assert host.ask(BOUNCE.encode() + b"\r\n.\r\n").startswith("250 2.0.0 OK ")
        assert [event["type"] for event in emitted()] == ["out_of_band"]
        (work,) = map(queues.read, queued(QUEUE))
        assert [each["index"] for each in work.head["recipients"]] == [1]

    def test_a_report_about_an_unknown_message_does_not_keep_others_from_theirs(
        self, host: Wire
    ) -> None:
        to(host, bounce_address())
        host.ask(b"RCPT TO:<help@in.test>\r\n")
        host.ask(b"DATA\r\n")
        assert host.ask(BOUNCE.encode() + b"\r\n.\r\n").startswith("250 ")
        assert len(queued(QUEUE)) == 1

    def test_the_client_keeps_a_message_that_cannot_be_stored(self, host: Wire) -> None:
        url = aws.sqs().get_queue_url(QueueName=settings().queue(QUEUE))["QueueUrl"]
        aws.sqs().delete_queue(QueueUrl=url)
        assert report(host, "help@in.test").startswith("451 4.3.0 ")
        aws.sqs().create_queue(QueueName=settings().queue(QUEUE))
        assert report(host, "help@in.test").startswith("250 2.0.0 OK ")
        assert len(queued(QUEUE)) == 1

    def test_what_is_refused_after_its_recipients_makes_an_event_for_each(self, host: Wire) -> None:
        to(host, "one@in.test")
        host.ask(b"RCPT TO:<two@in.test>\r\n")
        host.ask(b"DATA\r\n")
        assert host.ask(b"bare\nline\r\n.\r\n").startswith("554 5.6.0 ")
        events = emitted()
        assert [event["rcpt_to"] for event in events] == ["one@in.test", "two@in.test"]
        assert {event["error_code"] for event in events} == {"554"}
        assert queued(QUEUE) == []

    def test_a_loop_is_refused_with_its_own_code(self, host: Wire) -> None:
        report(host, "help@in.test", MESSAGE.decode())
        (work,) = map(queues.read, queued(QUEUE))
        again = report(host, "help@in.test", work.payload().decode())
        assert again.startswith("554 5.4.6 ")
        assert [event["type"] for event in emitted()] == ["relay_rejection"]


class TestListening:
    @pytest.fixture(autouse=True)
    def own_settings(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
        monkeypatch.setenv("RELAY_TLS_DIRECTORY", str(tmp_path))
        settings.cache_clear()
        yield
        monkeypatch.undo()
        settings.cache_clear()

    def test_the_relay_listens_for_reports_as_well(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RELAY_INBOUND_PORTS", "25,2526")
        settings.cache_clear()
        inbound, submission = listeners(settings())
        assert inbound.config.ports == (25, 2526)
        assert (inbound.service.takes_logins, submission.service.takes_logins) == (False, True)
        assert inbound.tls is submission.tls

    def test_a_report_may_return_the_largest_message(self) -> None:
        inbound, submission = listeners(settings())
        assert inbound.config.ports == (25,)
        assert submission.config.max_message == settings().max_message_bytes
        assert inbound.config.max_message > settings().max_message_bytes + 100_000

    def test_the_limits_of_the_settings_are_those_of_the_inbound_port(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number, name in enumerate(("BYTES", "MESSAGES", "RECIPIENTS", "DOMAIN_RECIPIENTS"), 7):
            monkeypatch.setenv(f"RELAY_INBOUND_{name}", str(number))
        settings.cache_clear()
        inbound, submission = (each.config for each in listeners(settings()))
        assert inbound.max_inbound_message == 7
        assert (inbound.max_network_messages, inbound.max_network_recipients) == (8, 9)
        assert inbound.max_domain_recipients == 10
        assert submission.max_network_messages == submission.max_domain_recipients == 0

    def test_the_inbound_port_can_be_switched_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RELAY_INBOUND_PORTS", "")
        settings.cache_clear()
        (submission,) = listeners(settings())
        assert submission.service.takes_logins
