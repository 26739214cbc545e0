"""Refuse to let mail leave this machine: what the setting ``DELIVER`` does where it is false.

The message bounces at once, with a reason that names the way out: a developer sees it in the first
event, and mail that waited would leave days later, when somebody has switched delivery on.
"""

from __future__ import annotations

from chalicelib.core.bounce_classes import ADMIN_FAILURE
from chalicelib.delivery.outcome import Failed, Outcome, internal
from chalicelib.delivery.transports import Commit, OutboundMessage


def refuse(host: str) -> Failed:
    """Return the outcome of a message that would go to ``host``."""
    text = f"no mail leaves this machine without --deliver (DELIVER=true), so none to {host}"
    return Failed(550, internal("5.7.1", text), ADMIN_FAILURE)


class KeptMail:
    """The transport of a service that is not on this machine."""

    def __init__(self, service: str) -> None:
        self._service = service

    def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
        """Return a ``Failed``; nothing is sent."""
        return refuse(self._service)

    def close(self) -> None:
        """Do nothing: there is no connection."""
