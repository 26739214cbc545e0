"""Describe a relay webhook: where the mail of one inbound domain is posted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.webhooks.model import NONE, OAUTH2

AUTH_TYPES: Final = (NONE, OAUTH2)
#: The one protocol by which mail comes in
SMTP: Final = "SMTP"


@dataclass(frozen=True, slots=True)
class RelayWebhook:
    """A relay webhook. Times are in milliseconds.

    It gets the mail of ``domain``, an inbound domain, and belongs to the owner of that:
    ``subaccount_id`` is ``None`` for the primary account. ``sealed`` holds the secrets
    (``webhooks.credentials``). A deleted one is stored until its queued messages are out.
    """

    id: str
    account_id: int
    name: str
    target: str
    domain: str
    created_ms: int
    subaccount_id: int | None = None
    auth_type: str = NONE
    sealed: bytes = b""
    deleted_ms: int | None = None
    revision: int = field(default=0, compare=False)


def shown_fields(webhook: RelayWebhook) -> dict[str, Any]:
    """Return the fields of a relay webhook that the audit log tells about.

    Of its secrets the log tells only that they have changed (``audit`` hides this field): they are
    sealed anew only then.
    """
    return {
        "name": webhook.name,
        "target": webhook.target,
        "domain": webhook.domain,
        "auth_type": webhook.auth_type,
        "credentials": webhook.sealed.hex(),
    }
