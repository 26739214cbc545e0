from __future__ import annotations

import os
import socket
from collections.abc import Callable

import pytest

from chalicelib.core.settings import settings
from relay import health
from tests.unit.relay.conftest import RunningRelay


def test_ports_that_greet_are_healthy(
    clear_relay: RunningRelay, inbound_relay: RunningRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "RELAY_HOST", "0.0.0.0")
    monkeypatch.setitem(os.environ, "RELAY_PORTS", str(clear_relay.port))
    monkeypatch.setitem(os.environ, "RELAY_INBOUND_PORTS", str(inbound_relay.port))
    settings.cache_clear()
    assert health.main() == 0
    settings.cache_clear()


def test_a_port_that_is_silent_or_full_is_not(
    start_submission: Callable[..., RunningRelay],
) -> None:
    full = start_submission(max_connections=1)
    client = full.client()
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        closed = nobody.getsockname()[1]
    assert health.silent_ports("127.0.0.1", [closed, full.port]) == [closed, full.port]
    client.ask(b"QUIT\r\n")
    assert client.reply() == ""
    assert health.silent_ports("127.0.0.1", [full.port]) == []
