"""Show relay webhooks as the API does.

As with webhooks, only a caller who may change a relay webhook sees its secrets.
"""

from __future__ import annotations

from datetime import UTC, datetime

from chalicelib.core.json_types import Json
from chalicelib.relay_webhooks.model import SMTP, RelayWebhook
from chalicelib.webhooks.circuit_breaker import CircuitBreaker
from chalicelib.webhooks.credentials import Credentials
from chalicelib.webhooks.model import OAUTH2


def relay_webhook_view(
    webhook: RelayWebhook, credentials: Credentials, breaker: CircuitBreaker, *, secrets: bool
) -> Json:
    """Return the relay webhook object; times are UTC."""
    fields: Json = {
        "id": webhook.id,
        "name": webhook.name,
        "target": webhook.target,
        "auth_type": webhook.auth_type,
        "match": {"protocol": SMTP, "domain": webhook.domain},
        "signed": bool(credentials.signing),
        "last_successful": _time(breaker.success_ms),
        "last_failure": _time(breaker.failure_ms),
    }
    if webhook.subaccount_id is not None:
        fields["subaccount_id"] = webhook.subaccount_id
    if webhook.auth_type == OAUTH2:
        body = {"body": dict(credentials.token_body)} if secrets else {}
        fields["auth_request_details"] = {"url": credentials.token_url, **body}
    if secrets:
        fields["custom_headers"] = dict(credentials.headers)
    if secrets and credentials.auth_token:
        fields["auth_token"] = credentials.auth_token
    return fields


def _time(moment_ms: int) -> str | None:
    if not moment_ms:
        return None
    return f"{datetime.fromtimestamp(moment_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"
