"""``/webhooks`` (spec 4.9), and what goes beyond it: signing secrets and redelivery."""

from __future__ import annotations

from typing import Any

from chalicelib.authentication.service import SUBACCOUNT_HEADERS
from chalicelib.core.errors import NotFound
from chalicelib.core.fields import integer
from chalicelib.core.http import PUBLIC, Reply, Request, Routes, empty, ok
from chalicelib.core.scope import PRIMARY
from chalicelib.webhooks import (
    batches,
    circuit_breaker,
    editing,
    oauth,
    reference,
    store,
    target_check,
    views,
)
from chalicelib.webhooks.credentials import open_sealed
from chalicelib.webhooks.model import ALL, Webhook

routes = Routes(__name__)

_PATH = "/api/v1/webhooks"
_VIEW = "webhooks/view"
_MODIFY = "webhooks/modify"
_DEFAULT_BATCHES = 1000
_MOST_BATCHES = 10_000


@routes.post(_PATH, grant=_MODIFY)
def create_webhook(request: Request) -> Reply:
    """Add a webhook, once its target has answered the test POST."""
    source = _source_of(request)
    return _named(editing.create(request.caller.account_id, source, request.json()))


@routes.get(_PATH, grant=_VIEW)
def list_webhooks(request: Request) -> Reply:
    """List the webhooks in scope."""
    return ok(_shown(request, store.in_scope(request.caller.scope)))


@routes.get(_PATH + "/{webhook_id}", grant=_VIEW)
def show_webhook(request: Request, webhook_id: str) -> Reply:
    """Show one."""
    (shown,) = _shown(request, [_found(request, webhook_id)])
    return ok(shown)


@routes.put(_PATH + "/{webhook_id}", grant=_MODIFY)
def update_webhook(request: Request, webhook_id: str) -> Reply:
    """Change what is given; a new target, or new details for tokens, must pass the test first."""
    body = request.json()
    return _named(editing.update(request.caller, _found(request, webhook_id), body))


@routes.delete(_PATH + "/{webhook_id}", grant=_MODIFY)
def delete_webhook(request: Request, webhook_id: str) -> Reply:
    """Delete one; what is queued for it still goes out."""
    editing.delete(request.caller.scope, _found(request, webhook_id))
    return empty(204)


@routes.post(_PATH + "/{webhook_id}/validate", grant=_MODIFY)
def validate_webhook(request: Request, webhook_id: str) -> Reply:
    """Post the given batch to the target and show what it answers."""
    webhook = _found(request, webhook_id)
    given = request.json() if request.raw_body else None
    message = target_check.message(given)
    with target_check.in_time():
        response = target_check.try_target(webhook, message)
    return ok({"msg": "Test POST to endpoint succeeded", "response": response})


@routes.get(_PATH + "/{webhook_id}/batch-status", grant=_VIEW)
def list_batches(request: Request, webhook_id: str) -> Reply:
    """Show how posting the latest batches went, newest first."""
    limit = integer(request.query, "limit", _DEFAULT_BATCHES, 1, _MOST_BATCHES)
    webhook = _found(request, webhook_id)
    return ok([batch.as_json() for batch in batches.newest(webhook.id, limit)])


@routes.post(_PATH + "/{webhook_id}/signing-secret", grant=_MODIFY)
def draw_signing_secret(request: Request, webhook_id: str) -> Reply:
    """Sign batches with a new secret, shown once; a former one stays in use for a day."""
    webhook = _found(request, webhook_id)
    return ok({"signing_secret": editing.draw_secret(request.caller.scope, webhook)})


@routes.delete(_PATH + "/{webhook_id}/signing-secret", grant=_MODIFY)
def drop_signing_secret(request: Request, webhook_id: str) -> Reply:
    """Sign batches no more."""
    editing.drop_secrets(request.caller.scope, _found(request, webhook_id))
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
    """Return whose events a new webhook gets: without the header everybody's (spec 5.6)."""
    caller = request.caller
    named = any(name in request.headers for name in SUBACCOUNT_HEADERS)
    if caller.confined_to is None and not named:
        return ALL
    return caller.scope.owner or PRIMARY


def _named(webhook: Webhook) -> Reply:
    return ok({"id": webhook.id, "links": views.links(webhook.id)})


def _found(request: Request, webhook_id: str) -> Webhook:
    found = store.find(request.caller.scope, webhook_id)
    if found is None:
        raise NotFound(f"webhook '{webhook_id[:100]}' could not be found")
    return found


def _shown(request: Request, webhooks: list[Webhook]) -> list[dict[str, Any]]:
    zone = views.zone(request.query)
    ids = [webhook.id for webhook in webhooks]
    states, tokens = circuit_breaker.of_all(ids), oauth.shown(ids)
    return [
        views.shown(
            webhook,
            open_sealed(webhook.sealed, webhook.id),
            states[webhook.id],
            tokens.get(webhook.id),
            zone,
            secrets=_MODIFY in request.caller.grants,
        )
        for webhook in webhooks
    ]
