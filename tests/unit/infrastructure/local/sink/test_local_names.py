"""Look up host names in the local DNS."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infrastructure.local.dns.resolver import Records
from infrastructure.local.dns.server import DnsServer
from infrastructure.local.sink.local_names import AddressLookup, asking, no_addresses


class FakeZone:
    """A tracking domain and the host that it leads to."""

    def lookup(self, name: str) -> Records | None:
        if name == "track.mycompany.com":
            return [("CNAME", "track.postfinch.test")]
        if name == "track.postfinch.test":
            return [("A", "127.0.0.1"), ("A", "127.0.0.2")]
        return None


@pytest.fixture
def server() -> Iterator[DnsServer]:
    server = DnsServer("127.0.0.1", 0, FakeZone())
    server.start()
    yield server
    server.stop()


@pytest.fixture
def lookup(server: DnsServer) -> AddressLookup:
    return asking((server.host, server.port))


def test_aliases_are_followed_to_addresses(lookup: AddressLookup) -> None:
    assert lookup("track.mycompany.com") == ["127.0.0.1", "127.0.0.2"]
    assert lookup("track.postfinch.test") == ["127.0.0.1", "127.0.0.2"]


@pytest.mark.parametrize(
    "name",
    ["example.com", "", "a..b", "a" * 70 + ".com", "\ud800.com", "é.com", "a." * 200 + "com"],
)
def test_any_other_text_has_no_address(lookup: AddressLookup, name: str) -> None:
    assert lookup(name) == []


def test_without_an_answer_there_is_no_address(
    lookup: AddressLookup, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(*arguments: object, **options: object) -> bytes:
        raise TimeoutError

    monkeypatch.setattr("dnslib.DNSRecord.send", send)
    assert lookup("track.mycompany.com") == []
    assert no_addresses("track.mycompany.com") == []
