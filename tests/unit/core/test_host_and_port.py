from __future__ import annotations

import pytest

from chalicelib.core.host_and_port import read_host_and_port


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("relay.test", "relay.test", 25),
        ("relay.test:587", "relay.test", 587),
        ("192.0.2.1:587", "192.0.2.1", 587),
        ("2001:db8::1", "2001:db8::1", 25),
        ("[2001:db8::1]", "2001:db8::1", 25),
        (" [2001:db8::1]:587 ", "2001:db8::1", 587),
    ],
)
def test_a_host_is_named_with_or_without_a_port(text: str, host: str, port: int) -> None:
    assert read_host_and_port(text, default_port=25) == (host, port)
