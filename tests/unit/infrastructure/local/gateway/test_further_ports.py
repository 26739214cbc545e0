from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.local import certificates
from infrastructure.local.gateway.__main__ import further_ports
from infrastructure.local.this_machine import LocalAccess
from tests.free_ports import free_port

CONTAINER = {"API_HOST": "0.0.0.0", "LOCAL_PEERS": "any", "LOCAL_NAMES": "postfinch"}


def ports(data_dir: Path, public_url: str, **environ: str) -> list[tuple[str, int, bool]]:
    environ = {"API_PORT": "8080", "DATA_DIR": str(data_dir), **environ}
    access = LocalAccess.read(environ)
    return [
        (each.host, each.port, each.context is not None)
        for each in further_ports(environ, public_url, access)
    ]


@pytest.mark.parametrize(
    ("public_url", "port", "is_secure"),
    [
        ("http://localhost:9090", 9090, False),
        ("http://postfinch", 80, False),
        ("https://127.0.0.1:9443", 9443, True),
    ],
)
def test_in_a_container_loopback_has_the_port_at_which_users_reach_it(
    tmp_path: Path, public_url: str, port: int, is_secure: bool
) -> None:
    certificates.provide(tmp_path)
    assert ports(tmp_path, public_url, **CONTAINER) == [("127.0.0.1", port, is_secure)]


@pytest.mark.parametrize(
    "public_url", ["http://localhost:8080", "https://localhost:8443", "https://mail.example:9"]
)
def test_a_port_that_is_served_anyway_or_is_another_machines_is_not_added(
    tmp_path: Path, public_url: str
) -> None:
    certificates.provide(tmp_path)
    secured = ports(tmp_path, public_url, API_TLS_PORT="8443", **CONTAINER)
    assert secured == [("0.0.0.0", 8443, True)]


def test_outside_of_containers_the_port_may_be_that_of_a_proxy(tmp_path: Path) -> None:
    assert ports(tmp_path, "http://localhost:9090") == []


def test_the_port_of_mailpits_api_takes_websockets_and_may_be_left_out(tmp_path: Path) -> None:
    certificates.provide(tmp_path)
    number = free_port()
    environ = {"API_PORT": "8080", "DATA_DIR": str(tmp_path), "MAILPIT_PORT": str(number)}
    environ |= CONTAINER
    url = f"http://localhost:{number}"
    (port,) = further_ports(environ, url, LocalAccess.read(environ))
    assert (port.port, port.optional, port.websockets) == (number, False, True)
    (listener,) = port.sockets
    assert listener.getsockname() == ("0.0.0.0", number)
    listener.close()
    without = {**environ, "MAILPIT_PORT": "0"}
    assert list(further_ports(without, "http://localhost:8080", LocalAccess())) == []
