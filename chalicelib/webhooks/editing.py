"""Making, changing and deleting webhooks: what is asked for is checked, tried, and then stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

from chalicelib.core import clock
from chalicelib.core.errors import NotFound
from chalicelib.core.request import Caller
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.subaccounts import store as subaccounts
from chalicelib.webhooks import circuit_breaker, payload, signatures, store, target_check
from chalicelib.webhooks.credentials import Credentials, open_sealed, seal
from chalicelib.webhooks.model import ALL, Webhook
from chalicelib.webhooks.request import Draft, read_changes, read_new

_STATE_KEPT_MS = 3 * 86_400_000


def create(account_id: int, source: int, body: Any) -> Webhook:
    """Store a new webhook; raises 400 when the body or the target is not in order."""
    blank = Webhook(
        id=str(uuid4()),
        account_id=account_id,
        name="",
        target="",
        events=(),
        created_ms=clock.now_ms(),
        source=source,
    )
    draft = read_new(body, blank)
    webhook = replace(draft.webhook, sealed=seal(draft.credentials, blank.id))
    with target_check.in_time():
        target_check.try_token(webhook)
        target_check.try_target(webhook, payload.ping())
    store.create(webhook)
    return webhook


def update(caller: Caller, seen: Webhook, body: Any) -> Webhook:
    """Change a webhook; raises 400 as :func:`create` does, and then nothing has changed."""

    def edit(webhook: Webhook) -> Webhook:
        held = open_sealed(webhook.sealed, webhook.id)
        draft = read_changes(body, Draft(webhook, held), partial(_may_be_source, caller))
        return _with(draft.webhook, held, draft.credentials)

    after = edit(seen)
    with target_check.in_time():
        if _token_details(after) != _token_details(seen):
            target_check.try_token(after)
        if after.target != seen.target:
            target_check.try_target(after, payload.ping())
    return _changed(caller.scope, seen, edit)


def delete(scope: Scope, webhook: Webhook) -> None:
    """Delete a webhook; its queued batches still go out."""
    store.delete(scope, webhook.id)
    circuit_breaker.expire(webhook.id, clock.now_ms() + _STATE_KEPT_MS)


def draw_secret(scope: Scope, webhook: Webhook) -> str:
    """Let a webhook's batches be signed with a new secret, and return it."""
    secret, now_ms = signatures.draw_secret(), clock.now_ms()
    _change_credentials(
        scope,
        webhook,
        lambda held: replace(held, signing=signatures.rotated(held.signing, secret, now_ms)),
    )
    return secret


def drop_secrets(scope: Scope, webhook: Webhook) -> None:
    """Let a webhook's batches be signed no more."""
    _change_credentials(scope, webhook, lambda held: replace(held, signing=()))


def _may_be_source(caller: Caller, source: int) -> bool:
    """Tell whether a caller may ask for the events of a source."""
    if caller.confined_to is not None:
        return source == caller.confined_to
    return source in (ALL, PRIMARY) or subaccounts.get(caller.account_id, source) is not None


def _token_details(webhook: Webhook) -> tuple[str, Any, Any]:
    held = open_sealed(webhook.sealed, webhook.id)
    return webhook.auth_type, held.token_url, held.token_body


def _change_credentials(
    scope: Scope, webhook: Webhook, edit: Callable[[Credentials], Credentials]
) -> None:
    def apply(now: Webhook) -> Webhook:
        held = open_sealed(now.sealed, now.id)
        return _with(now, held, edit(held))

    _changed(scope, webhook, apply)


def _with(webhook: Webhook, held: Credentials, credentials: Credentials) -> Webhook:
    if credentials == held:
        return webhook
    return replace(webhook, sealed=seal(credentials, webhook.id))


def _changed(scope: Scope, webhook: Webhook, edit: Callable[[Webhook], Webhook]) -> Webhook:
    changed = store.change(scope, webhook.id, edit)
    if changed is None:  # deleted meanwhile
        raise NotFound
    return changed
