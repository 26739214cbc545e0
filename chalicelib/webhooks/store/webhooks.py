"""Store webhooks.

Access patterns of ``config``:

- one webhook → ``webhooks#<account>`` / ``<webhook id>``
- all webhooks of an account → ``webhooks#<account>``

Every write is conditional on the webhook's revision (attribute ``version``). A deleted webhook is
hidden but stored until the batches queued for it are out (``_KEPT``): they go to its target.
A webhook of version 0.1.0 has no ``subaccount_id``: it belongs to the part of the account that is
its source (stays: webhooks are not rewritten).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import NotRequired, cast

from chalicelib.core import audit, clock, config_cache, dynamo
from chalicelib.core.dynamo import Key, Keyed, Table, attributes_of
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.webhooks.model import Webhook, shown_fields


class WebhookItem(Keyed):
    """A webhook: the fields of ``Webhook``."""

    id: str
    account_id: int
    name: str
    target: str
    events: list[str]
    created_ms: int
    source: int
    #: Version 0.1.0 did not write it
    subaccount_id: NotRequired[int | None]
    active: bool
    exceptions: list[int]
    auth_type: str
    sealed: bytes
    deleted_ms: int | None
    #: The revision
    version: int
    #: Only of a deleted webhook
    expires: NotRequired[int]


RESOURCE = "webhooks"

_config: Table[WebhookItem] = Table("config")
_FIELDS = tuple(name for name in Webhook.__slots__ if name != "revision")
_KEPT = 172_800  # seconds: two days, longer than any batch is tried


def key_of(account_id: int, webhook_id: str) -> Key:
    """Return the key of a webhook."""
    return (f"webhooks#{account_id}", webhook_id)


def find(scope: Scope, webhook_id: str) -> Webhook | None:
    """Return the webhook if it belongs to the scope, or ``None``."""
    item = _config.get(*key_of(scope.account_id, webhook_id))
    webhook = from_item(item) if item else None
    return webhook if webhook and _is_in(scope, webhook) else None


def in_scope(scope: Scope) -> list[Webhook]:
    """Return the webhooks of the scope, the oldest first."""
    return [webhook for webhook in of_account(scope.account_id) if _is_in(scope, webhook)]


def of_account(account_id: int) -> list[Webhook]:
    """Return all webhooks of the account, the oldest first."""
    pk, _ = key_of(account_id, "")
    items = _config.query_all("#pk = :pk", {"pk": pk}, consistent=True)
    webhooks = [webhook for webhook in map(from_item, items) if webhook.deleted_ms is None]
    return sorted(webhooks, key=lambda webhook: (webhook.created_ms, webhook.id))


def create(webhook: Webhook) -> None:
    """Store a new webhook."""
    new = dynamo.put(_config, _to_item(webhook), condition="attribute_not_exists(#pk)")
    audit.commit(new, _line(None, webhook))


def change(scope: Scope, webhook_id: str, edit: Callable[[Webhook], Webhook]) -> Webhook | None:
    """Change a webhook of the scope by ``edit``; return ``None`` if there is none.

    ``edit`` may be called again, and what it raises passes through. Raises 503 when other writers
    come first every time.
    """
    return dynamo.update_record(lambda: find(scope, webhook_id), edit, _replace)


def delete(scope: Scope, webhook_id: str) -> bool:
    """Delete a webhook of the scope; return ``False`` if there is none."""
    now_ms = clock.now_ms()
    return bool(change(scope, webhook_id, lambda webhook: replace(webhook, deleted_ms=now_ms)))


def from_item(item: WebhookItem) -> Webhook:
    """Return the webhook in an item of the table."""
    fields = attributes_of(item, _FIELDS)
    fields |= {name: tuple(fields[name]) for name in ("events", "exceptions")}
    if "subaccount_id" not in fields and fields["source"] > PRIMARY:
        fields["subaccount_id"] = fields["source"]
    return Webhook(**fields, revision=item.get("version", 0))


def _is_in(scope: Scope, webhook: Webhook) -> bool:
    return webhook.deleted_ms is None and scope.covers(webhook.subaccount_id)


def _replace(before: Webhook, after: Webhook) -> None:
    write = dynamo.put(
        _config,
        _to_item(replace(after, revision=before.revision + 1)),
        **dynamo.if_unchanged("version", before.revision),
    )
    try:
        audit.commit(write, _line(before, after if after.deleted_ms is None else None))
    finally:
        config_cache.forget(key_of(before.account_id, before.id))


_line: audit.RecordLines[Webhook] = audit.RecordLines(RESOURCE, lambda each: each.id, shown_fields)


def _to_item(webhook: Webhook) -> WebhookItem:
    pk, sk = key_of(webhook.account_id, webhook.id)
    fields = asdict(webhook)
    revision = fields.pop("revision")
    item = cast(WebhookItem, {"pk": pk, "sk": sk, **fields, "version": revision})
    if webhook.deleted_ms is not None:
        item["expires"] = webhook.deleted_ms // 1000 + _KEPT
    return item
