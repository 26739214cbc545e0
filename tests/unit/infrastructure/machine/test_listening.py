from __future__ import annotations

import errno
import socket
from contextlib import closing

import pytest

from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.machine import listening


def test_a_port_of_all_addresses_takes_clients_of_ipv4() -> None:
    with closing(listening.bind("", 0)) as server:
        address = ("127.0.0.1", server.getsockname()[1])
        with closing(socket.create_connection(address, 10)) as client:
            connection, peer = server.accept()
            connection.close()
            assert peer[0].removeprefix("::ffff:") == "127.0.0.1"
            assert peer[1] == client.getsockname()[1]


def test_a_port_of_one_address_is_bound_there_only() -> None:
    with closing(listening.bind("127.0.0.1", 0)) as server:
        assert server.family == socket.AF_INET
        assert server.getsockname()[0] == "127.0.0.1"


def test_a_port_that_another_program_has_is_refused_with_its_setting() -> None:
    with closing(listening.bind("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ConfigError, match=f"^HTTP_PORT={port}: another program has this port"):
            listening.require_bindable("HTTP_PORT", "127.0.0.1", port)
    listening.require_bindable("HTTP_PORT", "127.0.0.1", port)


def test_no_port_needs_no_room() -> None:
    listening.require_bindable("HTTP_PORT", "203.0.113.1", 0)


def test_the_reason_says_what_to_do() -> None:
    denied = OSError(errno.EACCES, "Permission denied")
    assert "CAP_NET_BIND_SERVICE" in listening.refusal("HTTP_PORT", "", 80, denied)
    assert "CAP_NET" not in listening.refusal("HTTP_PORT", "", 8080, denied)
    absent = OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
    text = listening.refusal("HTTP_PORT", "203.0.113.1", 80, absent)
    assert text == "HTTP_PORT=80 of 203.0.113.1 cannot be bound: Cannot assign requested address"


@pytest.mark.parametrize(("has_both", "address"), [(True, "::"), (False, "0.0.0.0")])
def test_all_addresses_are_those_that_the_machine_has(
    monkeypatch: pytest.MonkeyPatch, has_both: bool, address: str
) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: has_both)
    assert listening.every_address() == address
