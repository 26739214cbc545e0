"""The mx transport delivers to hosts on loopback, which a fake DNS names."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

from chalicelib.core.tls_results import (
    INVALID,
    NO_POLICY,
    NO_STARTTLS,
    STS,
    STS_FETCH_ERROR,
)
from chalicelib.delivery.dane.records import (
    NOTHING,
    DomainRecords,
    HostRecords,
    TlsaRecord,
    Unknown,
)
from chalicelib.delivery.mta_sts.policy import Mode, Policy, PolicyUnavailable
from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry
from chalicelib.delivery.tls_reports.session_result import SessionResult
from chalicelib.delivery.transports import OutboundMessage, Transport, commit_at_once
from chalicelib.delivery.transports.mx import MOST_ADDRESSES, MxTransport
from chalicelib.delivery.transports.smtp_opening import SessionOptions
from chalicelib.delivery.transports.smtp_wire import Timeouts
from tests.unit.delivery.scripted_server import STANDARD, Answers, ScriptedServer, certificate
from tests.unit.delivery.transports.test_mx_hosts import FakeResolver

OPTIONS = SessionOptions(timeouts=Timeouts(5, 5, 5, 5, 5))


def message(domain: str = "example.net", source_address: str | None = None) -> OutboundMessage:
    return OutboundMessage(
        "a@example.com", f"b@{domain}", b"Subject: x\r\n\r\nx\r\n", source_address
    )


@contextmanager
def two_hosts(first: Answers, second: Answers) -> Iterator[list[ScriptedServer]]:
    """Run two hosts on the same port of two loopback addresses."""
    with ExitStack() as stack:
        one = stack.enter_context(ScriptedServer(answers=first, host="127.0.0.1"))
        two = ScriptedServer(answers=second, host="127.0.0.2", port=one.port)
        yield [one, stack.enter_context(two)]


def transport_to(port: int, *addresses: str, allow_private: bool = True) -> MxTransport:
    """Return a transport that finds the addresses, in order, as the hosts of example.net."""
    resolver = FakeResolver(
        {
            ("example.net", "MX"): [f"{n} mx{n}.test." for n in range(len(addresses))],
            ("example.org", "MX"): ["10 mx0.test."],
            **{(f"mx{n}.test", "A"): [address] for n, address in enumerate(addresses)},
        }
    )
    return MxTransport(
        resolver, OPTIONS, ehlo_name="client.test", port=port, allow_private=allow_private
    )


def test_a_message_goes_to_the_best_host() -> None:
    with two_hosts({}, {}) as (one, two):
        transport: Transport = transport_to(one.port, "127.0.0.1", "127.0.0.2")
        outcome = transport.deliver(message(), commit_at_once)
        transport.close()
    assert outcome == Delivered(250, "2.0.0 taken", "127.0.0.1", None)
    assert len(one.contents) == 1
    assert not two.conversations


@pytest.mark.parametrize(
    "answers", [{"CONNECT": [b"421 4.3.2 busy\r\n"]}, {"EHLO": [b"450 4.3.2 busy\r\n"]}]
)
def test_the_next_host_is_tried_when_one_is_busy(answers: Answers) -> None:
    with two_hosts(answers, {}) as (one, two):
        transport = transport_to(one.port, "127.0.0.1", "127.0.0.2")
        outcome = transport.deliver(message(), commit_at_once)
        transport.close()
    assert outcome.ip_address == "127.0.0.2"
    assert len(two.contents) == 1


def test_the_next_host_is_tried_when_one_is_unreachable() -> None:
    with ScriptedServer(host="127.0.0.2") as host:
        transport = transport_to(host.port, "127.0.0.3", "127.0.0.2")
        outcome = transport.deliver(message(), commit_at_once)
        transport.close()
    assert outcome.ip_address == "127.0.0.2"


LISTED: Answers = {"CONNECT": [b"554 5.7.1 192.0.2.1 is listed at dnsbl.test\r\n"]}


def test_the_next_host_is_tried_when_one_refuses_the_session() -> None:
    with two_hosts(LISTED, {}) as (one, two):
        transport = transport_to(one.port, "127.0.0.1", "127.0.0.2")
        outcome = transport.deliver(message(), commit_at_once)
        transport.close()
    assert isinstance(outcome, Delivered)
    assert len(two.contents) == 1


def test_if_all_hosts_refuse_permanently_the_reply_of_the_best_host_counts() -> None:
    with two_hosts(LISTED, {"CONNECT": [b"521 5.3.2 no mail here\r\n"]}) as (one, _):
        outcome = transport_to(one.port, "127.0.0.1", "127.0.0.2").deliver(
            message(), commit_at_once
        )
    assert outcome == Failed(554, "5.7.1 192.0.2.1 is listed at dnsbl.test", 51, "127.0.0.1", None)


def test_a_message_is_tried_again_while_one_host_failed_temporarily() -> None:
    with two_hosts({"CONNECT": [b"421 4.3.2 busy\r\n"]}, LISTED) as (one, _):
        outcome = transport_to(one.port, "127.0.0.1", "127.0.0.2").deliver(
            message(), commit_at_once
        )
    assert outcome == Retry(421, "4.3.2 busy", 70, "127.0.0.1", None)


@pytest.mark.parametrize(
    ("reply", "kind"), [(b"451 4.7.1 greylisted\r\n", Retry), (b"550 5.1.1 no\r\n", Failed)]
)
def test_no_other_host_is_tried_after_a_reply_to_the_message(
    reply: bytes, kind: type[Retry | Failed]
) -> None:
    with two_hosts({"RCPT": [reply]}, {}) as (one, two):
        outcome = transport_to(one.port, "127.0.0.1", "127.0.0.2").deliver(
            message(), commit_at_once
        )
    assert isinstance(outcome, kind)
    assert not two.conversations


def test_hosts_that_all_fail_are_a_retry_with_the_last_reason() -> None:
    with two_hosts({"CONNECT": [b"421 busy\r\n"]}, {"CONNECT": [b"421 later\r\n"]}) as (one, _):
        outcome = transport_to(one.port, "127.0.0.1", "127.0.0.2").deliver(
            message(), commit_at_once
        )
    assert outcome == Retry(421, "later", 70, "127.0.0.2", None)


def test_an_international_domain_is_looked_up_as_it_was_registered() -> None:
    with ScriptedServer() as host:
        resolver = FakeResolver(
            {("xn--fa-hia.example", "MX"): ["0 mx0.test."], ("mx0.test", "A"): ["127.0.0.1"]}
        )
        transport = MxTransport(resolver, OPTIONS, port=host.port, allow_private=True)
        outcome = transport.deliver(message("fa\u00df.example"), commit_at_once)
        transport.close()
    assert isinstance(outcome, Delivered)


def test_the_number_of_addresses_that_are_tried_is_limited() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    tried: list[str] = []
    transport = transport_to(port, *(f"127.0.1.{n}" for n in range(9)))
    real = socket.create_connection

    def noted(address: tuple[str, int], *rest: object) -> socket.socket:
        tried.append(address[0])
        return real(address, *rest)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "create_connection", noted)
        outcome = transport.deliver(message(), commit_at_once)
    assert isinstance(outcome, Retry)
    assert len(tried) == MOST_ADDRESSES


def test_messages_to_a_domain_share_a_connection_and_its_lookups() -> None:
    with ScriptedServer() as host:
        transport = transport_to(host.port, "127.0.0.1")
        for domain in ("example.net", "EXAMPLE.net", "example.org"):
            assert transport.deliver(message(domain), commit_at_once).code == 250
        transport.close()
    assert [len(each.contents) for each in host.conversations] == [2, 1]


def test_tls_is_used_where_offered_whoever_signed_the_certificate() -> None:
    with ScriptedServer(extensions=(*STANDARD, "STARTTLS"), tls=certificate()[0]) as host:
        transport = transport_to(host.port, "127.0.0.1")
        outcome = transport.deliver(message(), commit_at_once)
        transport.close()
    assert outcome.tls == "TLSv1.3"


def test_a_broken_handshake_falls_back_to_the_clear() -> None:
    with ScriptedServer(
        extensions=(*STANDARD, "STARTTLS"),
        tls=certificate()[0],
        answers={"STARTTLS": [b"220 ready\r\nnot a handshake"]},
    ) as host:
        transport = transport_to(host.port, "127.0.0.1")
        outcome = transport.deliver(message(), commit_at_once)
        transport.close()
    assert (outcome.code, outcome.tls) == (250, None)


def test_loopback_is_not_connected_to_unless_allowed() -> None:
    with ScriptedServer() as host:
        transport = transport_to(host.port, "127.0.0.1", allow_private=False)
        outcome = transport.deliver(message(), commit_at_once)
    assert isinstance(outcome, Failed)
    assert outcome.bounce_class == 21
    assert not host.conversations


def test_a_domain_that_does_not_exist_fails() -> None:
    outcome = transport_to(25, "127.0.0.1").deliver(message("missing.test"), commit_at_once)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.bounce_class) == (550, 21)


def test_a_message_leaves_from_the_address_of_its_pool() -> None:
    with ScriptedServer() as host:
        transport = transport_to(host.port, "127.0.0.1")
        transport.deliver(message(source_address="127.0.0.9"), commit_at_once)
        transport.close()
    assert host.conversations[0].client == "127.0.0.9"


def test_an_address_that_this_host_does_not_have_is_named() -> None:
    outcome = transport_to(25, "127.0.0.1").deliver(
        message(source_address="192.0.2.9"), commit_at_once
    )
    assert isinstance(outcome, Retry)
    assert "this host has no address 192.0.2.9 to send from" in outcome.reply


def under_policy(mode: Mode, host: str, port: int) -> MxTransport:
    """Return a transport to the host of example.net and example.org; the former has a policy."""
    resolver = FakeResolver(
        {
            ("example.net", "MX"): ["10 localhost."],
            ("example.org", "MX"): ["10 localhost."],
            ("localhost", "A"): ["127.0.0.1"],
        }
    )
    policies = {"example.net": Policy(mode, (host,), 60)}
    return MxTransport(resolver, OPTIONS, port=port, allow_private=True, policy_of=policies.get)


@pytest.mark.parametrize(
    ("extensions", "host", "reason"),
    [
        ((*STANDARD, "STARTTLS"), "localhost", "self-signed certificate"),
        (STANDARD, "localhost", "does not offer STARTTLS"),
        ((*STANDARD, "STARTTLS"), "mx.example.net", "names none of its mail hosts"),
    ],
)
def test_mail_waits_while_a_host_breaks_an_enforced_policy(
    extensions: tuple[str, ...], host: str, reason: str
) -> None:
    with ScriptedServer(extensions=extensions, tls=certificate()[0]) as server:
        transport = under_policy(Mode.ENFORCE, host, server.port)
        outcome = transport.deliver(message(), commit_at_once)
        transport.close()
    assert isinstance(outcome, Retry)
    assert (outcome.code, outcome.bounce_class) == (454, 20)
    assert reason in outcome.reply
    assert "MTA-STS policy of example.net" in outcome.reply
    assert server.contents == []


@pytest.mark.parametrize("mode", [Mode.TESTING, Mode.NONE])
def test_mail_leaves_where_a_policy_is_not_enforced(mode: Mode) -> None:
    with ScriptedServer() as server:
        transport = under_policy(mode, "mx.example.net", server.port)
        outcome = transport.deliver(message(), commit_at_once)
        transport.close()
    assert isinstance(outcome, Delivered)


def test_a_session_without_checks_is_not_used_for_a_domain_with_a_policy() -> None:
    with ScriptedServer() as server:
        transport = under_policy(Mode.ENFORCE, "localhost", server.port)
        shared = [
            replace(message(domain), hosts="localhost", path="host.test|")
            for domain in ("example.org", "example.net")
        ]
        outcomes = [transport.deliver(each, commit_at_once) for each in shared]
        transport.close()
    assert [type(each) for each in outcomes] == [Delivered, Retry]


def test_a_session_without_checks_is_not_used_for_a_domain_with_tlsa_records() -> None:
    """Two domains have the same host; only the zone of one of them is signed."""
    host = HostRecords("localhost", (TlsaRecord(3, 1, 1, bytes(32)),), ("localhost",))
    records = {"example.net": DomainRecords({"localhost": host})}
    resolver = FakeResolver(
        {
            **{(name, "MX"): ["10 localhost."] for name in ("example.net", "example.org")},
            ("localhost", "A"): ["127.0.0.1"],
        }
    )
    with ScriptedServer() as server:
        transport = MxTransport(
            resolver,
            OPTIONS,
            port=server.port,
            allow_private=True,
            records_of=lambda domain: records.get(domain, NOTHING),
        )
        shared = [
            replace(message(domain), hosts="localhost", path="host.test|")
            for domain in ("example.org", "example.net")
        ]
        outcomes = [transport.deliver(each, commit_at_once) for each in shared]
        transport.close()
    assert [type(each) for each in outcomes] == [Delivered, Retry]


def test_a_report_of_how_tls_fails_is_sent_however_it_fails() -> None:
    results: list[SessionResult] = []
    with ScriptedServer() as host:  # without STARTTLS
        transport = MxTransport(
            FakeResolver({("example.net", "MX"): ["1 mx0.test."], ("mx0.test", "A"): [host.host]}),
            OPTIONS,
            port=host.port,
            allow_private=True,
            policy_of=lambda _: Policy(Mode.ENFORCE, ("mx0.test",), 60),
            records_of=lambda _: DomainRecords({"mx0.test": Unknown("no answer")}),
            observe=results.append,
        )
        report = replace(message(), is_tls_report=True)
        assert isinstance(transport.deliver(report, commit_at_once), Delivered)
        assert results == []
        assert isinstance(transport.deliver(message(), commit_at_once), Retry)
        transport.close()
    assert len(results) == 1


def test_a_policy_that_names_no_host_is_reported_without_one() -> None:
    results: list[SessionResult] = []
    policy = Policy(Mode.ENFORCE, ("elsewhere.test",), 60)
    transport = MxTransport(
        FakeResolver({("example.net", "MX"): ["1 mx0.test."], ("mx0.test", "A"): ["127.0.0.1"]}),
        OPTIONS,
        allow_private=True,
        policy_of=lambda _: policy,
        observe=results.append,
    )
    assert isinstance(transport.deliver(message(), commit_at_once), Retry)
    about = ("", "", policy.lines, policy.hosts)
    assert results == [SessionResult("example.net", STS, INVALID, *about)]


@pytest.mark.parametrize(
    ("extensions", "kind"),
    [((*STANDARD, "STARTTLS"), STS_FETCH_ERROR), (STANDARD, NO_STARTTLS)],
)
def test_a_policy_that_cannot_be_had_holds_nothing_back_and_is_reported(
    extensions: tuple[str, ...], kind: str
) -> None:
    results: list[SessionResult] = []
    with ScriptedServer(extensions=extensions, tls=certificate()[0]) as host:
        transport = MxTransport(
            FakeResolver({("example.net", "MX"): ["1 mx0.test."], ("mx0.test", "A"): [host.host]}),
            OPTIONS,
            port=host.port,
            allow_private=True,
            policy_of=lambda _: PolicyUnavailable(STS_FETCH_ERROR),
            observe=results.append,
        )
        assert isinstance(transport.deliver(message(), commit_at_once), Delivered)
        transport.close()
    assert results == [SessionResult("example.net", STS, kind, "mx0.test", host.host)]


def test_a_session_that_fell_back_to_the_clear_is_a_failure() -> None:
    results: list[SessionResult] = []
    with ScriptedServer(
        answers={"STARTTLS": [b"454 4.7.0 not now\r\n"]}, tls=certificate()[0]
    ) as host:
        transport = MxTransport(
            FakeResolver({("example.net", "MX"): ["1 mx0.test."], ("mx0.test", "A"): [host.host]}),
            OPTIONS,
            port=host.port,
            allow_private=True,
            observe=results.append,
        )
        assert isinstance(transport.deliver(message(), commit_at_once), Delivered)
        transport.close()
    assert [(each.policy_type, each.kind) for each in results] == [(NO_POLICY, NO_STARTTLS)]


def test_a_host_that_cannot_be_reached_says_nothing_about_tls() -> None:
    results: list[SessionResult] = []
    transport = MxTransport(
        FakeResolver({("example.net", "MX"): ["1 mx0.test."], ("mx0.test", "A"): ["127.0.0.1"]}),
        OPTIONS,
        port=1,
        allow_private=True,
        observe=results.append,
    )
    assert isinstance(transport.deliver(message(), commit_at_once), Retry)
    assert results == []


@contextmanager
def moved_domain(port: int) -> Iterator[MxTransport]:
    """Open a transport; example.org had the host of example.net and now names one of its own."""
    resolver = FakeResolver(
        {
            ("example.net", "MX"): ["10 mx0.test."],
            ("example.com", "MX"): ["10 mx0.test."],
            ("example.org", "MX"): ["10 MX1.test."],
            ("mx0.test", "A"): ["127.0.0.1"],
            ("mx1.test", "A"): ["127.0.0.2"],
        }
    )
    transport = MxTransport(resolver, OPTIONS, port=port, allow_private=True)
    yield transport
    transport.close()


def test_a_domain_that_changes_its_hosts_gets_no_mail_of_those_that_still_have_them() -> None:
    with two_hosts({}, {}) as (one, two), moved_domain(one.port) as transport:
        for domain in ("example.org", "example.net", "example.com"):
            shared = replace(message(domain), hosts="mx0.test", path="host.test|")
            assert isinstance(transport.deliver(shared, commit_at_once), Delivered)
    assert (len(one.contents), len(two.contents)) == (2, 1)
    assert len(one.conversations) == 1


def test_only_answers_of_the_named_hosts_are_told() -> None:
    answers: list[Outcome] = []
    with two_hosts({}, {}) as (one, _), moved_domain(one.port) as transport:
        for domain, hosts in [("example.org", "mx0.test"), ("example.org", "mx1.test")]:
            shared = replace(message(domain), hosts=hosts, on_answer=answers.append)
            transport.deliver(shared, commit_at_once)
    assert [answer.ip_address for answer in answers] == ["127.0.0.2"]
