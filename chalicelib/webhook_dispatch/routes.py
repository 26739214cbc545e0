"""Serve ``/webhooks/{id}/batches/{batch}/redeliver``, which is beyond the specification."""

from __future__ import annotations

from chalicelib.core.errors import NotFound
from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.webhook_dispatch import kinds
from chalicelib.webhook_dispatch.redelivery import redeliver
from chalicelib.webhooks.store import webhooks as webhook_store

routes = Routes(__name__)


@routes.post("/api/v1/webhooks/{webhook_id}/batches/{batch_id}/redeliver", grant="webhooks/modify")
def redeliver_batch(request: Request, webhook_id: str, batch_id: str) -> Reply:
    """Post a batch of the last day again."""
    webhook = webhook_store.find(request.caller.scope, webhook_id)
    if webhook is None or not redeliver(kinds.EVENTS, webhook, batch_id):
        raise NotFound(f"batch '{batch_id[:100]}' could not be found")
    return ok({"batch_id": batch_id, "message": "The batch is queued"})
