"""The webhook record (spec 2.10), and which events a webhook gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.core.scope import PRIMARY
from chalicelib.core.settings import settings
from chalicelib.events.documentation import TYPES

#: The source of a webhook that gets the events of the primary account and of all subaccounts
ALL: Final = -1

NONE: Final = "none"
BASIC: Final = "basic"
OAUTH2: Final = "oauth2"
AUTH_TYPES: Final = (NONE, BASIC, OAUTH2)

#: Names under which a type may be selected as well (spec 6 names one)
_SPELLINGS: Final = {"rejection": "policy_rejection"}


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook. Times are milliseconds.

    ``source``: -1 for the primary account and all subaccounts, 0 for the primary account, else a
    subaccount; the webhook belongs to the same part of the account. ``sealed`` holds what is
    secret (``webhooks.credentials``). A deleted webhook is kept until its queued batches are out.
    """

    id: str
    account_id: int
    name: str
    target: str
    events: tuple[str, ...]
    created_ms: int
    source: int = ALL
    active: bool = True
    exceptions: tuple[int, ...] = ()
    auth_type: str = NONE
    sealed: bytes = b""
    deleted_ms: int | None = None
    version: int = field(default=0, compare=False)

    @property
    def subaccount_id(self) -> int | None:
        """Return the subaccount that the webhook belongs to, ``None`` for the primary account."""
        return self.source if self.source > PRIMARY else None

    @property
    def types(self) -> frozenset[str]:
        """Return the event types that are selected."""
        return frozenset(_SPELLINGS.get(name, name) for name in self.events)

    def collects(self, now_ms: int) -> bool:
        """Tell whether new events go to it: it is active, and a minute old (spec 3)."""
        begins = self.created_ms + settings().webhook_start * 1000
        return self.active and self.deleted_ms is None and now_ms >= begins

    def covers(self, event: Mapping[str, Any]) -> bool:
        """Tell whether an event of the account comes from the webhook's source."""
        subaccount = int(event.get("subaccount_id") or PRIMARY)
        if self.source == ALL:
            return subaccount not in self.exceptions
        return subaccount == self.source


def type_of(name: str) -> str | None:
    """Return the event type that may be selected as ``name``, ``None`` if there is none."""
    kind = _SPELLINGS.get(name, name)
    return kind if kind in TYPES else None
