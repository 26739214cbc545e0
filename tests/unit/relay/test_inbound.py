"""The inbound port takes reports by SMTP and puts their events on the queue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chalicelib.core import aws, clock
from chalicelib.core.settings import settings
from chalicelib.sending_domains import store as domains
from relay.__main__ import listeners
from relay.inbound import MailAcceptor
from relay.services import Inbound
from tests.unit.inbound.examples import (
    DOMAIN,
    INJECTED_MS,
    bounce_address,
    emitted,
    store_context,
    unsubscribe_address,
)
from tests.unit.inbound.samples import dsn, group
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

    def test_the_inbound_port_can_be_switched_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RELAY_INBOUND_PORTS", "")
        settings.cache_clear()
        (submission,) = listeners(settings())
        assert submission.service.takes_logins
