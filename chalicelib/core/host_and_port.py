"""Read a host with an optional port, as settings name smarthosts and resolvers."""

from __future__ import annotations


def read_host_and_port(text: str, default_port: int) -> tuple[str, int]:
    """Read ``host``, ``host:587``, ``[2001:db8::1]``, ``[2001:db8::1]:587`` or ``2001:db8::1``.

    Raises ``ValueError`` if the port is no number.
    """
    text = text.strip()
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        return host, int(port.removeprefix(":") or default_port)
    if text.count(":") > 1:
        return text, default_port
    host, _, port = text.partition(":")
    return host, int(port or default_port)
