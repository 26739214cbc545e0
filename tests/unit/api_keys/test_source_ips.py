from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.api_keys.source_ips import admits, is_network


@pytest.mark.parametrize(
    ("valid", "peer"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.0/24", "192.0.2.255"),
        ("192.0.2.77/24", "192.0.2.1"),
        ("192.0.2.0/255.255.255.0", "192.0.2.9"),
        ("0.0.0.0/0", "203.0.113.9"),
        ("2001:db8::1", "2001:db8:0:0::1"),
        ("2001:db8::/32", "2001:db8:ffff::9"),
        ("192.0.2.1", "::ffff:192.0.2.1"),
        ("192.0.2.0/24", "::ffff:c000:0201"),
        ("::ffff:192.0.2.0/120", "192.0.2.5"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        (" 192.0.2.1 ", "192.0.2.1"),
        ("fe80::1", "fe80::1%eth0"),
    ],
)
def test_an_address_in_a_listed_network_is_admitted(valid: str, peer: str) -> None:
    assert admits([valid], peer)
    assert admits(["203.0.113.200", valid], peer)


@pytest.mark.parametrize(
    ("valid", "peer"),
    [
        ("192.0.2.1", "192.0.2.2"),
        ("192.0.2.0/24", "192.0.3.0"),
        ("0.0.0.0/0", "2001:db8::1"),
        ("::/0", "192.0.2.1"),
        ("::/0", "::ffff:192.0.2.1"),
        ("2001:db8::/32", "2001:db9::1"),
        ("0.0.0.0/0", ""),
        ("0.0.0.0/0", "not an address"),
        ("0.0.0.0/0", "192.0.2.1, 198.51.100.1"),
    ],
)
def test_an_address_outside_the_listed_networks_is_not_admitted(valid: str, peer: str) -> None:
    assert not admits([valid], peer)


@pytest.mark.spec("5-r4")
def test_without_a_list_every_address_is_admitted() -> None:
    assert admits([], "192.0.2.1")
    assert admits([], "")


@pytest.mark.parametrize(
    "text",
    ["", "host.test", "300.1.1.1", "10.0.0.0/33", "10.0.0/8", "::/129", "1.2.3.4/x", "1", "/24"],
)
def test_text_that_is_no_network_is_recognized(text: str) -> None:
    assert not is_network(text)
    assert is_network("10.0.0.0/8")


@given(st.ip_addresses(v=4), st.integers(0, 32), st.ip_addresses(v=4))
def test_an_ipv4_network_holds_the_addresses_with_its_leading_bits(
    base: IPv4Address, bits: int, peer: IPv4Address
) -> None:
    within = int(base) >> (32 - bits) == int(peer) >> (32 - bits)
    assert admits([f"{base}/{bits}"], str(peer)) is within
    assert admits([f"{base}/{bits}"], f"::ffff:{peer}") is within


@given(st.ip_addresses(v=6), st.integers(0, 128))
def test_every_ipv6_network_holds_its_own_address(base: IPv6Address, bits: int) -> None:
    mapped = ip_network("::ffff:0:0/96")
    text = f"{base}/{bits}"
    assert is_network(text)
    if base not in mapped:
        assert admits([text], str(base))
