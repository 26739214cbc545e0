"""Mail hosts are looked up in a fake DNS."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from types import SimpleNamespace

import dns.exception
import dns.message
import dns.resolver
import pytest

from chalicelib.core.ip_addresses import is_public
from chalicelib.delivery.outcome import Failed, Retry
from chalicelib.delivery.transports.mx_hosts import MOST_HOSTS, MailHosts, Unroutable


@dataclass
class FakeResolver:
    """Answers from a dict of (name, type); an exception is raised, an absent name is NXDOMAIN."""

    records: dict[tuple[str, str], list[str] | Exception]

    def __post_init__(self) -> None:
        self.queries: list[tuple[str, str]] = []

    def resolve(self, qname: str, rdtype: str) -> list[SimpleNamespace]:
        self.queries.append((qname, rdtype))
        answer = self.records.get((qname, rdtype))
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            exists = any(name == qname for name, _ in self.records)
            if not exists:
                raise dns.resolver.NXDOMAIN()
            raise dns.resolver.NoAnswer(response=dns.message.make_query(qname, rdtype))
        if rdtype != "MX":
            return [SimpleNamespace(address=address) for address in answer]
        pairs = (record.split(" ") for record in answer)
        return [SimpleNamespace(preference=int(p), exchange=host) for p, host in pairs]


def addresses_of(
    records: dict[tuple[str, str], list[str] | Exception],
    source_address: str | None = None,
    *,
    allow_private: bool = False,
) -> list[tuple[str, str]]:
    hosts = MailHosts(FakeResolver(records), allow_private=allow_private)
    return list(hosts.addresses("example.net", hosts.hosts_of("example.net"), source_address))


def unroutable(
    records: dict[tuple[str, str], list[str] | Exception], source_address: str | None = None
) -> Retry | Failed:
    with pytest.raises(Unroutable) as excinfo:
        addresses_of(records, source_address)
    return excinfo.value.outcome


def test_hosts_come_in_the_order_of_their_preference() -> None:
    assert addresses_of(
        {
            ("example.net", "MX"): ["20 b.example.", "10 a.example.", "30 c.example."],
            ("a.example", "A"): ["8.8.8.1", "8.8.8.2"],
            ("b.example", "A"): ["8.8.8.3"],
            ("c.example", "AAAA"): ["2600::1"],
        }
    ) == [
        ("a.example", "8.8.8.1"),
        ("a.example", "8.8.8.2"),
        ("b.example", "8.8.8.3"),
        ("c.example", "2600::1"),
    ]


def test_hosts_of_equal_preference_take_turns() -> None:
    records: dict[tuple[str, str], list[str] | Exception] = {
        ("example.net", "MX"): ["10 a.example.", "10 b.example.", "20 c.example."],
        **{(f"{name}.example", "A"): ["8.8.8.8"] for name in "abc"},
    }
    orders = {tuple(host for host, _ in addresses_of(records)) for _ in range(60)}
    assert orders == {
        ("a.example", "b.example", "c.example"),
        ("b.example", "a.example", "c.example"),
    }


def test_a_domain_without_mx_records_is_its_own_host() -> None:
    assert addresses_of({("example.net", "A"): ["8.8.8.8"]}) == [("example.net", "8.8.8.8")]
    assert addresses_of({("example.net", "AAAA"): ["2600::8"]}) == [("example.net", "2600::8")]


def test_a_null_mx_fails_as_an_invalid_recipient() -> None:
    outcome = unroutable({("example.net", "MX"): ["0 ."], ("example.net", "A"): ["8.8.8.8"]})
    assert outcome == Failed(
        556, "5.1.10 [internal] example.net takes no mail (null MX)", 10, None, None
    )


def test_a_domain_that_does_not_exist_fails_as_a_dns_failure() -> None:
    outcome = unroutable({})
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.bounce_class) == (550, 21)


@pytest.mark.parametrize(
    "error",
    [
        dns.resolver.LifetimeTimeout(timeout=1.0, errors=[]),
        dns.resolver.NoNameservers(),
        dns.exception.DNSException(),
    ],
)
def test_a_dns_that_does_not_answer_is_a_retry(error: Exception) -> None:
    outcome = unroutable({("example.net", "MX"): error})
    assert isinstance(outcome, Retry)
    assert (outcome.code, outcome.bounce_class) == (451, 21)


def test_a_domain_without_any_host_is_a_retry() -> None:
    outcome = unroutable({("example.net", "TXT"): ["x"]})
    assert isinstance(outcome, Retry)
    assert (outcome.code, outcome.bounce_class) == (454, 21)


def test_a_host_that_cannot_be_found_is_passed_over() -> None:
    assert addresses_of(
        {
            ("example.net", "MX"): ["10 gone.example.", "20 broken.example.", "30 a.example."],
            ("broken.example", "A"): dns.resolver.NoNameservers(),
            ("a.example", "A"): ["8.8.8.8"],
        }
    ) == [("a.example", "8.8.8.8")]


def test_hosts_that_the_dns_cannot_look_up_are_a_retry() -> None:
    outcome = unroutable(
        {
            ("example.net", "MX"): ["10 gone.example.", "20 broken.example."],
            ("broken.example", "A"): dns.resolver.NoNameservers(),
        }
    )
    assert isinstance(outcome, Retry)
    assert outcome.code == 451


def test_hosts_that_do_not_exist_are_a_retry() -> None:
    outcome = unroutable({("example.net", "MX"): ["10 gone.example."]})
    assert isinstance(outcome, Retry)
    assert outcome.code == 454


@pytest.mark.parametrize("bad", ["x" * 70 + ".example", "a..example"])
def test_an_invalid_domain_name_fails(bad: str) -> None:
    class Strict:
        def resolve(self, qname: str, rdtype: str) -> list[SimpleNamespace]:
            raise AssertionError(dns.name.from_text(qname))

    with pytest.raises(Unroutable) as excinfo:
        MailHosts(Strict()).hosts_of(bad)
    assert isinstance(excinfo.value.outcome, Failed)


def test_the_source_address_chooses_the_family() -> None:
    records: dict[tuple[str, str], list[str] | Exception] = {
        ("example.net", "MX"): ["10 a.example."],
        ("a.example", "A"): ["8.8.8.8"],
        ("a.example", "AAAA"): ["2600::8"],
    }
    assert addresses_of(records, "203.0.113.1") == [("a.example", "8.8.8.8")]
    assert addresses_of(records, "2600::1") == [("a.example", "2600::8")]
    assert addresses_of(records) == [("a.example", "8.8.8.8"), ("a.example", "2600::8")]


def test_a_host_without_an_address_of_the_family_is_a_retry() -> None:
    records: dict[tuple[str, str], list[str] | Exception] = {
        ("example.net", "MX"): ["10 a.example."],
        ("a.example", "AAAA"): ["2600::8"],
    }
    assert isinstance(unroutable(records, "203.0.113.1"), Retry)


PRIVATE = [
    "127.0.0.1",
    "10.0.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "2001:0:1234::80ff:fffe",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_addresses_inside_a_network_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2600::1", "::ffff:8.8.8.8"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


def test_a_domain_that_points_inside_the_network_fails() -> None:
    outcome = unroutable(
        {
            ("example.net", "MX"): ["10 a.example."],
            ("a.example", "A"): ["127.0.0.1", "10.0.0.1"],
            ("a.example", "AAAA"): ["::1"],
        }
    )
    assert isinstance(outcome, Failed)
    assert outcome.bounce_class == 21


def test_private_addresses_are_passed_over_for_public_ones() -> None:
    records: dict[tuple[str, str], list[str] | Exception] = {
        ("example.net", "MX"): ["10 a.example."],
        ("a.example", "A"): ["10.0.0.1", "8.8.8.8"],
    }
    assert addresses_of(records) == [("a.example", "8.8.8.8")]
    assert len(addresses_of(records, allow_private=True)) == 2


def test_addresses_are_looked_up_when_it_is_their_turn() -> None:
    resolver = FakeResolver(
        {
            ("example.net", "MX"): ["10 a.example.", "20 b.example."],
            ("a.example", "A"): ["8.8.8.8"],
            ("b.example", "A"): ["8.8.4.4"],
        }
    )
    hosts = MailHosts(resolver)
    assert list(islice(hosts.addresses("example.net", hosts.hosts_of("example.net")), 1))
    assert resolver.queries == [("example.net", "MX"), ("a.example", "A")]


def test_a_domain_with_countless_hosts_is_not_looked_through() -> None:
    resolver = FakeResolver({("example.net", "MX"): [f"10 h{n}.example." for n in range(500)]})
    hosts = MailHosts(resolver)
    with pytest.raises(Unroutable):
        list(hosts.addresses("example.net", hosts.hosts_of("example.net")))
    assert len(resolver.queries) == 1 + 2 * MOST_HOSTS
