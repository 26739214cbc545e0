"""Query the local DNS server with dnspython."""

import socket
from collections.abc import Iterator
from types import SimpleNamespace

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.resolver
import pytest
from dnslib import DNSError, DNSRecord

from infrastructure.local.dns.resolver import Records, SourceResolver
from infrastructure.local.dns.server import DnsServer, QueryHandler

LONG_KEY = "v=DKIM1; k=rsa; p=" + "A" * 800


class Zone:
    """A source of records that fails for one name and records the lookups."""

    records: dict[str, Records] = {  # noqa: RUF012
        "key._domainkey.a.test": [("TXT", LONG_KEY)],
        "a.test": [("MX", "10 mx1.a.test"), ("MX", "20 mx2.a.test"), ("TXT", "v=spf1 -all")],
        "web.a.test": [("CNAME", "Host.a.test")],
        "host.a.test": [("A", "127.0.0.1"), ("AAAA", "::1")],
        "dangling.a.test": [("CNAME", "gone.a.test")],
        "outside.a.test": [("CNAME", "www.example.com")],
        "loop.a.test": [("CNAME", "loop.a.test")],
        "many.a.test": [("TXT", f"{number:02}" + "x" * 200) for number in range(20)],
        "wrong.a.test": [("MX", "no preference here")],
        "unpackable.a.test": [("CNAME", "x" * 70 + ".test")],
        "empty.a.test": [],
    }

    def __init__(self) -> None:
        self.lookups: list[str] = []

    def lookup(self, name: str) -> Records | None:
        self.lookups.append(name)
        if name == "failing.a.test":
            raise ConnectionError("the store is down")
        return self.records.get(name)


@pytest.fixture
def zone() -> Zone:
    return Zone()


@pytest.fixture
def server(zone: Zone) -> Iterator[DnsServer]:
    server = DnsServer("127.0.0.1", 0, zone)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def resolver(server: DnsServer) -> dns.resolver.Resolver:
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers, resolver.port, resolver.lifetime = ["127.0.0.1"], server.port, 3
    return resolver


def ask(server: DnsServer, name: str, rtype: str, **options: int) -> dns.message.Message:
    query = dns.message.make_query(name, rtype, **options)
    return dns.query.udp(query, "127.0.0.1", 120, server.port)


def test_mx_records_come_with_their_preference(resolver: dns.resolver.Resolver) -> None:
    answers = {(mx.preference, str(mx.exchange)) for mx in resolver.resolve("a.test", "MX")}
    assert answers == {(10, "mx1.a.test."), (20, "mx2.a.test.")}


def test_a_long_text_comes_in_strings_of_255_bytes(resolver: dns.resolver.Resolver) -> None:
    strings = resolver.resolve("key._domainkey.a.test", "TXT")[0].strings
    assert [len(part) for part in strings] == [255, 255, 255, len(LONG_KEY) - 765]
    assert b"".join(strings).decode() == LONG_KEY


def test_names_are_asked_for_in_any_case(resolver: dns.resolver.Resolver, zone: Zone) -> None:
    assert len(resolver.resolve("A.TeSt", "MX")) == 2
    assert zone.lookups == ["a.test"]


def test_a_cname_is_followed_to_the_type_asked_for(resolver: dns.resolver.Resolver) -> None:
    answers = resolver.resolve("web.a.test", "A")
    assert [str(address) for address in answers] == ["127.0.0.1"]
    assert str(answers.canonical_name).lower() == "host.a.test."
    assert [str(address) for address in resolver.resolve("web.a.test", "AAAA")] == ["::1"]


def test_a_cname_asked_for_is_not_followed(resolver: dns.resolver.Resolver, zone: Zone) -> None:
    assert str(resolver.resolve("web.a.test", "CNAME")[0].target) == "Host.a.test."
    assert zone.lookups == ["web.a.test"]


@pytest.mark.parametrize("name", ["dangling.a.test", "outside.a.test"])
def test_a_cname_to_an_unknown_name_gives_nxdomain_with_the_cname(
    server: DnsServer, name: str
) -> None:
    response = ask(server, name, "A")
    assert response.rcode() == dns.rcode.NXDOMAIN
    assert len(response.answer) == 1


def test_an_unknown_name_does_not_exist(resolver: dns.resolver.Resolver) -> None:
    with pytest.raises(dns.resolver.NXDOMAIN):
        resolver.resolve("b.test", "MX")


@pytest.mark.parametrize("name", ["a.com", "sub.a.com"])
def test_a_name_may_be_in_any_zone(
    resolver: dns.resolver.Resolver, zone: Zone, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with pytest.raises(dns.resolver.NXDOMAIN):
        resolver.resolve(name, "MX")
    monkeypatch.setitem(zone.records, name, [("CNAME", "a.test")])
    assert len(resolver.resolve(name, "MX")) == 2


@pytest.mark.parametrize("name", ["host.a.test", "empty.a.test"])
def test_a_known_name_without_the_type_has_no_answer(
    resolver: dns.resolver.Resolver, name: str
) -> None:
    with pytest.raises(dns.resolver.NoAnswer):
        resolver.resolve(name, "MX")


def test_a_response_too_long_for_udp_is_truncated_and_complete_by_tcp(server: DnsServer) -> None:
    truncated_response = ask(server, "many.a.test", "TXT", payload=4096)
    assert truncated_response.flags & dns.flags.TC
    assert not truncated_response.answer
    query = dns.message.make_query("many.a.test", "TXT")
    response, by_tcp = dns.query.udp_with_fallback(
        query, "127.0.0.1", timeout=120, port=server.port
    )
    assert by_tcp
    assert len(response.answer[0]) == 20


def test_a_dkim_key_fits_into_udp_with_edns_but_not_without(server: DnsServer) -> None:
    name = "key._domainkey.a.test"
    assert ask(server, name, "TXT", payload=1232).answer
    plain_response = ask(server, name, "TXT", use_edns=-1)
    assert plain_response.flags & dns.flags.TC
    assert plain_response.edns == -1


def test_one_tcp_connection_serves_several_queries(server: DnsServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as connection:
        for _ in range(2):
            query = dns.message.make_query("a.test", "MX")
            dns.query.send_tcp(connection, query)
            response, _ = dns.query.receive_tcp(connection)
            assert query.is_response(response)


@pytest.mark.parametrize(
    "name", ["failing.a.test", "wrong.a.test", "unpackable.a.test", "loop.a.test"]
)
def test_a_source_that_fails_gives_servfail_and_the_server_goes_on(
    server: DnsServer, name: str
) -> None:
    assert ask(server, name, "A" if "loop" in name else "MX").rcode() == dns.rcode.SERVFAIL
    assert ask(server, "a.test", "MX").rcode() == dns.rcode.NOERROR


def test_malformed_packets_are_ignored_and_the_server_goes_on(server: DnsServer) -> None:
    pointer_to_itself = bytes.fromhex("000101000001000000000000c00c000f0001")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for packet in (b"", b"x", b"\xff" * 40, pointer_to_itself):
            client.sendto(packet, ("127.0.0.1", server.port))
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as client:
        client.sendall(b"\x00\x03abc")
        assert client.recv(10) == b""
    assert ask(server, "a.test", "MX").rcode() == dns.rcode.NOERROR


def reply_to(packet: bytes, zone: Zone) -> bytes:
    """Return the reply of the UDP handler, without a socket."""
    handler = object.__new__(QueryHandler)
    handler.protocol, handler.server = "udp", SimpleNamespace(resolver=SourceResolver(zone))
    return handler.get_reply(packet)


def test_a_dns_response_gets_no_reply(zone: Zone) -> None:
    question = DNSRecord.question("a.test", "MX")
    assert reply_to(question.pack(), zone)
    with pytest.raises(DNSError):
        reply_to(question.reply().pack(), zone)


def test_another_server_cannot_take_the_same_port(server: DnsServer, zone: Zone) -> None:
    with pytest.raises(OSError, match="in use"):
        DnsServer("127.0.0.1", server.port, zone)


def test_updates_and_packets_without_a_question_are_refused(zone: Zone) -> None:
    update, empty = DNSRecord.question("a.test", "MX"), DNSRecord()
    update.header.opcode = 5
    for query, rcode in ((update, dns.rcode.NOTIMP), (empty, dns.rcode.FORMERR)):
        assert reply_to(query.pack(), zone)[3] & 0xF == rcode
    assert zone.lookups == []


def test_a_stopped_server_frees_its_port_for_the_next(zone: Zone) -> None:
    first = DnsServer("127.0.0.1", 0, zone)
    first.start()
    with socket.create_connection(("127.0.0.1", first.port), timeout=120) as client:
        client.sendall(b"\x00\x00")
        assert client.recv(1) == b"", "the server closes first, which keeps its port in TIME_WAIT"
    first.stop()
    second = DnsServer("127.0.0.1", first.port, zone)
    second.start()
    assert ask(second, "a.test", "MX").answer
    second.stop()


def test_a_server_that_was_never_started_can_be_stopped(zone: Zone) -> None:
    DnsServer("127.0.0.1", 0, zone).stop()


@pytest.mark.parametrize(("name", "kind"), [("nobody.a.test", "A"), ("empty.a.test", "TXT")])
def test_that_there_is_nothing_may_be_kept_for_a_second(
    server: DnsServer, name: str, kind: str
) -> None:
    query = dns.message.make_query(name, kind)
    reply = dns.query.udp(query, "127.0.0.1", port=server.port, timeout=60)
    assert reply.resolve_chaining().minimum_ttl == 1
    assert reply.authority[0].rdtype.name == "SOA"
