"""Create, change and delete relay webhooks, each with the inbound domain that names it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from chalicelib.core import clock, config_cache, dynamo
from chalicelib.core.dynamo import Write
from chalicelib.core.errors import NotFound, bad_request, conflict
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.inbound_domains.model import InboundDomain
from chalicelib.relay_webhooks import store
from chalicelib.relay_webhooks.model import RelayWebhook
from chalicelib.relay_webhooks.request import Draft, read_changes, read_new
from chalicelib.webhooks import signatures
from chalicelib.webhooks.credentials import Credentials, open_sealed, resealed, seal
from chalicelib.webhooks.store import circuit_breakers


def create(scope: Scope, body: Any) -> RelayWebhook:
    """Store a new relay webhook for the owner of its domain.

    Raises 400 when the body is not valid or the scope has no such inbound domain, 409 when the
    domain has a relay webhook.
    """
    blank = RelayWebhook(
        id=_new_id(),
        account_id=scope.account_id,
        name="",
        target="",
        domain="",
        created_ms=clock.now_ms(),
    )
    draft = read_new(body, blank)

    def attempt() -> RelayWebhook:
        domain = _free_domain(scope, draft.webhook)
        webhook = replace(
            draft.webhook,
            domain=domain.domain,
            subaccount_id=domain.subaccount_id,
            sealed=seal(draft.credentials, blank.id),
        )
        store.create(webhook, inbound_domains.relay_webhook_write(domain, webhook.id))
        _forget_domains(domain.domain)
        return webhook

    return dynamo.retry_conflicts(attempt)


def update(scope: Scope, before: RelayWebhook, body: Any) -> RelayWebhook:
    """Change a relay webhook; raises 400 and 409 as :func:`create` does."""

    def edit(webhook: RelayWebhook) -> RelayWebhook:
        credentials = open_sealed(webhook.sealed, webhook.id)
        draft = read_changes(body, Draft(webhook, credentials))
        sealed = resealed(webhook.sealed, webhook.id, lambda _: draft.credentials)
        return replace(draft.webhook, sealed=sealed)

    after = _present(store.change(scope, before.id, edit, _move))
    _forget_domains(before.domain, after.domain)
    return after


def delete(scope: Scope, webhook: RelayWebhook) -> None:
    """Delete a relay webhook; its queued messages are still posted."""
    _present(store.delete(scope, webhook.id, _release))
    _forget_domains(webhook.domain)
    circuit_breakers.expire(webhook.id, clock.now_ms())


def draw_secret(scope: Scope, webhook: RelayWebhook) -> str:
    """Sign what is posted with a new secret from now on, and return it."""
    secret, now_ms = signatures.draw_secret(), clock.now_ms()
    _change_credentials(scope, webhook, lambda each: signatures.rotated(each, secret, now_ms))
    return secret


def drop_secrets(scope: Scope, webhook: RelayWebhook) -> None:
    """Stop signing what is posted."""
    _change_credentials(scope, webhook, lambda credentials: replace(credentials, signing=()))


def find(scope: Scope, webhook_id: str) -> RelayWebhook:
    """Return a relay webhook of the scope; raises 404."""
    webhook = store.find(scope, webhook_id)
    if webhook is None:
        raise not_found()
    return webhook


def not_found() -> NotFound:
    """Return the refusal of an id that is none."""
    return NotFound("Resource could not be found")


def _new_id() -> str:
    """Draw an id: eighteen digits, which no other relay webhook of any account has."""
    return str(10**17 + secrets.randbelow(9 * 10**17))


def _free_domain(scope: Scope, webhook: RelayWebhook) -> InboundDomain:
    """Return the inbound domain that a relay webhook is for; raises 400 and 409."""
    domain = inbound_domains.find(scope, webhook.domain)
    if domain is None:
        raise bad_request(
            f"Domain '{webhook.domain[:253]}' is not a registered inbound domain",
            param="match.domain",
            value=webhook.domain[:253],
        )
    if domain.relay_webhook_id not in ("", webhook.id):
        raise conflict(f"Domain '{domain.domain}' is already in use", param="match.domain")
    return domain


def _present(webhook: RelayWebhook | None) -> RelayWebhook:
    """Return a relay webhook after a change; raises 404 if another request deleted it."""
    if webhook is None:
        raise not_found()
    return webhook


def _move(before: RelayWebhook, after: RelayWebhook) -> list[Write]:
    """Return the writes that make the domain of ``after`` name it, and that of ``before`` not."""
    if after.domain == before.domain:
        return []
    domain = _free_domain(_owner(before), after)
    return [inbound_domains.relay_webhook_write(domain, after.id), *_release(before)]


def _release(before: RelayWebhook) -> list[Write]:
    """Return the write that makes the domain of a relay webhook name none."""
    domain = inbound_domains.find(_owner(before), before.domain)
    if domain is None or domain.relay_webhook_id != before.id:
        return []
    return [inbound_domains.relay_webhook_write(domain, "")]


def _owner(webhook: RelayWebhook) -> Scope:
    return Scope(webhook.account_id, webhook.subaccount_id or PRIMARY)


def _forget_domains(*names: str) -> None:
    """Let this process read the domains again, whose relay webhook has changed."""
    for name in dict.fromkeys(names):
        config_cache.forget(inbound_domains.key_of(name))


def _change_credentials(
    scope: Scope, webhook: RelayWebhook, edit: Callable[[Credentials], Credentials]
) -> None:
    def apply(before: RelayWebhook) -> RelayWebhook:
        return replace(before, sealed=resealed(before.sealed, before.id, edit))

    _present(store.change(scope, webhook.id, apply))
