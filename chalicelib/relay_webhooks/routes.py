"""Serve ``/relay-webhooks``, but for what posts: ``webhook_dispatch/relay_routes.py`` has that."""

from __future__ import annotations

from chalicelib.core.fields import integer
from chalicelib.core.http import Reply, Request, Routes, empty, ok
from chalicelib.core.json_types import Json
from chalicelib.relay_webhooks import service, store
from chalicelib.relay_webhooks.model import RelayWebhook
from chalicelib.relay_webhooks.request import nothing_to_change
from chalicelib.relay_webhooks.view import relay_webhook_view
from chalicelib.webhooks.credentials import open_sealed
from chalicelib.webhooks.store import batches, circuit_breakers
from chalicelib.webhooks.view import batch_view

routes = Routes(__name__)

_PATH = "/api/v1/relay-webhooks"
_ONE = _PATH + "/{webhook_id}"
_VIEW = "relay_webhooks/view"
_MODIFY = "relay_webhooks/modify"
_DEFAULT_BATCHES = 1000
_MOST_BATCHES = 10_000


@routes.post(_PATH, grant=_MODIFY)
def create_relay_webhook(request: Request) -> Reply:
    """Add a relay webhook for an inbound domain."""
    return ok({"id": service.create(request.caller.scope, request.json()).id})


@routes.get(_PATH, grant=_VIEW)
def list_relay_webhooks(request: Request) -> Reply:
    """List the relay webhooks in scope."""
    return ok(_views(request, store.in_scope(request.caller.scope)))


@routes.get(_ONE, grant=_VIEW)
def show_relay_webhook(request: Request, webhook_id: str) -> Reply:
    """Show one relay webhook."""
    (view,) = _views(request, [service.find(request.caller.scope, webhook_id)])
    return ok(view)


@routes.put(_ONE, grant=_MODIFY)
def update_relay_webhook(request: Request, webhook_id: str) -> Reply:
    """Change a relay webhook."""
    scope = request.caller.scope
    before = service.find(scope, webhook_id)
    if not request.raw_body:
        raise nothing_to_change()
    webhook = service.update(scope, before, request.json())
    return ok({"id": webhook.id})


@routes.delete(_ONE, grant=_MODIFY)
def delete_relay_webhook(request: Request, webhook_id: str) -> Reply:
    """Delete a relay webhook; messages that are already queued are still posted."""
    scope = request.caller.scope
    service.delete(scope, service.find(scope, webhook_id))
    return empty(200)


@routes.get(_ONE + "/batch-status", grant=_VIEW)
def list_relay_batches(request: Request, webhook_id: str) -> Reply:
    """Show how posting the latest messages went, newest first."""
    limit = integer(request.query, "limit", _DEFAULT_BATCHES, 1, _MOST_BATCHES)
    webhook = service.find(request.caller.scope, webhook_id)
    return ok([batch_view(batch) for batch in batches.newest(webhook.id, limit)])


@routes.post(_ONE + "/signing-secret", grant=_MODIFY)
def draw_relay_signing_secret(request: Request, webhook_id: str) -> Reply:
    """Sign messages with a new secret, shown once; the former secret stays in use for a day."""
    scope = request.caller.scope
    secret = service.draw_secret(scope, service.find(scope, webhook_id))
    return ok({"signing_secret": secret})


@routes.delete(_ONE + "/signing-secret", grant=_MODIFY)
def drop_relay_signing_secret(request: Request, webhook_id: str) -> Reply:
    """Stop signing messages."""
    scope = request.caller.scope
    service.drop_secrets(scope, service.find(scope, webhook_id))
    return empty(204)


def _views(request: Request, webhooks: list[RelayWebhook]) -> list[Json]:
    breakers = circuit_breakers.of_all([webhook.id for webhook in webhooks])
    return [
        relay_webhook_view(
            webhook,
            open_sealed(webhook.sealed, webhook.id),
            breakers[webhook.id],
            secrets=_MODIFY in request.caller.grants,
        )
        for webhook in webhooks
    ]
