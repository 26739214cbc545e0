from __future__ import annotations

import pytest

from chalicelib.core.client_networks import network_of


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8:0:0:ffff::1", "2001:db8::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("::1", "::/64"),
        ("", ""),
    ],
)
def test_a_client_counts_by_the_network_that_is_its_own(address: str, network: str) -> None:
    assert network_of(address) == network
