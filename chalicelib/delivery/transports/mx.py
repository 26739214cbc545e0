"""The `mx` transport: every message goes straight to the mail host of its recipient's domain.

Hosts are tried in turn until one takes the session. A host that cannot be reached, or that answers
the opening by a 4xx, is passed over; one that refuses it by a 5xx speaks for the domain, and the
message fails with what it said. Once a host has taken the session its word on the message counts,
and no other host is asked.

TLS is opportunistic by default and the certificate is not checked, as RFC 7435 has it for hosts
that are only known from the DNS.
"""

from __future__ import annotations

import socket

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
        domain = message.recipient.rpartition("@")[2].lower()
        ehlo_name = message.ehlo_name or self._ehlo_name
        route = Route(domain, message.source_address, ehlo_name)
        return self._pool.deliver(route, lambda: self._connect(route), message, commit)

    def close(self) -> None:
        """Take leave of every idle connection."""
        self._pool.close()

    def _connect(self, route: Route) -> SmtpSession:
        """Return a session with the best host that takes one."""
        failure: SessionFailed | None = None
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
                failure = _final(error)
                if isinstance(failure.outcome, Failed):
                    break
        assert failure is not None  # there is at least one candidate, or Unroutable is raised
        raise failure


def _final(error: SessionFailed) -> SessionFailed:
    """Return the failure of an opening as one of the message, where the host spoke for good."""
    said = error.outcome
    if isinstance(error, SessionRefused) and said.code >= 500:
        return SessionFailed(
            Failed(
                said.code,
                said.reply,
                said.bounce_class,
                said.ip_address,
                said.tls,
                said.sending_ip,
            )
        )
    return error
