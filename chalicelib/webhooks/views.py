"""A webhook as callers see it (spec 2.10).

Its secrets are shown to those who may change it, and who could therefore have them sent anywhere;
to others only what is not secret of them. A signing secret is shown once, when it is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from chalicelib.core.errors import bad_request
from chalicelib.core.settings import settings
from chalicelib.webhooks.circuit_breaker import State
from chalicelib.webhooks.credentials import Credentials
from chalicelib.webhooks.model import ALL, BASIC, OAUTH2, Webhook
from chalicelib.webhooks.names import names
from chalicelib.webhooks.oauth import Token

Json = dict[str, Any]

_LINKS = {
    "webhook": ("", ["GET", "PUT", "DELETE"]),
    "validate": ("/validate", ["POST"]),
    "batches": ("/batch-status", ["GET"]),
}


def zone(query: Mapping[str, str]) -> ZoneInfo:
    """Return the time zone of a query, UTC unless it names one; raises 400."""
    name = query.get("timezone") or "UTC"
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        text = "timezone must be the name of a time zone, such as Europe/Oslo"
        raise bad_request(text, param="timezone", value=name[:100]) from None


def links(webhook_id: str) -> list[Json]:
    """Return the links of a webhook."""
    base = f"{settings().public_url}/api/v1/webhooks/{webhook_id}"
    return [
        {"href": base + path, "rel": f"{names().relation}.{name}", "method": methods}
        for name, (path, methods) in _LINKS.items()
    ]


def shown(
    webhook: Webhook,
    credentials: Credentials,
    state: State,
    token: Token | None,
    zone: ZoneInfo,
    *,
    secrets: bool,
) -> Json:
    """Return the webhook object, its times in ``zone``."""
    fields: Json = {
        "id": webhook.id,
        "name": webhook.name,
        "target": webhook.target,
        "events": list(webhook.events),
        "active": webhook.active,
        "subaccount_id": webhook.source,
        "auth_type": webhook.auth_type,
        **_authentication(webhook, credentials, token, secrets=secrets),
        "custom_headers": dict(credentials.headers) if secrets else {},
        "signed": bool(credentials.signing),
        "last_successful": _time(state.success_ms, zone),
        "last_failure": _time(state.failure_ms, zone),
        "links": links(webhook.id),
    }
    if webhook.source == ALL:
        fields["exception_subaccounts"] = list(webhook.exceptions)
    if credentials.auth_token and secrets:
        fields["auth_token"] = credentials.auth_token
    return fields


def _authentication(
    webhook: Webhook, credentials: Credentials, token: Token | None, *, secrets: bool
) -> Json:
    if webhook.auth_type == BASIC:
        pair = {"username": credentials.username, "password": credentials.password}
        return {"auth_credentials": pair if secrets else {"username": credentials.username}}
    if webhook.auth_type != OAUTH2:
        return {}
    details: Json = {"url": credentials.token_url}
    if not secrets:
        return {"auth_request_details": details}
    details["body"] = dict(credentials.token_body)
    return {
        "auth_request_details": details,
        "auth_credentials": token.as_json() if token else {},
    }


def _time(moment_ms: int, zone: ZoneInfo) -> str | None:
    if not moment_ms:
        return None
    return f"{datetime.fromtimestamp(moment_ms / 1000, zone):%Y-%m-%d %H:%M:%S}"
