"""Serve ``/webhooks`` (spec 4.9) and, beyond the specification, signing secrets."""

from __future__ import annotations

from typing import Any

from chalicelib.authentication.service import SUBACCOUNT_HEADERS
from chalicelib.core.errors import NotFound
from chalicelib.core.fields import integer
from chalicelib.core.http import PUBLIC, Reply, Request, Routes, empty, ok
from chalicelib.core.scope import PRIMARY
from chalicelib.webhooks import reference, service, target_check
from chalicelib.webhooks.credentials import open_sealed
from chalicelib.webhooks.model import ALL, Webhook
from chalicelib.webhooks.request import read_test_batch, read_time_zone
from chalicelib.webhooks.store import batches, circuit_breakers, tokens
from chalicelib.webhooks.store import webhooks as webhook_store
from chalicelib.webhooks.view import batch_details, batch_view, links, webhook_view

routes = Routes(__name__)

_PATH = "/api/v1/webhooks"
_VIEW = "webhooks/view"
_MODIFY = "webhooks/modify"
_EVENTS = "message_events/view"
_DEFAULT_BATCHES = 1000
_MOST_BATCHES = 10_000


@routes.post(_PATH, grant=_MODIFY, waits=True)
def create_webhook(request: Request) -> Reply:
    """Add a webhook, once its target has answered the test POST."""
    source = _source_of(request)
    return _link_reply(service.create(request.caller.scope, source, request.json()))


@routes.get(_PATH, grant=_VIEW)
def list_webhooks(request: Request) -> Reply:
    """List the webhooks in scope."""
    return ok(_views(request, webhook_store.in_scope(request.caller.scope)))


@routes.get(_PATH + "/{webhook_id}", grant=_VIEW)
def show_webhook(request: Request, webhook_id: str) -> Reply:
    """Show one webhook."""
    (view,) = _views(request, [_find(request, webhook_id)])
    return ok(view)


@routes.put(_PATH + "/{webhook_id}", grant=_MODIFY, waits=True)
def update_webhook(request: Request, webhook_id: str) -> Reply:
    """Change a webhook; a new target, authentication or header must pass the test first."""
    body = request.json()
    return _link_reply(service.update(request.caller.scope, _find(request, webhook_id), body))


@routes.delete(_PATH + "/{webhook_id}", grant=_MODIFY)
def delete_webhook(request: Request, webhook_id: str) -> Reply:
    """Delete a webhook; batches that are already queued are still posted."""
    service.delete(request.caller.scope, _find(request, webhook_id))
    return empty(204)


@routes.post(_PATH + "/{webhook_id}/validate", grant=_MODIFY, waits=True)
def validate_webhook(request: Request, webhook_id: str) -> Reply:
    """Post a test batch to the target and show its response."""
    webhook = _find(request, webhook_id)
    batch = read_test_batch(request.json() if request.raw_body else None)
    with target_check.time_limit():
        response = target_check.check_target(webhook, batch)
    return ok({"msg": "Test POST to endpoint succeeded", "response": response})


@routes.get(_PATH + "/{webhook_id}/batch-status", grant=_VIEW)
def list_batches(request: Request, webhook_id: str) -> Reply:
    """Show how posting the latest batches went, newest first."""
    limit = integer(request.query, "limit", _DEFAULT_BATCHES, 1, _MOST_BATCHES)
    webhook = _find(request, webhook_id)
    return ok([batch_view(batch) for batch in batches.newest(webhook.id, limit)])


@routes.get(_PATH + "/{webhook_id}/batches/{batch_id}", grant=_VIEW)
def show_batch(request: Request, webhook_id: str, batch_id: str) -> Reply:
    """Show a batch of the last day: its payload, and how each attempt to post it went."""
    stored_batch = batches.find(_find(request, webhook_id).id, batch_id)
    if stored_batch is None:
        raise NotFound(f"batch '{batch_id[:100]}' could not be found")
    grants = request.caller.grants
    may_modify = _MODIFY in grants
    payload = may_modify or _EVENTS in grants
    batch, body = stored_batch
    return ok(batch_details(batch, body if payload else None, answers=may_modify))


@routes.post(_PATH + "/{webhook_id}/signing-secret", grant=_MODIFY)
def draw_signing_secret(request: Request, webhook_id: str) -> Reply:
    """Sign batches with a new secret, shown once; the former secret stays in use for a day."""
    webhook = _find(request, webhook_id)
    return ok({"signing_secret": service.draw_secret(request.caller.scope, webhook)})


@routes.delete(_PATH + "/{webhook_id}/signing-secret", grant=_MODIFY)
def drop_signing_secret(request: Request, webhook_id: str) -> Reply:
    """Stop signing batches."""
    service.drop_secrets(request.caller.scope, _find(request, webhook_id))
    return empty(204)


@routes.get(_PATH + "/events/documentation", grant=PUBLIC)
def document_events(request: Request) -> Reply:
    """Describe all event types and their fields."""
    return ok(reference.documentation())


@routes.get(_PATH + "/events/samples", grant=PUBLIC)
def show_samples(request: Request) -> Reply:
    """Show a payload with one event of each type."""
    return ok(reference.samples(request.query))


def _source_of(request: Request) -> int:
    """Return whose events a new webhook gets: without the header, everybody's (spec 5.6)."""
    caller = request.caller
    has_header = any(name in request.headers for name in SUBACCOUNT_HEADERS)
    if caller.confined_to is None and not has_header:
        return ALL
    return caller.scope.owner or PRIMARY


def _link_reply(webhook: Webhook) -> Reply:
    return ok({"id": webhook.id, "links": links(webhook.id)})


def _find(request: Request, webhook_id: str) -> Webhook:
    webhook = webhook_store.find(request.caller.scope, webhook_id)
    if webhook is None:
        raise NotFound(f"webhook '{webhook_id[:100]}' could not be found")
    return webhook


def _views(request: Request, webhooks: list[Webhook]) -> list[dict[str, Any]]:
    zone = read_time_zone(request.query)
    ids = [webhook.id for webhook in webhooks]
    breakers, access_tokens = circuit_breakers.of_all(ids), tokens.of_all(ids)
    return [
        webhook_view(
            webhook,
            open_sealed(webhook.sealed, webhook.id),
            breakers[webhook.id],
            access_tokens.get(webhook.id),
            zone,
            secrets=_MODIFY in request.caller.grants,
        )
        for webhook in webhooks
    ]
