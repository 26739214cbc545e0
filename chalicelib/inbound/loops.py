"""Write the Received field of a message that comes in, and find by such fields that it loops.

The field (RFC 5321 4.4) holds a trace of each recipient at an inbound domain, which only this
service can make and compare: a message that has the trace of its own recipient was received for it
before. That finds a loop after one round, however the message was forwarded.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Final

from chalicelib.core import signing
from chalicelib.core.settings import settings
from chalicelib.core.spool import Octets

#: Received fields of a message that is still taken (RFC 5321 6.3 asks for 100 at the most)
MOST_HOPS: Final = 50

_PURPOSE = "inbound trace"
_MOST_HEADER = 512 * 1024
_MOST_HELO = 255
_RECEIVED = re.compile(rb"(?:\A|\r\n)Received[ \t]*:", re.IGNORECASE)
_TRACE = re.compile(rb"\(trace ([a-z2-7]{16})\)")
_NO_NAME = re.compile(r"[^A-Za-z0-9.:_-]+")


@dataclass(frozen=True, slots=True)
class Hop:
    """How a message came in: from which host, and to whom. ``tls`` is empty without TLS."""

    id: str
    received_ms: int
    helo: str
    peer_ip: str
    tls: str
    is_utf8: bool
    recipients: tuple[str, ...]


def received_field(hop: Hop, inbound: Iterable[str]) -> bytes:
    """Return the field, folded, with its last CRLF; ``inbound`` are recipients to be traced.

    It names the recipient if there is one only, because others shall not learn of a second.
    """
    protocol = ("UTF8SMTP" if hop.is_utf8 else "ESMTP") + ("S" if hop.tls else "")
    encryption = f" ({hop.tls})" if hop.tls else ""
    lines = [
        f"Received: from {_NO_NAME.sub('', hop.helo)[:_MOST_HELO] or 'unknown'}"
        f" ({_literal(hop.peer_ip)})",
        f"by {settings().mail_hostname} with {protocol}{encryption} id {hop.id}",
        *(f"(trace {_trace_of(address)})" for address in inbound),
        *([f"for <{hop.recipients[0]}>"] if len(hop.recipients) == 1 else []),
    ]
    date = format_datetime(datetime.fromtimestamp(hop.received_ms // 1000, UTC))
    return ("\r\n\t".join(lines) + f";\r\n\t{date}\r\n").encode("utf-8", "replace")


def header_of(octets: Octets, start: int) -> bytes:
    """Return the header section of the message that begins at ``start``, up to half a megabyte."""
    section = octets[start : start + _MOST_HEADER]
    if section.startswith(b"\r\n"):
        return b""
    return section.partition(b"\r\n\r\n")[0]


def hops(header: bytes) -> int:
    """Return how many Received fields a header section has."""
    return len(_RECEIVED.findall(header))


def traces(header: bytes) -> frozenset[str]:
    """Return the traces in a header section, for :func:`came_before`."""
    return frozenset(each.decode() for each in _TRACE.findall(header))


def came_before(address: str, header_traces: frozenset[str]) -> bool:
    """Tell whether a message with these traces was received for an address already."""
    return bool(header_traces) and _trace_of(address) in header_traces


def _trace_of(address: str) -> str:
    return signing.tag_text(address.lower().encode(), _PURPOSE)


def _literal(peer_ip: str) -> str:
    """Return a client's address as RFC 5321 4.1.3 writes it."""
    try:
        version = ipaddress.ip_address(peer_ip).version
    except ValueError:
        return "[]"
    return f"[IPv6:{peer_ip}]" if version == 6 else f"[{peer_ip}]"
