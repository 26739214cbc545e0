"""Store relay webhooks.

Access patterns of ``config``:

- one relay webhook → ``relay_webhooks#<account>`` / ``<webhook id>``
- all relay webhooks of an account → ``relay_webhooks#<account>``

The record of an inbound domain names its relay webhook. Both are written in one transaction, on
the condition that neither has changed, so a domain never has two. A deleted relay webhook is hidden
but stored until the messages queued for it are out (``_KEPT``): they go to its target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import NotRequired, cast

from chalicelib.core import audit, clock, config_cache, dynamo
from chalicelib.core.dynamo import Key, Keyed, Table, Write, attributes_of
from chalicelib.core.scope import Scope
from chalicelib.relay_webhooks.model import RelayWebhook, shown_fields


class RelayWebhookItem(Keyed):
    """A relay webhook: the fields of ``RelayWebhook``."""

    id: str
    account_id: int
    name: str
    target: str
    domain: str
    created_ms: int
    subaccount_id: int | None
    auth_type: str
    sealed: bytes
    deleted_ms: int | None
    revision: int
    #: Only of a deleted relay webhook
    expires: NotRequired[int]


RESOURCE = "relay-webhooks"

#: Returns the writes of inbound domains that go with a change, given the webhook before and after
DomainWrites = Callable[[RelayWebhook, RelayWebhook], Sequence[Write]]

_config: Table[RelayWebhookItem] = Table("config")
_FIELDS = tuple(RelayWebhook.__slots__)
_KEPT = 172_800  # seconds: two days, longer than any message is tried


def key_of(account_id: int, webhook_id: str) -> Key:
    """Return the key of a relay webhook."""
    return (f"relay_webhooks#{account_id}", webhook_id)


def get(account_id: int, webhook_id: str) -> RelayWebhook | None:
    """Return the relay webhook of any owner in the account, or ``None``."""
    item = _config.get(*key_of(account_id, webhook_id))
    webhook = from_item(item) if item else None
    return webhook if webhook and webhook.deleted_ms is None else None


def find(scope: Scope, webhook_id: str) -> RelayWebhook | None:
    """Return the relay webhook if it belongs to the scope, or ``None``."""
    webhook = get(scope.account_id, webhook_id)
    return webhook if webhook and scope.covers(webhook.subaccount_id) else None


def in_scope(scope: Scope) -> list[RelayWebhook]:
    """Return the relay webhooks of the scope, the oldest first."""
    pk, _ = key_of(scope.account_id, "")
    items = _config.query_all("#pk = :pk", {"pk": pk}, consistent=True)
    webhooks = [
        webhook
        for webhook in map(from_item, items)
        if webhook.deleted_ms is None and scope.covers(webhook.subaccount_id)
    ]
    return sorted(webhooks, key=lambda webhook: (webhook.created_ms, webhook.id))


def create(webhook: RelayWebhook, domain: Write) -> None:
    """Store a new relay webhook, which its domain names by the write ``domain``.

    Raises ``WriteConflict`` if the domain has changed since it was read.
    """
    new = dynamo.put(_config, _to_item(webhook), condition="attribute_not_exists(#pk)")
    dynamo.transact([new, domain, *_line(None, webhook)])


def change(
    scope: Scope,
    webhook_id: str,
    edit: Callable[[RelayWebhook], RelayWebhook],
    domains: DomainWrites = lambda *_: (),
) -> RelayWebhook | None:
    """Change a relay webhook of the scope by ``edit``; return ``None`` if there is none.

    ``domains`` returns the writes of inbound domains that go with the change. Both may be called
    again, and what they raise passes through. Raises 503 when other writers come first every time.
    """

    def write(before: RelayWebhook, after: RelayWebhook) -> None:
        remaining = after if after.deleted_ms is None else None
        item = dynamo.put(
            _config,
            _to_item(replace(after, revision=before.revision + 1)),
            **dynamo.if_unchanged("revision", before.revision),
        )
        try:
            _apply([item, *domains(before, after), *_line(before, remaining)])
        finally:
            config_cache.forget(key_of(before.account_id, before.id))

    return dynamo.update_record(lambda: find(scope, webhook_id), edit, write)


def delete(
    scope: Scope, webhook_id: str, release: Callable[[RelayWebhook], Sequence[Write]]
) -> RelayWebhook | None:
    """Delete a relay webhook of the scope; return ``None`` if there is none.

    ``release`` returns the writes that make its domain name none.
    """
    now_ms = clock.now_ms()
    return change(
        scope,
        webhook_id,
        lambda each: replace(each, deleted_ms=now_ms),
        lambda before, _: release(before),
    )


def from_item(item: RelayWebhookItem) -> RelayWebhook:
    """Return the relay webhook in an item of the table, which may be deleted."""
    return RelayWebhook(**attributes_of(item, _FIELDS))


def _apply(writes: Sequence[Write]) -> None:
    if len(writes) > 1:
        dynamo.transact(writes)
    else:
        dynamo.write(writes[0])


_line: audit.RecordLines[RelayWebhook] = audit.RecordLines(
    RESOURCE, lambda each: each.id, shown_fields
)


def _to_item(webhook: RelayWebhook) -> RelayWebhookItem:
    pk, sk = key_of(webhook.account_id, webhook.id)
    item = cast(RelayWebhookItem, {"pk": pk, "sk": sk, **asdict(webhook)})
    if webhook.deleted_ms is not None:
        item["expires"] = webhook.deleted_ms // 1000 + _KEPT
    return item
