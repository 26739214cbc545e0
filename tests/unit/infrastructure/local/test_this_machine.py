from __future__ import annotations

import pytest

from infrastructure.local.this_machine import NOBODY_ELSE, LocalAccess


def test_only_loopback_is_admitted_without_the_settings() -> None:
    access = LocalAccess.read({})
    assert access == NOBODY_ELSE
    assert access.admits_peer("127.0.0.1")
    assert access.admits_peer("::1")
    assert not access.admits_peer("172.17.0.1")
    assert not access.admits_host(b"postfinch")


@pytest.mark.parametrize(
    ("peers", "peer", "is_admitted"),
    [
        ("any", "192.0.2.8", True),
        ("any", "2001:db8::8", True),
        ("172.16.0.0/12, fd00::/8", "172.17.0.1", True),
        ("172.16.0.0/12, fd00::/8", "fd00::1", True),
        ("172.16.0.0/12, fd00::/8", "192.0.2.8", False),
        ("172.17.0.1", "172.17.0.2", False),
        ("172.17.0.1", "127.0.0.1", True),
    ],
)
def test_peers_of_the_networks_are_admitted(peers: str, peer: str, is_admitted: bool) -> None:
    assert LocalAccess.read({"LOCAL_PEERS": peers}).admits_peer(peer) is is_admitted


def test_addresses_are_names_where_other_peers_are_admitted() -> None:
    hosts = (b"10.0.0.8:8080", b"10.0.0.8", b"[fd00::8]:8080", b"[fd00::8]")
    assert all(LocalAccess.read({"LOCAL_PEERS": "any"}).admits_host(host) for host in hosts)
    assert not any(NOBODY_ELSE.admits_host(host) for host in hosts)
    names = LocalAccess.read({"LOCAL_NAMES": "10.0.0.8, [fd00::8]"})
    assert all(names.admits_host(host) for host in hosts)


def test_a_star_admits_names_without_a_dot_which_no_page_of_the_internet_has() -> None:
    access = LocalAccess.read({"LOCAL_NAMES": "postfinch, *"})
    assert access.names == ("postfinch",)
    assert all(access.admits_host(host) for host in (b"mailpit:8025", b"Mail", b"postfinch"))
    others = (b"evil.example", b"mail.evil.example:8025", b"mail.", b"", b"mail@evil", b"a\xc3")
    assert not any(access.admits_host(host) for host in others)
    assert not LocalAccess.read({"LOCAL_PEERS": "any"}).admits_host(b"mailpit")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOCAL_NAMES", "http://postfinch"),
        ("LOCAL_NAMES", "postfinch:8080"),
        ("LOCAL_NAMES", "*.lan"),
        ("LOCAL_PEERS", "bridge"),
        ("LOCAL_PEERS", "172.17.0.1/12"),
    ],
)
def test_a_value_that_cannot_work_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=name):
        LocalAccess.read({name: value})
