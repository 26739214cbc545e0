"""Send each message to the mail host of its recipient's domain: the `mx` transport.

Hosts are tried in turn until one opens a session (RFC 5321 5.1). A host that cannot be reached or
that refuses the session is passed over. The message fails only if all hosts that were tried refuse
with a 5xx; its outcome is the reply of the best of them. Once a host has opened a session, its
reply to the message counts, and no other host is tried.

TLS is opportunistic by default and the certificate is not checked, as RFC 7435 describes for hosts
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
from chalicelib.delivery.transports.session_pool import PoolLimits, SessionKey, SessionPool
from chalicelib.delivery.transports.smtp_opening import (
    SessionOptions,
    SessionRefused,
    open_session,
)
from chalicelib.delivery.transports.smtp_session import SessionFailed, SmtpSession

MOST_ADDRESSES = 5
"""Addresses tried for one message in one attempt."""


class MxTransport:
    """Deliver to the hosts that the DNS names, and reuse sessions for domains with the same hosts.

    `limits.connections` bounds the connections of a message's path, or else of its domain.
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
        name = message.recipient.rpartition("@")[2].lower()
        domain = domain_names.in_a_labels(name) or name  # the resolver refuses an unusable name
        ehlo_name = message.ehlo_name or self._ehlo_name
        key = SessionKey(
            message.hosts or domain, message.source_address, ehlo_name, message.path or domain
        )
        return self._pool.deliver(key, lambda: self._connect(domain, key), message, commit)

    def close(self) -> None:
        """Close every idle connection."""
        self._pool.close()

    def _connect(self, domain: str, key: SessionKey) -> SmtpSession:
        """Return a session with the best host of a domain that opens one."""
        failures: list[SessionFailed] = []
        candidates = self._hosts.addresses(domain, key.source_address)
        for _, (host, address) in zip(range(MOST_ADDRESSES), candidates, strict=False):
            try:
                return open_session(
                    (address, self._port),
                    key.ehlo_name,
                    self._options,
                    source_address=key.source_address,
                    host_name=host,
                )
            except SessionFailed as error:
                failures.append(error)
        raise _failure_of(failures)


def _failure_of(failures: Sequence[SessionFailed]) -> SessionFailed:
    """Return the outcome for the message when all hosts that were tried (at least one) failed."""
    temporary = [failure for failure in failures if not _is_final(failure)]
    if temporary:
        return temporary[-1]
    return SessionFailed(Failed(**asdict(failures[0].outcome)))


def _is_final(failure: SessionFailed) -> bool:
    return isinstance(failure, SessionRefused) and failure.outcome.code >= 500
