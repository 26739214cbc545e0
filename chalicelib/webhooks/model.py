"""Webhooks, their batches and access tokens, and which events a webhook gets (spec 2.10)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from chalicelib.core.message_event import Event
from chalicelib.core.scope import PRIMARY
from chalicelib.core.settings import settings
from chalicelib.events.documentation import type_of

#: The source of a webhook that gets the events of the primary account and of all subaccounts
ALL: Final = -1

NONE: Final = "none"
BASIC: Final = "basic"
OAUTH2: Final = "oauth2"
AUTH_TYPES: Final = (NONE, BASIC, OAUTH2)

_TOKEN_MARGIN_MS = 30_000


class Endpoint(Protocol):
    """What batches are posted to: a webhook, or a relay webhook (``relay_webhooks.model``)."""

    @property
    def id(self) -> str:
        """The id, which no other endpoint of any kind has."""

    @property
    def account_id(self) -> int:
        """The account that it belongs to."""

    @property
    def subaccount_id(self) -> int | None:
        """The subaccount that owns it, ``None`` for the primary account."""

    @property
    def target(self) -> str:
        """The URL."""

    @property
    def auth_type(self) -> str:
        """One of ``AUTH_TYPES``."""

    @property
    def sealed(self) -> bytes:
        """The secrets (``webhooks.credentials``)."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook. Times are in milliseconds.

    ``source`` says whose events it gets: -1 for the primary account and all subaccounts, 0 for the
    primary account, or a subaccount id. ``subaccount_id`` is the subaccount that owns it, ``None``
    for the primary account; only the owner sees, changes and deletes it. ``sealed`` holds the
    secrets (``webhooks.credentials``). A deleted webhook is stored until its queued batches are
    out.
    """

    id: str
    account_id: int
    name: str
    target: str
    events: tuple[str, ...]
    created_ms: int
    source: int = ALL
    subaccount_id: int | None = None
    active: bool = True
    exceptions: tuple[int, ...] = ()
    auth_type: str = NONE
    sealed: bytes = b""
    deleted_ms: int | None = None
    revision: int = field(default=0, compare=False)

    @property
    def types(self) -> frozenset[str]:
        """Return the event types that are selected."""
        return frozenset(type_of(name) or name for name in self.events)

    def collects(self, now_ms: int) -> bool:
        """Tell whether new events go to the webhook: it is active and a minute old (spec 3)."""
        begins = self.created_ms + settings().webhook_start * 1000
        return self.active and self.deleted_ms is None and now_ms >= begins

    def covers(self, event: Event) -> bool:
        """Tell whether an event of the account comes from the webhook's source."""
        subaccount = int(event.get("subaccount_id") or PRIMARY)
        if self.source == ALL:
            return subaccount not in self.exceptions
        return subaccount == self.source


@dataclass(frozen=True, slots=True)
class WebhookBatch:
    """A batch after an attempt. ``attempts`` counts failed posts, ``latency`` is milliseconds.

    Without a response ``response_code`` is ``None`` and ``failure_code`` says why; before the first
    attempt of a redelivery there is neither. ``round`` counts the redeliveries that were requested.
    ``answer`` and ``earlier`` are those of ``webhooks.attempts``.
    """

    webhook_id: str
    batch_id: str
    size: int
    at_ms: int
    attempts: int = 0
    response_code: int | None = None
    failure_code: str = ""
    latency: int = 0
    delivered: bool = False
    round: int = 0
    answer: str = ""
    earlier: bytes = b""


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An OAuth access token. ``details`` is a digest of the request that got it."""

    value: str
    details: str
    fetched_ms: int
    expires_in: int | None = None

    def is_fresh(self, details: str, now_ms: int) -> bool:
        """Tell whether the token can be used with these details."""
        if self.details != details:
            return False
        if self.expires_in is None:
            return True
        lifetime = self.expires_in * 1000
        return now_ms < self.fetched_ms + max(lifetime - _TOKEN_MARGIN_MS, lifetime // 2)


def shown_fields(webhook: Webhook) -> dict[str, Any]:
    """Return the fields of a webhook that the audit log tells about.

    Of its secrets the log tells only that they have changed (``audit`` hides this field): they are
    sealed anew only then.
    """
    return {
        "name": webhook.name,
        "target": webhook.target,
        "events": list(webhook.events),
        "active": webhook.active,
        "subaccount_id": webhook.source,
        "exception_subaccounts": list(webhook.exceptions),
        "auth_type": webhook.auth_type,
        "credentials": webhook.sealed.hex(),
    }
