"""Count what a relay does, and write it to the log as records.

The logger is `relay`; a record's figures are in `fields` (`core.logs`). From time to time the
changes since the last record are written as metrics, so the records of all processes add up. A
record names no sender, recipient or content.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from relay.backend import SubmittedEnvelope
from relay.replies import Reply

logger = logging.getLogger("relay")

# Accept times that are remembered between two records.
_MOST_TIMES = 10_000


@dataclass(slots=True)
class Totals:
    """Numbers since the start."""

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


@dataclass(slots=True)
class Counters(Totals):
    """Totals of one server, and the times from the end of DATA to its 250."""

    _last_written: Totals = field(default_factory=Totals)
    _seconds: deque[float] = field(default_factory=lambda: deque(maxlen=_MOST_TIMES))

    def accepted(
        self, message_id: str, envelope: SubmittedEnvelope, octets: int, seconds: float
    ) -> None:
        """Count and log a message of so many octets that was stored."""
        recipients = len(envelope.recipients)
        self.messages_accepted += 1
        self.recipients_accepted += recipients
        self.octets_accepted += octets
        self._seconds.append(seconds)
        _record(
            "message accepted",
            message_id=message_id,
            peer_ip=envelope.peer_ip,
            recipients=recipients,
            octets=octets,
            seconds=round(seconds, 6),
        )

    def refused(self, reply: Reply, peer_ip: str) -> None:
        """Count and log a message that was refused (5xx) or deferred (4xx)."""
        if reply.code >= 500:
            self.messages_refused += 1
        else:
            self.messages_deferred += 1
        _record(
            "message refused",
            reply_code=reply.code,
            reply_enhanced=reply.enhanced,
            reply_text=reply.text,
            peer_ip=peer_ip,
        )

    def write(self, service: str, ports: Sequence[int], connections_open: int) -> None:
        """Write the changes since the last record; `service` is their dimension."""
        counts: dict[str, float] = {"ConnectionsOpen": connections_open}
        for total in fields(Totals):
            now = getattr(self, total.name)
            counts[_metric(total.name)] = now - getattr(self._last_written, total.name)
            setattr(self._last_written, total.name, now)
        times = sorted(self._seconds)
        self._seconds.clear()
        if times:
            counts["MedianAcceptTime"] = _milliseconds(times[len(times) // 2])
            counts["SlowAcceptTime"] = _milliseconds(times[len(times) * 99 // 100])
            counts["SlowestAcceptTime"] = _milliseconds(times[-1])
        if not logger.isEnabledFor(logging.INFO):
            return
        # Imported here: the library takes a tenth of a second of a start
        from chalicelib.core import logs

        logs.measured(
            logger,
            "relay counters",
            counts,
            dimensions={"Service": service},
            ports=list(ports),
            process_id=os.getpid(),
        )


def _record(message: str, **details: object) -> None:
    logger.info(message, extra=details)


def _metric(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)
