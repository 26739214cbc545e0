"""The `mx` transport: every message goes straight to the mail host of its recipient's domain.

Hosts are tried in turn until one takes the session (RFC 5321 5.1); one that cannot be reached or
refuses the opening is passed over. The message fails only where all that were tried refuse by a
5xx, with what the best of them said. Once a host has taken the session its word on the message
counts, and no other host is asked.

TLS is opportunistic by default and the certificate is not checked, as RFC 7435 has it for hosts
that are only known from the DNS.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import asdict

from chalicelib.core import domain_names
from chalicelib.delivery.outcome import Failed, Outcome
from chalicelib.delivery.transports import Commit, OutboundMessage
from chalicelib.delivery.transports.mx_hosts import MailHosts, Resolver
from chalicelib.delivery.transports.session_pool import PoolLimits, Route, SessionPool
from chalicelib.delivery.transports.smtp_opening import SessionRefused, open_session
from chalicelib.delivery.transports.smtp_options import SessionOptions
from chalicelib.delivery.transports.smtp_session import SessionFailed, SmtpSession

MOST_ADDRESSES = 5
"""Addresses tried for one message; further ones get their chance at the next attempt."""


class MxTransport:
    """Deliver to the hosts that the DNS names; idle sessions are kept per domain.

    `limits.connections` bounds the connections per recipient domain.
    """

    def __init__(
        self,
        resolver: Resolver,
        options: SessionOptions | None = None,
        limits: PoolLimits | None = None,
        ehlo_name: str = "",
        *,
        port: int = 25,
        allow_private: bool = False,
    ) -> None:
        self._hosts = MailHosts(resolver, allow_private=allow_private)
        self._options = options or SessionOptions()
        self._pool = SessionPool(limits or PoolLimits())
        self._ehlo_name = ehlo_name or socket.gethostname()
        self._port = port

    def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
        """Attempt the message once."""
        given = message.recipient.rpartition("@")[2].lower()
        domain = domain_names.in_a_labels(given) or given  # which the resolver refuses
        ehlo_name = message.ehlo_name or self._ehlo_name
        route = Route(domain, message.source_address, ehlo_name)
        return self._pool.deliver(route, lambda: self._connect(route), message, commit)

    def close(self) -> None:
        """Take leave of every idle connection."""
        self._pool.close()

    def _connect(self, route: Route) -> SmtpSession:
        """Return a session with the best host that takes one."""
        failures: list[SessionFailed] = []
        candidates = self._hosts.addresses(route.destination, route.source_address)
        for _, (host, address) in zip(range(MOST_ADDRESSES), candidates, strict=False):
            try:
                return open_session(
                    (address, self._port),
                    route.ehlo_name,
                    self._options,
                    source_address=route.source_address,
                    host_name=host,
                )
            except SessionFailed as error:
                failures.append(error)
        raise _together(failures)


def _together(failures: Sequence[SessionFailed]) -> SessionFailed:
    """Return what the failures of the hosts that were tried, one at least, mean for the message."""
    passing = [failure for failure in failures if not _is_final(failure)]
    if passing:
        return passing[-1]
    return SessionFailed(Failed(**asdict(failures[0].outcome)))


def _is_final(failure: SessionFailed) -> bool:
    return isinstance(failure, SessionRefused) and failure.outcome.code >= 500
