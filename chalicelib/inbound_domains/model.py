"""Describe an inbound domain, and choose what becomes of a message by its local part."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

VALID: Final = "valid"
INVALID: Final = "invalid"
UNVERIFIED: Final = "unverified"


class Action(StrEnum):
    """What becomes of a message."""

    WEBHOOK = "webhook"
    FORWARD = "forward"
    STORE = "store"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class MailRoute:
    """What becomes of mail to the local parts that match ``pattern``.

    In a pattern ``*`` stands for any number of characters, and letter case does not count.
    ``forward_to`` is the address that ``forward`` sends to, else empty.
    """

    pattern: str
    action: Action
    forward_to: str = ""

    def matches(self, local_part: str) -> bool:
        """Tell whether the route is for a local part."""
        return _matches(self.pattern.lower().split("*"), local_part.lower())


@dataclass(frozen=True, slots=True)
class InboundDomain:
    """One domain. ``created_ms`` and ``mx_checked_ms`` are milliseconds, ``None`` for never.

    ``subaccount_id`` is ``None`` for the primary account. ``relay_webhook_id`` names the relay
    webhook that gets its mail, empty without one: a domain has at most one. ``mx_records`` are
    those that the last check found, such as ``10 mail.example.com``, and ``mx_error`` is what was
    wrong with them. ``check_ms`` is when the next check is due.
    """

    domain: str
    account_id: int
    created_ms: int
    subaccount_id: int | None = None
    relay_webhook_id: str = ""
    routes: tuple[MailRoute, ...] = ()
    mx_status: str = UNVERIFIED
    mx_checked_ms: int | None = None
    mx_records: tuple[str, ...] = ()
    mx_error: str = ""
    check_ms: int = 0
    revision: int = field(default=0, compare=False)

    def route_for(self, local_part: str) -> MailRoute:
        """Return the first route that is for a local part.

        Without one, mail goes to the relay webhook, and is stored if there is none (which is also
        what a route to the webhook does then).
        """
        usual = Action.WEBHOOK if self.relay_webhook_id else Action.STORE
        route = next((each for each in self.routes if each.matches(local_part)), None)
        if route is None or (route.action is Action.WEBHOOK and not self.relay_webhook_id):
            return MailRoute(route.pattern if route else "*", usual)
        return route


def shown_fields(domain: InboundDomain) -> dict[str, Any]:
    """Return the fields of a domain that the audit log tells about."""
    return {
        "mx_status": domain.mx_status,
        "relay_webhook": domain.relay_webhook_id,
        "routes": [
            {"pattern": each.pattern, "action": each.action.value, "forward_to": each.forward_to}
            for each in domain.routes
        ],
    }


def _matches(literals: list[str], text: str) -> bool:
    """Tell whether a text has these in their order, the first and the last at its ends.

    Regular expressions would take exponential time for some patterns.
    """
    first, *rest = literals
    if not rest:
        return text == first
    *inner, last = rest
    at, end = len(first), len(text) - len(last)
    if not (text.startswith(first) and text.endswith(last) and at <= end):
        return False
    for literal in inner:
        place = text.find(literal, at, end)
        if place < 0:
            return False
        at = place + len(literal)
    return True
