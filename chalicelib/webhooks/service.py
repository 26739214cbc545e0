"""Create, change and delete webhooks; how they are posted is tested before anything is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

from chalicelib.core import clock
from chalicelib.core.errors import NotFound
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.subaccounts import store as subaccounts
from chalicelib.webhooks import payload, signatures, target_check
from chalicelib.webhooks.credentials import Credentials, open_sealed, resealed, seal
from chalicelib.webhooks.model import ALL, Webhook
from chalicelib.webhooks.request import Draft, read_changes, read_new
from chalicelib.webhooks.store import circuit_breakers
from chalicelib.webhooks.store import webhooks as webhook_store


def create(scope: Scope, source: int, body: Any) -> Webhook:
    """Store a new webhook of the scope's owner.

    Raises 400 when the body is not valid or the target fails its test.
    """
    blank = Webhook(
        id=str(uuid4()),
        account_id=scope.account_id,
        name="",
        target="",
        events=(),
        created_ms=clock.now_ms(),
        source=source,
        subaccount_id=scope.owner,
    )
    draft = read_new(body, blank)
    webhook = replace(draft.webhook, sealed=seal(draft.credentials, blank.id))
    with target_check.time_limit():
        target_check.check_token(webhook)
        target_check.check_target(webhook, payload.ping())
    webhook_store.create(webhook)
    return webhook


def update(scope: Scope, before: Webhook, body: Any) -> Webhook:
    """Change a webhook; raises 400 as :func:`create` does, and then changes nothing.

    Its target is tested when the target, or what it may recognise the service by, changes.
    """

    def edit(webhook: Webhook) -> Webhook:
        credentials = open_sealed(webhook.sealed, webhook.id)
        draft = read_changes(body, Draft(webhook, credentials), _may_be_source)
        sealed = resealed(webhook.sealed, webhook.id, lambda _: draft.credentials)
        return replace(draft.webhook, sealed=sealed)

    after = edit(before)
    with target_check.time_limit():
        if _token_details(after) != _token_details(before):
            target_check.check_token(after)
        if _post_details(after) != _post_details(before):
            target_check.check_target(after, payload.ping())
    return _change(scope, before, edit)


def delete(scope: Scope, webhook: Webhook) -> None:
    """Delete a webhook; its queued batches are still posted."""
    webhook_store.delete(scope, webhook.id)
    circuit_breakers.expire(webhook.id, clock.now_ms())


def draw_secret(scope: Scope, webhook: Webhook) -> str:
    """Sign a webhook's batches with a new secret from now on, and return it."""
    secret, now_ms = signatures.draw_secret(), clock.now_ms()
    _change_credentials(scope, webhook, lambda each: signatures.rotated(each, secret, now_ms))
    return secret


def drop_secrets(scope: Scope, webhook: Webhook) -> None:
    """Stop signing a webhook's batches."""
    _change_credentials(scope, webhook, lambda credentials: replace(credentials, signing=()))


def _may_be_source(webhook: Webhook, source: int) -> bool:
    """Tell whether the webhook may get the events of this source: a subaccount's only its own."""
    if webhook.subaccount_id is not None:
        return source == webhook.subaccount_id
    return source in (ALL, PRIMARY) or subaccounts.get(webhook.account_id, source) is not None


def _post_details(webhook: Webhook) -> tuple[str, str, Credentials]:
    """Return where a batch is posted, and all that its headers say except the signature."""
    credentials = open_sealed(webhook.sealed, webhook.id)
    return webhook.target, webhook.auth_type, replace(credentials, signing=())


def _token_details(webhook: Webhook) -> tuple[str, Any, Any]:
    credentials = open_sealed(webhook.sealed, webhook.id)
    return webhook.auth_type, credentials.token_url, credentials.token_body


def _change_credentials(
    scope: Scope, webhook: Webhook, edit: Callable[[Credentials], Credentials]
) -> None:
    def apply(before: Webhook) -> Webhook:
        return replace(before, sealed=resealed(before.sealed, before.id, edit))

    _change(scope, webhook, apply)


def _change(scope: Scope, webhook: Webhook, edit: Callable[[Webhook], Webhook]) -> Webhook:
    after = webhook_store.change(scope, webhook.id, edit)
    if after is None:  # another request deleted it
        raise NotFound
    return after
