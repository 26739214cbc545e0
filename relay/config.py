"""Hold the settings of a relay in one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# Far beyond any limit; a power of the count itself could be too large for a number.
_MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class RelayConfig:
    """The ports of a relay, and its limits on a client. Sizes are octets, times are seconds."""

    hostname: str = "localhost"
    """The name in the banner and in the answer to EHLO."""
    host: str = "127.0.0.1"
    """The address to bind, IPv4 or IPv6."""
    ports: tuple[int, ...] = (587, 2525)
    """The ports to bind; 0 picks a free one."""
    reuse_port: bool = False
    """Let several processes listen on the same ports (SO_REUSEPORT)."""
    implicit_tls: bool = False
    """Connections are under TLS from the first octet on (RFC 8314 3.3), without STARTTLS."""
    require_tls: bool = True
    """Offer and accept AUTH only after STARTTLS."""
    lists_tls: bool = True
    """List STARTTLS in the answer to EHLO; it is taken in any case."""
    mail_needs_tls: bool = False
    """Accept MAIL only after STARTTLS, from senders without a login as well."""
    lenient: bool = False
    """Take any line ends (as CRLF), any addresses, unknown parameters, and MAIL without EHLO."""
    admits_peer: Callable[[str], bool] | None = None
    """Tells whether a client with this address is served; all are if it is None."""

    max_message: int = 20 * 1024 * 1024
    """A message, end mark and dot-stuffing not counted (RFC 1870 5)."""
    max_inbound_message: int = 20 * 1024 * 1024
    """A message to an inbound domain; the smaller of the limits counts."""
    max_in_memory: int | None = None
    """Octets of one message that are held in memory, and no file: all of them if None."""
    max_arriving: int = 0
    """Octets of all messages under way in one process; 0: any number."""
    max_network_arriving: int = 0
    """Those of one network (`client_networks`)."""
    max_text_line: int | None = 100_000
    """A line of a message, CRLF counted. RFC 5321 4.5.3 asks for 1,000 at least and advises
    against refusing more: one-line HTML and an unfolded API header exceed it. With None, lines of
    any length and NUL octets are taken."""
    max_command_line: int = 512
    """A command line, CRLF counted (RFC 5321 4.5.3.1.4)."""
    max_auth_line: int = 12_288
    """A line of AUTH, CRLF counted (RFC 4954 4)."""
    max_recipients: int = 1_000
    max_messages: int = 100
    """Messages of one connection."""
    max_errors: int = 20
    """Replies 5xx to one connection."""
    failed_login_seconds: float = 1.0
    """The wait before the reply to a failed login; it doubles with each failure."""
    max_failed_login_seconds: float = 16.0
    """The longest such wait."""
    max_failed_logins: int = 5
    """Failures of an address or subaccount, after which its connections are closed."""
    min_failed_logins: int = 3
    """Failures that a connection may have in any case (RFC 4954 9)."""
    max_connections: int = 1_000
    """Of one listener in one process."""
    max_connections_per_address: int = 400
    max_network_messages: int = 0
    """Messages from one network (`client_networks`) in a minute; 0: any number."""
    max_network_recipients: int = 0
    """Recipients that one network names in a minute; 0: any number."""
    max_domain_recipients: int = 0
    """Recipients at one inbound domain in a minute; 0: any number."""

    idle_seconds: float = 60.0
    """A wait for the next command, or for the next octets of a message."""
    data_seconds: float = 600.0
    """The whole of DATA, even if octets keep coming."""
    drain_seconds: float = 30.0
    """How long a stopping server waits for messages under way."""
    counters_seconds: float = 60.0
    """The time between two records of the counters."""
    workers: int = 16
    """Threads for blocking calls of the service."""

    def failed_login_wait(self, count: int) -> float:
        """Return the seconds before the reply to the last of `count` failed logins."""
        doublings = min(count - 1, _MOST_DOUBLINGS)
        return min(self.failed_login_seconds * 2.0**doublings, self.max_failed_login_seconds)
