"""Let mail wait whose IP pool has no sending IP: every attempt is to be repeated."""

from __future__ import annotations

from chalicelib.core.bounce_classes import TRANSIENT_FAILURE
from chalicelib.delivery.outcome import Outcome, Retry, internal
from chalicelib.delivery.transports import Commit, OutboundMessage


class ClosedPool:
    """The transport of a pool that has lost its IPs. It may get one again before mail expires."""

    def __init__(self, pool_id: str) -> None:
        self._text = f"IP pool '{pool_id}' has no sending IP"

    def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
        """Return a ``Retry``; nothing is sent."""
        return Retry(451, internal("4.3.0", self._text), TRANSIENT_FAILURE)

    def close(self) -> None:
        """Do nothing: there is no connection."""
