from __future__ import annotations

import pytest

from chalicelib.core.ip_addresses import is_public


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fd00::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "2002:7f00:1::",
        "64:ff9b::a00:1",
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "::7f00:1",
        "::ffff:0:7f00:1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
        "2002:a9fe:a9fe::1",
        "2606:4700::5efe:a00:1",
        "2606:4700::200:5efe:a00:1",
        "3fff::1",
        "fec0::1",
        "5f00::1",
        "168.63.129.16",
        "192.88.99.1",
    ],
)
def test_addresses_of_private_and_reserved_networks_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_other_addresses_are_public(address: str) -> None:
    assert is_public(address)
