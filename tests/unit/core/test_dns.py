"""Lookups at a real DNS server on loopback."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from dns.resolver import NoNameservers

from chalicelib.core import dns
from chalicelib.core.settings import settings
from tests.unit.zones import Zone, served_zone


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    yield from served_zone(monkeypatch)


def test_the_strings_of_a_txt_record_are_joined(zone: Zone) -> None:
    zone.set("a.test", ("TXT", "x" * 700), ("TXT", "second"))
    assert sorted(dns.texts("a.test")) == ["second", "x" * 700]


def test_case_and_final_dot_of_names_do_not_matter(zone: Zone) -> None:
    zone.set("a.test", ("CNAME", "Host.B.test"))
    assert list(dns.aliases("A.Test")) == list(dns.aliases("a.test.")) == ["host.b.test"]


def test_a_chain_of_aliases_is_followed_link_by_link(zone: Zone) -> None:
    zone.set("a.test", ("CNAME", "b.test"))
    zone.set("b.test", ("CNAME", "c.test"))
    zone.set("c.test", ("A", "127.0.0.1"))
    assert list(dns.aliases("a.test")) == ["b.test", "c.test"]


def test_a_link_of_a_chain_is_looked_up_only_when_it_is_needed(zone: Zone) -> None:
    zone.set("a.test", ("CNAME", "b.test"))
    assert next(dns.aliases("a.test")) == "b.test"
    assert zone.queries == ["a.test"]


def test_a_chain_of_aliases_has_a_longest_length(zone: Zone) -> None:
    zone.set("a.test", ("CNAME", "b.test"))
    zone.set("b.test", ("CNAME", "a.test"))
    assert list(dns.aliases("a.test")) == ["b.test", "a.test"]
    for number in range(30):
        zone.set(f"n{number}.test", ("CNAME", f"n{number + 1}.test"))
    assert len(list(dns.aliases("n0.test"))) == 8


def test_a_text_behind_an_alias_is_found(zone: Zone) -> None:
    zone.set("s._domainkey.a.test", ("CNAME", "key.b.test"))
    zone.set("key.b.test", ("TXT", "v=DKIM1; p=x"))
    assert dns.texts("s._domainkey.a.test") == ["v=DKIM1; p=x"]


def test_mail_hosts_come_in_order_of_preference(zone: Zone) -> None:
    zone.set("a.test", ("MX", "20 second.test"), ("MX", "5 First.test"))
    assert dns.mail_hosts("a.test") == ["first.test", "second.test"]


def test_addresses_of_both_families_are_found(zone: Zone) -> None:
    zone.set("a.test", ("AAAA", "::1"), ("A", "127.0.0.1"))
    assert dns.addresses("a.test") == ["127.0.0.1", "::1"]


@pytest.mark.parametrize(("silent", "address"), [("AAAA", "192.0.2.1"), ("A", "2001:db8::1")])
def test_addresses_of_one_ip_version_are_enough(
    zone: Zone, monkeypatch: pytest.MonkeyPatch, silent: str, address: str
) -> None:
    zone.set("a.test", ("A", "192.0.2.1"), ("AAAA", "2001:db8::1"))
    real = dns.new_resolver()

    class HalfDeaf:
        def resolve(self, name: str, kind: str, **how: Any) -> Any:
            if kind == silent:
                raise NoNameservers
            return real.resolve(name, kind, **how)

    monkeypatch.setattr(dns, "_resolver", lambda *_: HalfDeaf())
    assert dns.addresses("a.test") == [address]
    zone.set("a.test", ("TXT", "no address"))
    with pytest.raises(dns.LookupFailed):
        dns.addresses("a.test")


def test_a_name_that_does_not_exist_or_lacks_the_type_has_no_records(zone: Zone) -> None:
    zone.set("a.test", ("A", "127.0.0.1"))
    for name in ("a.test", "b.test", "example.com"):
        assert dns.texts(name) == []
        assert list(dns.aliases(name)) == []
        assert dns.mail_hosts(name) == []


def test_a_failing_server_is_a_failed_lookup(zone: Zone) -> None:
    zone.failing.add("a.test")
    with pytest.raises(dns.LookupFailed, match=r"no answer for a\.test \(NoNameservers\)"):
        dns.texts("a.test")


def test_a_name_that_dns_cannot_hold_is_a_failed_lookup(zone: Zone) -> None:
    for name in ("x" * 70 + ".test", ".".join(["x" * 60] * 5), "a..test"):
        with pytest.raises(dns.LookupFailed):
            dns.texts(name)


def test_a_silent_server_is_waited_for_no_longer_than_the_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        monkeypatch.setenv("DNS_SERVERS", f"127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("DNS_TIMEOUT", "0.1")
        monkeypatch.setenv("DNS_LIFETIME", "0.3")
        settings.cache_clear()
        began = time.monotonic()
        with pytest.raises(dns.LookupFailed, match="LifetimeTimeout"):
            dns.texts("a.test")
        assert time.monotonic() - began < 60, "dnspython's own limit is far longer"
    settings.cache_clear()


def test_a_second_server_answers_for_a_first_that_is_down(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    both = f"127.0.0.1:{port}, {settings().dns_servers}"
    monkeypatch.setenv("DNS_SERVERS", both)
    monkeypatch.setenv("DNS_TIMEOUT", "0.2")
    settings.cache_clear()
    zone.set("a.test", ("TXT", "here"))
    assert dns.texts("a.test") == ["here"]


def test_without_a_setting_the_resolvers_of_the_host_are_asked() -> None:
    assert dns._resolver("", 1.5, 3.0).timeout == 1.5
