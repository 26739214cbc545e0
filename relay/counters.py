"""What a relay does, counted since its start and written to the log as records.

The logger is `relay`. The figures are in `extra`, each an attribute of the record, so that a JSON
formatter turns them into fields. A record names no sender, recipient or content.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass

from relay.ports import Envelope
from relay.replies import Reply

logger = logging.getLogger("relay")


@dataclass(slots=True)
class Counters:
    """Totals of one server; accept times are seconds from the end of DATA to its reply."""

    connections: int = 0
    connections_refused: int = 0
    logins: int = 0
    logins_refused: int = 0
    messages_accepted: int = 0
    messages_refused: int = 0
    messages_deferred: int = 0
    octets_accepted: int = 0
    recipients_accepted: int = 0
    faults: int = 0
    accept_seconds: float = 0.0
    slowest_accept_seconds: float = 0.0

    def accepted(self, message_id: str, envelope: Envelope, seconds: float) -> None:
        """Count and record a message that is stored."""
        recipients, octets = len(envelope.recipients), len(envelope.data)
        self.messages_accepted += 1
        self.recipients_accepted += recipients
        self.octets_accepted += octets
        self.accept_seconds += seconds
        self.slowest_accept_seconds = max(self.slowest_accept_seconds, seconds)
        logger.info(
            "message accepted",
            extra={
                "message_id": message_id,
                "peer_ip": envelope.peer_ip,
                "recipients": recipients,
                "octets": octets,
                "seconds": round(seconds, 6),
            },
        )

    def refused(self, reply: Reply, peer_ip: str) -> None:
        """Count and record a message that is refused for good (5xx) or for now (4xx)."""
        if reply.code >= 500:
            self.messages_refused += 1
        else:
            self.messages_deferred += 1
        logger.info(
            "message refused",
            extra={
                "reply_code": reply.code,
                "reply_enhanced": reply.enhanced,
                "reply_text": reply.text,
                "peer_ip": peer_ip,
            },
        )

    def write(self, ports: tuple[int, ...], connections_open: int) -> None:
        """Write all figures as one record."""
        figures = {**asdict(self), "connections_open": connections_open, "ports": list(ports)}
        logger.info("relay counters", extra=figures)
