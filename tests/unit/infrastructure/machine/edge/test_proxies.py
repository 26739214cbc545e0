from __future__ import annotations

from typing import Any

import pytest

from infrastructure.machine.edge.proxies import TrustedProxies

PROXIES = TrustedProxies.read("192.0.2.1, 10.0.0.0/8,2001:db8::/32")


def scope(peer: str, *headers: tuple[str, str], scheme: str = "http") -> dict[str, Any]:
    encoded = [(name.encode(), text.encode("latin-1")) for name, text in headers]
    return {"client": (peer, 7), "scheme": scheme, "headers": encoded}


def source(peer: str, *hops: str) -> str:
    headers = [("x-forwarded-for", hop) for hop in hops]
    address: str = PROXIES.applied(scope(peer, *headers))["client"][0]
    return address


def test_headers_of_strangers_are_removed() -> None:
    names = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
    headers = [(name, "203.0.113.9") for name in (*names, "x-forwarded-port", "accept")]
    applied = PROXIES.applied(scope("198.51.100.1", *headers, ("x-forwarded-proto", "https")))
    assert applied["headers"] == [(b"accept", b"203.0.113.9")]
    assert applied["client"] == ("198.51.100.1", 7)
    assert applied["scheme"] == "http"


def test_the_source_is_the_last_hop_that_is_no_proxy() -> None:
    assert source("192.0.2.1", "203.0.113.9") == "203.0.113.9"
    assert source("192.0.2.1", "198.51.100.66, 203.0.113.9, 10.1.1.1") == "203.0.113.9"
    assert source("192.0.2.1", "198.51.100.66", "203.0.113.9") == "203.0.113.9"
    assert source("192.0.2.1", "10.2.2.2, 10.1.1.1") == "10.2.2.2"
    assert source("192.0.2.1") == "192.0.2.1"


def test_what_a_client_put_before_the_hops_of_proxies_does_not_count() -> None:
    assert source("192.0.2.1", "forged, 203.0.113.9") == "203.0.113.9"
    assert source("192.0.2.1", "203.0.113.9, unknown, 10.1.1.1") == "10.1.1.1"


@pytest.mark.parametrize(
    ("hop", "address"),
    [
        ("203.0.113.9:4711", "203.0.113.9"),
        ("[2001:db9::5]:4711", "2001:db9::5"),
        ("[2001:db9::5]", "2001:db9::5"),
        ("2001:db9::5", "2001:db9::5"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("fe80::1%eth0", "fe80::1"),
    ],
)
def test_a_hop_may_have_brackets_a_port_and_a_zone(hop: str, address: str) -> None:
    assert source("192.0.2.1", hop) == address


def test_a_proxy_tells_the_scheme_that_it_saw() -> None:
    for texts, result in (
        (["https"], "https"),
        (["HTTPS"], "https"),
        (["https", "http"], "http"),
        (["gopher"], "http"),
        ([], "http"),
    ):
        headers = [("x-forwarded-proto", text) for text in texts]
        assert PROXIES.applied(scope("10.9.9.9", *headers))["scheme"] == result
    assert PROXIES.applied(scope("10.9.9.9", scheme="https"))["scheme"] == "https"


def test_an_ipv4_proxy_on_an_ipv6_socket_is_one() -> None:
    assert PROXIES.include("::ffff:192.0.2.1")
    assert PROXIES.include("2001:db8::9")
    assert not PROXIES.include("192.0.2.2")
    assert not PROXIES.include("")


def test_nobody_is_a_proxy_unless_the_setting_says_so() -> None:
    nobody = TrustedProxies.read(" , ")
    assert not nobody.include("127.0.0.1")
    applied = nobody.applied({**scope("", ("x-real-ip", "203.0.113.9")), "client": None})
    assert (applied["client"], applied["headers"]) == (("", 0), [])


@pytest.mark.parametrize("text", ["proxy", "192.0.2.1/8", "192.0.2", "192.0.2.0/33"])
def test_what_is_no_network_is_refused_with_its_setting(text: str) -> None:
    with pytest.raises(ValueError, match=f"^TRUSTED_PROXIES='{text}'"):
        TrustedProxies.read(text)
