"""Send every message to one SMTP host: the `smtp` transport.

The operator chooses the host, so its address may be private. A refusal before the message (in the
greeting or AUTH) never fails the message: a wrong password must not bounce the mail that waits for
it.
"""

from __future__ import annotations

import socket

from chalicelib.delivery.outcome import Outcome
from chalicelib.delivery.transports import Commit, OutboundMessage
from chalicelib.delivery.transports.idle_sessions import SessionKey
from chalicelib.delivery.transports.session_pool import PoolLimits, SessionPool
from chalicelib.delivery.transports.smtp_opening import SessionOptions, open_session
from chalicelib.delivery.transports.smtp_session import SmtpSession


class SmarthostTransport:
    """Deliver by one SMTP host; sessions are reused and shared by the threads of the process."""

    def __init__(
        self,
        host: str,
        port: int,
        options: SessionOptions | None = None,
        limits: PoolLimits | None = None,
        ehlo_name: str = "",
    ) -> None:
        self._address = (host, port)
        self._options = options or SessionOptions()
        self._ehlo_name = ehlo_name or socket.gethostname()
        self._pool = SessionPool(limits or PoolLimits())

    def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
        """Attempt the message once."""
        ehlo_name = message.ehlo_name or self._ehlo_name
        host, port = self._address
        name = f"{host}:{port}"
        key = SessionKey(name, message.source_address, ehlo_name, name)

        def connect() -> SmtpSession:
            return open_session(
                self._address, ehlo_name, self._options, source_address=message.source_address
            )

        return self._pool.send(key, connect, message, commit)

    def close(self) -> None:
        """Close every idle connection."""
        self._pool.close()
