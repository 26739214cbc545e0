"""Serve what posts to relay webhooks: tests, payloads and redeliveries of messages."""

from __future__ import annotations

from typing import Final

from chalicelib.core.errors import NotFound
from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.received_mail import store as received_mail
from chalicelib.relay_webhooks import service
from chalicelib.relaying import example
from chalicelib.webhook_dispatch import kinds
from chalicelib.webhook_dispatch.batch_kind import BodyGone
from chalicelib.webhook_dispatch.redelivery import redeliver
from chalicelib.webhook_dispatch.relay_batches import body_of
from chalicelib.webhooks import target_check
from chalicelib.webhooks.store import batches
from chalicelib.webhooks.view import batch_details

routes = Routes(__name__)

#: Bytes of a payload that is shown: an answer of Lambda has at most 6 MB
LARGEST_SHOWN: Final = 4_000_000
_ONE = "/api/v1/relay-webhooks/{webhook_id}"
_BATCH = _ONE + "/batches/{batch_id}"
_VIEW = "relay_webhooks/view"
_MODIFY = "relay_webhooks/modify"


@routes.post(_ONE + "/validate", grant=_MODIFY, waits=True)
def validate_relay_webhook(request: Request, webhook_id: str) -> Reply:
    """Post an example message to the target and show its response."""
    webhook = service.find(request.caller.scope, webhook_id)
    with target_check.time_limit(), example.body(webhook) as body:
        response = target_check.check_target(webhook, body)
    return ok({"msg": "Test POST to endpoint succeeded", "response": response})


@routes.get(_BATCH, grant=_VIEW)
def show_relay_batch(request: Request, webhook_id: str, batch_id: str) -> Reply:
    """Show a message of the last ten days: its payload, and how each attempt to post it went."""
    webhook = service.find(request.caller.scope, webhook_id)
    stored_batch = batches.find(webhook.id, batch_id)
    if stored_batch is None:
        raise _not_found(batch_id)
    may_modify = _MODIFY in request.caller.grants
    payload = _payload(webhook.account_id, batch_id) if may_modify else None
    return ok(batch_details(stored_batch[0], payload, answers=may_modify))


@routes.post(_BATCH + "/redeliver", grant=_MODIFY)
def redeliver_relay_batch(request: Request, webhook_id: str, batch_id: str) -> Reply:
    """Post a message of the last ten days again."""
    webhook = service.find(request.caller.scope, webhook_id)
    if not redeliver(kinds.relays(), webhook, batch_id):
        raise _not_found(batch_id)
    return ok({"batch_id": batch_id, "message": "The batch is queued"})


def _payload(account_id: int, batch_id: str) -> bytes | None:
    """Return what was posted, unless it is too large to be shown or no longer stored."""
    message = received_mail.get(account_id, batch_id)
    if message is None or message.size > LARGEST_SHOWN:
        return None
    try:
        with body_of(message) as body:
            return None if body.size > LARGEST_SHOWN else b"".join(body.pieces())
    except BodyGone:
        return None


def _not_found(batch_id: str) -> NotFound:
    return NotFound(f"batch '{batch_id[:100]}' could not be found")
