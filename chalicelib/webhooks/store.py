"""Where webhooks are kept.

Access patterns (table ``config``):

- one webhook → ``pk = webhooks#<account>``, ``sk = <id>``
- all webhooks of an account, also to find who gets an event → the whole partition, consistently

Every write is conditional on the ``version`` that it was made from. A deleted webhook stays,
hidden, until the batches that were queued for it are out (``_KEPT``): they go to where it pointed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace

from chalicelib.core import clock, config_cache
from chalicelib.core.dynamo import ConditionFailed, Item, Key, Table
from chalicelib.core.errors import Unavailable
from chalicelib.core.scope import Scope
from chalicelib.webhooks.model import Webhook

_config = Table("config")
_FIELDS = tuple(Webhook.__slots__)
_ATTEMPTS = 20
_KEPT = 172_800  # seconds: two days, longer than any batch is tried


def key_of(account_id: int, webhook_id: str) -> Key:
    """Return where the webhook is kept."""
    return (f"webhooks#{account_id}", webhook_id)


def find(scope: Scope, webhook_id: str) -> Webhook | None:
    """Return the webhook if it belongs to the scope, or ``None``."""
    item = _config.get(*key_of(scope.account_id, webhook_id))
    found = from_item(item) if item else None
    return found if found and _is_in(scope, found) else None


def in_scope(scope: Scope) -> list[Webhook]:
    """Return the webhooks of the scope, the oldest first."""
    return [each for each in of_account(scope.account_id) if _is_in(scope, each)]


def of_account(account_id: int) -> list[Webhook]:
    """Return all webhooks of the account, the oldest first."""
    pk, _ = key_of(account_id, "")
    items = _config.query_all("#pk = :pk", {"pk": pk}, consistent=True)
    found = [each for each in map(from_item, items) if each.deleted_ms is None]
    return sorted(found, key=lambda each: (each.created_ms, each.id))


def create(webhook: Webhook) -> None:
    """Store a new webhook."""
    _config.create(_to_item(webhook))


def change(scope: Scope, webhook_id: str, edit: Callable[[Webhook], Webhook]) -> Webhook | None:
    """Change a webhook of the scope by ``edit``; return ``None`` if there is none.

    ``edit`` may be called again if others change the webhook meanwhile. What it raises passes.
    """
    for _ in range(_ATTEMPTS):
        before = find(scope, webhook_id)
        if before is None:
            return None
        after = edit(before)
        if after == before or _replaced(before, after):
            return after
    raise Unavailable


def delete(scope: Scope, webhook_id: str) -> bool:
    """Delete a webhook of the scope; return ``False`` if there is none."""
    now_ms = clock.now_ms()
    return bool(change(scope, webhook_id, lambda found: replace(found, deleted_ms=now_ms)))


def from_item(item: Item) -> Webhook:
    """Return the webhook that an item of the table holds."""
    given = {name: item[name] for name in _FIELDS if name in item}
    return Webhook(**given | {name: tuple(given[name]) for name in ("events", "exceptions")})


def _is_in(scope: Scope, webhook: Webhook) -> bool:
    return webhook.deleted_ms is None and scope.covers(webhook.subaccount_id)


def _replaced(before: Webhook, after: Webhook) -> bool:
    try:
        _config.put(
            _to_item(replace(after, version=before.version + 1)),
            condition="#version = :seen",
            values={"seen": before.version},
        )
    except ConditionFailed:
        return False
    finally:
        config_cache.forget(key_of(before.account_id, before.id))
    return True


def _to_item(webhook: Webhook) -> Item:
    pk, sk = key_of(webhook.account_id, webhook.id)
    item = {"pk": pk, "sk": sk} | asdict(webhook)
    if webhook.deleted_ms is not None:
        item["expires"] = webhook.deleted_ms // 1000 + _KEPT
    return item
