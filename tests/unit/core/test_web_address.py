"""URLs that callers name, and the tricks that would make the service connect to private hosts."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import web_address
from chalicelib.core.settings import settings
from chalicelib.core.web_address import BadUrl, NoAddress, WebAddress
from tests.unit.zones import Zone, served_zone


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    monkeypatch.setenv("ALLOW_PRIVATE_ADDRESSES", "false")
    yield from served_zone(monkeypatch)


@pytest.mark.parametrize(
    ("url", "address", "authority"),
    [
        ("http://a.test", WebAddress("http", "a.test", 80, "/"), "a.test"),
        ("HTTPS://A.Test:443/x?y#z", WebAddress("https", "a.test", 443, "/x?y"), "a.test"),
        ("http://a.test:8080/", WebAddress("http", "a.test", 8080, "/"), "a.test:8080"),
        ("http://a.test./", WebAddress("http", "a.test", 80, "/"), "a.test"),
        ("http://my_app:3000/", WebAddress("http", "my_app", 3000, "/"), "my_app:3000"),
        (
            "https://bücher.example/ä?ö=%20",
            WebAddress("https", "xn--bcher-kva.example", 443, "/%C3%A4?%C3%B6=%20"),
            "xn--bcher-kva.example",
        ),
        ("http://192.0.2.1/", WebAddress("http", "192.0.2.1", 80, "/"), "192.0.2.1"),
        (
            "http://[2001:DB8::1]:81/",
            WebAddress("http", "2001:db8::1", 81, "/"),
            "[2001:db8::1]:81",
        ),
    ],
)
def test_a_url_is_split_into_its_parts(url: str, address: WebAddress, authority: str) -> None:
    assert web_address.read(url) == address
    assert address.authority == authority


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.test",
        "//a.test/",
        "ftp://a.test/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "http:///x",
        "http://.test/",
        "http://a..test/",
        "http://-a.test/",
        "http://user@a.test/",
        "http://user:password@a.test/",  # pragma: allowlist secret
        "http://a.test@127.0.0.1/",
        "http://a.test:0/",
        "http://a.test:65536/",
        "http://a.test:８０/",
        "http://a.test:-1/",
        "http://a.test\\@127.0.0.1/",
        "http://a.test /",
        "http://a.test/\r\nHost: b.test",
        "http://a.test/\x00",
        "http://a%2etest/",
        "http://2130706433/",
        "http://017700000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.1/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://0x7F.1/",
        "http://127.0.0.0x1/",
        "http://127.0.0.1.1/",
        "http://256.1.1.1/",
        "http://1.2.3.04/",
        "http://a.test.1/",
        "http://[::1/",
        "http://::1/",
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[127.0.0.1]/",
        "http://[v1.fe]/",
        "http://[::1]a.test/",
        "http://a.test/" + "x" * 5000,
    ],
)
def test_a_url_that_could_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(BadUrl):
        web_address.read(url)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1.",
        "127.8.9.10",
        "0.0.0.0",
        "10.0.0.1",
        "172.31.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "①②⑦.⓪.⓪.①",
        "１２７.0.0.1",
        "127。0。0。1",
        "localhost",
        "LOCALHOST.",
        "ⓛocalhost",
        "a.localhost",
        "[::]",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::127.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b::8.8.8.8]",
        "[64:ff9b:1::10.0.0.1]",
        "[2002:7f00:1::]",
        "[2002:a00:1::1]",
        "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
        "[2001:db8::1]",
        "[3fff::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[5f00::1]",
        "[100::1]",
        "[2606:4700::200:5efe:10.0.0.1]",
        "[2606:4700::5efe:7f00:1]",
    ],
)
def test_no_spelling_of_a_private_address_is_allowed(zone: Zone, host: str) -> None:
    address = web_address.read(f"http://{host}/")
    with pytest.raises(NoAddress) as error_info:
        web_address.addresses(address.host)
    assert error_info.value.code == "EACCES"
    assert zone.queries == []


@pytest.mark.parametrize("host", ["8.8.8.8", "[2606:4700:4700::1111]", "[2002:808:808::1]"])
def test_a_public_address_is_itself(host: str) -> None:
    address = web_address.read(f"http://{host}/")
    assert web_address.addresses(address.host) == [host.strip("[]")]


def test_only_the_public_addresses_of_a_name_are_allowed(zone: Zone) -> None:
    zone.set("a.test", ("A", "10.0.0.1"), ("A", "8.8.8.8"), ("AAAA", "::1"))
    assert web_address.addresses("a.test") == ["8.8.8.8"]
    zone.set("a.test", ("CNAME", "b.test"))
    zone.set("b.test", ("A", "169.254.169.254"))
    with pytest.raises(NoAddress, match="no public address"):
        web_address.addresses("a.test")


def test_names_of_this_machine_are_looked_up_where_private_addresses_are_allowed(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    def known_here(host: str, *_: Any, **__: Any) -> list[Any]:
        if host != "app":
            raise socket.gaierror
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.168.7.7", 0))] * 2

    monkeypatch.setattr(socket, "getaddrinfo", known_here)
    with pytest.raises(NoAddress, match="no address"):
        web_address.addresses("app")
    monkeypatch.setenv("ALLOW_PRIVATE_ADDRESSES", "true")
    settings.cache_clear()
    assert web_address.addresses("app") == ["192.168.7.7"]
    with pytest.raises(NoAddress, match="no address"):
        web_address.addresses("other")
    assert web_address.addresses("localhost") == ["127.0.0.1", "::1"]
