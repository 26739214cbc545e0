"""Only signed answers count, and a missing answer is no answer."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.resolver
import pytest

from chalicelib.delivery.dane.lookup import Dane
from chalicelib.delivery.dane.records import HostRecords, Unknown
from chalicelib.delivery.transports.mx_hosts import MailHosts
from tests.unit.moving_clock import moving_clock

DOMAIN, HOST = "example.test", "mx.example.test"
TLSA = f"_25._tcp.{HOST}"
RECORD = SimpleNamespace(usage=3, selector=1, mtype=1, cert=bytes(32))


class Answer(list[Any]):
    """The answer to a query; `name` is where its aliases lead."""

    def __init__(self, *records: Any, signed: bool = True, name: str = HOST) -> None:
        super().__init__(records)
        self.response = response(signed)
        self.canonical_name = dns.name.from_text(name)


def response(signed: bool) -> dns.message.Message:
    message = dns.message.Message(1)
    message.flags = dns.flags.AD if signed else dns.flags.Flag(0)
    return message


class Resolver:
    """Answers by type of record; what it has no answer to does not exist."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {
            "MX": Answer(SimpleNamespace(preference=10, exchange=f"{HOST}.")),
            "A": Answer(SimpleNamespace(address="192.0.2.1")),
            "TLSA": Answer(RECORD),
        } | answers
        self.queries: list[tuple[str, str]] = []

    def resolve(self, name: str, kind: str) -> Any:
        self.queries.append((name, kind))
        answer = self.answers.get(kind)
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            raise no_answer()
        return answer


def no_answer(signed: bool = True) -> dns.resolver.NoAnswer:
    message = response(signed)
    message.question = dns.message.make_query(HOST, "A").question
    return dns.resolver.NoAnswer(response=message)


def no_name(signed: bool = True) -> dns.resolver.NXDOMAIN:
    name = dns.name.from_text(HOST)
    return dns.resolver.NXDOMAIN(qnames=[name], responses={name: response(signed)})


def test_a_host_with_signed_records_is_protected() -> None:
    records = Dane(Resolver()).of(DOMAIN)
    assert records.protects
    host = records.of(HOST)
    assert isinstance(host, HostRecords)
    assert [(each.usage, each.selector, each.matching) for each in host.records] == [(3, 1, 1)]
    assert (host.name, host.names) == (HOST, (HOST, DOMAIN))


@pytest.mark.parametrize("kind", ["MX", "A", "TLSA"])
def test_one_answer_that_is_not_signed_is_enough_for_nothing(kind: str) -> None:
    resolver = Resolver()
    resolver.answers[kind].response.flags = dns.flags.Flag(0)
    records = Dane(resolver).of(DOMAIN)
    assert not records.protects
    assert records.of(HOST) is None


def test_nothing_is_asked_of_a_host_whose_addresses_are_not_signed() -> None:
    resolver = Resolver(A=Answer(RECORD, signed=False), TLSA=dns.resolver.NoNameservers())
    assert Dane(resolver).of(DOMAIN).of(HOST) is None
    assert (TLSA, "TLSA") not in resolver.queries


@pytest.mark.parametrize("answer", [no_answer(), no_name(), no_name(signed=False)])
def test_a_host_without_records_is_not_protected(answer: Exception) -> None:
    assert not Dane(Resolver(TLSA=answer)).of(DOMAIN).protects


@pytest.mark.parametrize("failure", [dns.resolver.NoNameservers(), dns.exception.Timeout()])
def test_without_an_answer_about_records_nothing_may_be_sent(failure: Exception) -> None:
    assert isinstance(Dane(Resolver(TLSA=failure)).of(DOMAIN).of(HOST), Unknown)
    assert isinstance(Dane(Resolver(A=failure, AAAA=failure)).of(DOMAIN).of(HOST), Unknown)


@pytest.mark.parametrize("failure", [dns.resolver.NoNameservers(), dns.exception.Timeout()])
def test_without_an_answer_about_hosts_nothing_may_be_sent_to_one(failure: Exception) -> None:
    """They may be found a moment later, by another query."""
    resolver = Resolver(MX=failure)
    dane = Dane(resolver)
    records = dane.of(DOMAIN)
    assert records.protects
    assert isinstance(records.of(HOST), Unknown)
    resolver.answers |= Resolver().answers
    assert isinstance(dane.of(DOMAIN).of(HOST), HostRecords)


def test_the_hosts_are_those_that_mail_goes_to_whatever_their_order() -> None:
    numbers = range(20)
    records = [
        SimpleNamespace(preference=20 - n // 4, exchange=f"mx{n}.example.test.") for n in numbers
    ]
    looked_up = Dane(Resolver(MX=Answer(*records))).of(DOMAIN).hosts
    for _ in range(5):
        resolver = SimpleNamespace(resolve=lambda *_: random.sample(records, 20))
        assert set(MailHosts(resolver).hosts_of(DOMAIN)) == set(looked_up)
    assert {f"mx{n}.example.test" for n in numbers[-8:]} < set(looked_up)


@pytest.mark.parametrize("answer", [no_answer(), no_name()])
def test_a_domain_without_mx_records_is_its_own_host(answer: Exception) -> None:
    assert isinstance(Dane(Resolver(MX=answer)).of(HOST).of(HOST), HostRecords)


def test_unusable_records_still_ask_for_tls() -> None:
    unusable = SimpleNamespace(usage=1, selector=1, mtype=1, cert=bytes(32))
    records = Dane(Resolver(TLSA=Answer(unusable))).of(DOMAIN)
    assert records.protects
    host = records.of(HOST)
    assert isinstance(host, HostRecords)
    assert host.records == ()


def test_the_records_of_another_port_have_another_name() -> None:
    resolver = Resolver()
    Dane(resolver, 2525).of(DOMAIN)
    assert (f"_2525._tcp.{HOST}", "TLSA") in resolver.queries


def test_records_are_looked_up_once_a_minute() -> None:
    resolver = Resolver()
    dane = Dane(resolver)
    with moving_clock(1_769_850_000) as clock:
        dane.of(DOMAIN)
        first = len(resolver.queries)
        dane.of(DOMAIN)
        assert len(resolver.queries) == first
        clock.passes(61)
        dane.of(DOMAIN)
    assert len(resolver.queries) == 2 * first
