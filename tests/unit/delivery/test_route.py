"""The messages of a unit leave by the transport, local address and EHLO name of their route."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from chalicelib.core import clock
from chalicelib.core.bounce_classes import ADMIN_FAILURE
from chalicelib.core.settings import settings
from chalicelib.delivery import route
from chalicelib.delivery.attempts import attempt_all
from chalicelib.delivery.commits import UnitCommits
from chalicelib.delivery.delivery_batch import DeliveryBatch
from chalicelib.delivery.departures import Departure, plan
from chalicelib.delivery.mta_sts.service import clear_cache as clear_policies
from chalicelib.delivery.outcome import Failed
from chalicelib.delivery.route import routes_of, transport
from chalicelib.delivery.store.journal_files import FileJournal
from chalicelib.delivery.transports import OutboundMessage, commit_at_once
from chalicelib.delivery.transports.mx import MxTransport
from chalicelib.delivery.transports.ses import SesTransport
from chalicelib.delivery.transports.smarthost import SmarthostTransport
from chalicelib.fleet import store as fleets
from chalicelib.fleet import warmup
from chalicelib.fleet.routing import Route
from chalicelib.ip_pools.changes import with_changed_ip
from chalicelib.ip_pools.request import IpChange
from tests.fake_cloud import aws_requests
from tests.unit.delivery.examples import UNIT, batch_of, message
from tests.unit.delivery.scripted_server import ScriptedServer
from tests.unit.fleet.examples import add, an_ip, make_pool, warming
from tests.unit.zones import served_zone

DEFAULT = Route("default")


@pytest.fixture(autouse=True)
def new_transports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make every transport again, without TLS."""
    monkeypatch.setenv("SMARTHOST_TLS", "off")
    _forget()
    yield
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    settings.cache_clear()
    route._transport.cache_clear()
    warmup.clear_cache()


def batch_by(pool: str, count: int) -> DeliveryBatch:
    batch = batch_of(count)
    return replace(batch, event=batch.event | {"ip_pool": pool})


@pytest.mark.parametrize(
    ("name", "kind"), [("smtp", SmarthostTransport), ("mx", MxTransport), ("ses", SesTransport)]
)
def test_a_route_without_a_transport_uses_that_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, name: str, kind: type
) -> None:
    monkeypatch.setenv("TRANSPORT", name)
    settings.cache_clear()
    first = transport(DEFAULT)
    assert isinstance(first, kind)
    assert transport(Route("fast", "192.0.2.1", "10.0.0.1", "mta.test")) is first


def test_a_smarthost_and_a_configuration_set_each_have_a_transport_of_their_own() -> None:
    first = transport(replace(DEFAULT, smarthost="one.test:587"))
    second = transport(replace(DEFAULT, smarthost="two.test:587"))
    ses = transport(replace(DEFAULT, ses_pool="dedicated"))
    assert isinstance(first, SmarthostTransport)
    assert first._address == ("one.test", 587)
    assert transport(Route("other", smarthost="one.test:587")) is first
    assert len({id(each) for each in (first, second, ses, transport(DEFAULT))}) == 4
    assert isinstance(ses, SesTransport)
    assert ses._configuration_set == "dedicated"


def test_ses_reports_later_what_leaves_by_the_stages_own_configuration_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRANSPORT", "ses")
    monkeypatch.setenv("SES_CONFIGURATION_SET", "postfinch-test")
    settings.cache_clear()
    own, other = transport(DEFAULT), transport(replace(DEFAULT, ses_pool="dedicated"))
    assert isinstance(own, SesTransport)
    assert isinstance(other, SesTransport)
    assert (own._configuration_set, own._notifies) == ("postfinch-test", True)
    assert (other._configuration_set, other._notifies) == ("dedicated", False)


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize(
    ("mta_sts", "policy_queries"), [("true", ["_mta-sts.inbox.test"]), ("false", [])]
)
def test_direct_mail_uses_the_resolvers_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, mta_sts: str, policy_queries: list[str]
) -> None:
    clear_policies()
    monkeypatch.setenv("TRANSPORT", "mx")
    monkeypatch.setenv("MTA_STS", mta_sts)
    monkeypatch.setenv("ALLOW_PRIVATE_ADDRESSES", "true")
    with ScriptedServer() as host, contextmanager(served_zone)(monkeypatch) as zone:
        zone.set("inbox.test", ("MX", "10 mx.inbox.test"))
        zone.set("mx.inbox.test", ("A", "127.0.0.1"))
        direct = transport(DEFAULT)
        monkeypatch.setattr(direct, "_port", host.port)
        for _ in range(2):
            outcome = direct.deliver(
                OutboundMessage("a@b.test", "Ann@Inbox.test", b"x"), commit_at_once
            )
            assert outcome.code == 250
        direct.close()
    assert len(host.contents) == 2
    assert zone.queries == [*policy_queries, "inbox.test", "mx.inbox.test"]


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize(
    ("transport_name", "changes", "host"),
    [
        ("smtp", {}, "mail.test"),
        ("smtp", {"smarthost": "192.0.2.9:587"}, "192.0.2.9"),
        ("mx", {}, "mx.inbox.test"),
        ("ses", {}, "Amazon SES"),
        ("smtp", {"ses_pool": "dedicated"}, "Amazon SES"),
    ],
)
def test_no_mail_leaves_the_machine_where_none_may(
    monkeypatch: pytest.MonkeyPatch, transport_name: str, changes: dict[str, str], host: str
) -> None:
    monkeypatch.setenv("TRANSPORT", transport_name)
    monkeypatch.setenv("SMARTHOST", "mail.test:587")
    monkeypatch.setenv("DELIVER", "false")
    monkeypatch.setattr(socket, "create_connection", pytest.fail)
    with contextmanager(served_zone)(monkeypatch) as zone:
        zone.set("inbox.test", ("MX", "10 mx.inbox.test"))
        zone.set("mx.inbox.test", ("A", "198.100.1.1"))
        message = OutboundMessage("a@b.test", "ann@inbox.test", b"x")
        outcome = transport(replace(DEFAULT, **changes)).deliver(message, commit_at_once)
    assert isinstance(outcome, Failed)
    assert outcome.bounce_class == ADMIN_FAILURE
    assert outcome.reply.endswith(f"without --deliver (DELIVER=true), so none to {host}")


def test_mail_to_this_machine_is_delivered_where_none_may_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ScriptedServer() as host:
        monkeypatch.setenv("SMARTHOST", f"127.0.0.1:{host.port}")
        monkeypatch.setenv("DELIVER", "false")
        settings.cache_clear()
        message = OutboundMessage("a@b.test", "ann@inbox.test", b"x")
        assert transport(DEFAULT).deliver(message, commit_at_once).code == 250
        transport(DEFAULT).close()


@pytest.mark.usefixtures("cloud")
def test_direct_mail_does_not_go_to_private_addresses_by_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRANSPORT", "mx")
    with contextmanager(served_zone)(monkeypatch) as zone:
        zone.set("inbox.test", ("A", "127.0.0.1"))
        message = OutboundMessage("a@b.test", "ann@inbox.test", b"x")
        outcome = transport(DEFAULT).deliver(message, commit_at_once)
    assert isinstance(outcome, Failed)
    assert "no public address" in outcome.reply


def test_each_message_leaves_by_its_own_route_and_the_journal_names_it(tmp_path: Path) -> None:
    with ScriptedServer() as one, ScriptedServer() as two:
        routes = [
            Route("new", "192.0.2.1", "127.0.0.2", "mta1.test", f"127.0.0.1:{one.port}"),
            Route("new", "192.0.2.1", "127.0.0.2", "mta1.test", f"127.0.0.1:{one.port}"),
            Route("spare", "192.0.2.2", None, "mta2.test", f"127.0.0.1:{two.port}"),
        ]
        journal = FileJournal(tmp_path, UNIT)
        messages = [message(index) for index in range(3)]
        commits = UnitCommits(journal)
        attempt_all(list(map(Departure, messages, routes)), commits, until=clock.monotonic() + 20)
        entries = commits.entries
    assert (len(one.contents), len(two.contents)) == (2, 1)
    assert {each.client for each in one.conversations} == {"127.0.0.2"}
    assert two.conversations[0].client == "127.0.0.1"
    assert "EHLO mta1.test" in one.conversations[0].commands
    assert "EHLO mta2.test" in two.conversations[0].commands
    assert entries == journal.entries(first=True)
    routes_in_journal = [entries[index]["route"] for index in range(3)]
    assert routes_in_journal == [each.event_fields() for each in routes]


@pytest.mark.usefixtures("cloud")
def test_the_pool_of_a_batch_says_which_ips_its_messages_leave_by() -> None:
    make_pool("Spare")
    make_pool("New", auto_warmup_overflow_pool="spare")
    add(an_ip(2, "spare"), warming(1, "new"))
    batch = batch_by("NEW", 250)
    routes = routes_of(batch, batch.messages)
    assert [each.sending_ip for each in routes] == ["192.0.2.1"] * 200 + ["192.0.2.2"] * 50


@pytest.mark.usefixtures("cloud")
def test_messages_that_are_tried_again_leave_by_the_same_ip() -> None:
    add(*(an_ip(last) for last in range(1, 9)))
    batch = batch_by("default", 1)
    (first,) = routes_of(batch, batch.messages[:1])
    for unit in (UNIT.deferred, UNIT.continued.deferred.deferred):
        assert routes_of(replace(batch, unit=unit), batch.messages[:1]) == [first]


@pytest.mark.spec("2.6-t5")
@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize("name", ["smtp", "mx"])
def test_mail_waits_while_its_pool_has_no_ip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TRANSPORT", name)
    settings.cache_clear()
    make_pool("Fast")
    add(an_ip(1))
    batch = batch_by("fast", 2)
    departures = plan(batch, batch.messages)
    assert [each.path for each in departures.here] == ["", ""]
    commits = UnitCommits(FileJournal(tmp_path, UNIT))
    attempt_all(departures.here, commits, until=clock.monotonic() + 20)
    for entry in commits.entries.values():
        assert entry["route"] == {"ip_pool": "fast"}
        assert entry["outcome"]["outcome"] == "retry"
        assert entry["outcome"]["reply"] == "4.3.0 [internal] IP pool 'fast' has no sending IP"
    assert len(commits.entries) == 2


@pytest.mark.spec("2.6-t5")
@pytest.mark.usefixtures("cloud")
def test_mail_that_waits_for_its_ip_does_not_leave_by_it_from_another_pool() -> None:
    make_pool("Fast")
    add(an_ip(1, "fast"), an_ip(2, "fast"), an_ip(3))
    batch = batch_by("fast", 1)
    pending = [replace(batch.messages[0], sending_ip="192.0.2.1")]
    assert routes_of(batch, pending)[0].sending_ip == "192.0.2.1"
    move = IpChange(ip_pool="default")
    fleets.change(1, lambda fleet: with_changed_ip(fleet, "192.0.2.1", move, 0))
    assert routes_of(batch, pending)[0].sending_ip == "192.0.2.2"


@pytest.mark.cost
@pytest.mark.usefixtures("cloud")
def test_routing_reads_once_for_an_account_without_sending_ips() -> None:
    with aws_requests() as requests:
        for _ in range(3):
            batch = batch_by("default", 100)
            routes_of(batch, batch.messages)
    assert [each.operation for each in requests] == ["GetItem"]
