"""Show webhooks, batches and test responses as the API does (spec 2.10).

A caller who may change a webhook sees its secrets, because that caller could have them sent
anywhere; for other callers these fields are left out. The same holds for what a target answered,
which may repeat its secrets, and for a batch's payload, unless the caller may read events. A
signing secret is shown once, when it is drawn.
"""

from __future__ import annotations

from datetime import datetime, tzinfo

from chalicelib.core import clock
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from chalicelib.webhooks.attempts import Attempt, history
from chalicelib.webhooks.circuit_breaker import CircuitBreaker
from chalicelib.webhooks.credentials import Credentials
from chalicelib.webhooks.model import ALL, BASIC, OAUTH2, AccessToken, Webhook, WebhookBatch
from chalicelib.webhooks.names import names
from chalicelib.webhooks.posting import PostResult

_LINKS = {
    "webhook": ("", ["GET", "PUT", "DELETE"]),
    "validate": ("/validate", ["POST"]),
    "batches": ("/batch-status", ["GET"]),
}


def links(webhook_id: str) -> list[Json]:
    """Return the links of a webhook."""
    base = f"{settings().public_url}/api/v1/webhooks/{webhook_id}"
    return [
        {"href": base + path, "rel": f"{names().relation}.{name}", "method": methods}
        for name, (path, methods) in _LINKS.items()
    ]


def webhook_view(
    webhook: Webhook,
    credentials: Credentials,
    breaker: CircuitBreaker,
    token: AccessToken | None,
    zone: tzinfo,
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
        "signed": bool(credentials.signing),
        "last_successful": _time(breaker.success_ms, zone),
        "last_failure": _time(breaker.failure_ms, zone),
        "links": links(webhook.id),
    }
    if webhook.source == ALL:
        fields["exception_subaccounts"] = list(webhook.exceptions)
    if secrets:
        fields["custom_headers"] = dict(credentials.headers)
    if secrets and credentials.auth_token:
        fields["auth_token"] = credentials.auth_token
    return fields


def batch_view(batch: WebhookBatch) -> Json:
    """Return the batch status object."""
    code = batch.response_code
    return {
        "webhook_id": batch.webhook_id,
        "batch_id": batch.batch_id,
        "batch_size": batch.size,
        "ts": clock.iso_offset(batch.at_ms // 1000),
        "attempts": batch.attempts,
        "response_code": None if code is None else str(code),
        "failure_code": batch.failure_code or None,
        "latency": batch.latency,
    }


def batch_details(batch: WebhookBatch, body: bytes | None, *, answers: bool) -> Json:
    """Return the batch status object with the attempts and, unless ``None``, the payload.

    ``answers`` says whether the caller may see what the target answered.
    """
    details = batch_view(batch) | {
        "delivered": batch.delivered,
        "history": [_attempt_view(attempt, answer=answers) for attempt in history(batch)],
    }
    return details | ({} if body is None else {"payload": body.decode()})


def _attempt_view(attempt: Attempt, *, answer: bool) -> Json:
    code = attempt.response_code
    view: Json = {
        "ts": clock.iso_ms(attempt.at_ms),
        "response_code": None if code is None else str(code),
        "failure_code": attempt.failure_code or None,
        "latency": attempt.latency,
    }
    if code is None:
        return view | {"reason": attempt.answer}
    return view | ({"response": attempt.answer} if answer else {})


def response_view(result: PostResult) -> Json:
    """Return a target's response to a test POST."""
    return {
        "status": result.status,
        "headers": dict(result.headers),
        "body": result.body.decode("utf-8", "replace"),
    }


def _authentication(
    webhook: Webhook, credentials: Credentials, token: AccessToken | None, *, secrets: bool
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
    return {"auth_request_details": details, "auth_credentials": _token_view(token)}


def _token_view(token: AccessToken | None) -> Json:
    """Return the ``auth_credentials`` that the service has set (spec 2.10)."""
    return {"access_token": token.value, "expires_in": token.expires_in} if token else {}


def _time(moment_ms: int, zone: tzinfo) -> str | None:
    if not moment_ms:
        return None
    return f"{datetime.fromtimestamp(moment_ms / 1000, zone):%Y-%m-%d %H:%M:%S}"
