"""What has to be known to post batches, read at once for all that a call of the consumer has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chalicelib.core import config_cache
from chalicelib.core.dynamo import Table
from chalicelib.webhook_dispatch.batch import Head
from chalicelib.webhooks import batches, circuit_breaker, store
from chalicelib.webhooks.batches import Batch
from chalicelib.webhooks.circuit_breaker import State
from chalicelib.webhooks.model import Webhook

_table = Table("webhooks")


@dataclass(frozen=True, slots=True)
class Known:
    """Webhooks (deleted ones too) and their states by id; batches by id, as far as recorded."""

    webhooks: dict[str, Webhook]
    states: dict[str, State]
    batches: dict[str, Batch]


def read(heads: Iterable[Head]) -> Known:
    """Return what is known of these batches and their webhooks: one request, or two.

    A batch that was not attempted yet is not asked for: it has no record, or one by a duplicate.
    """
    heads = list(heads)
    places = {head.webhook_id: store.key_of(head.account_id, head.webhook_id) for head in heads}
    items = config_cache.read(places.values())
    if missing := [key for key in places.values() if key not in items]:
        items |= config_cache.read([], anew=missing)  # a new one may not be seen yet
    tried = [head for head in heads if head.attempts or head.round]
    state_keys = {each: circuit_breaker.key_of(each) for each in places}
    batch_keys = {head.batch_id: batches.key_of(head.webhook_id, head.batch_id) for head in tried}
    wanted = dict.fromkeys([*state_keys.values(), *batch_keys.values()])
    found = {(item["pk"], item["sk"]): item for item in _table.get_all(wanted, consistent=True)}
    return Known(
        {each: store.from_item(items[key]) for each, key in places.items() if key in items},
        {each: circuit_breaker.from_item(found.get(key)) for each, key in state_keys.items()},
        {each: batches.from_item(found[key]) for each, key in batch_keys.items() if key in found},
    )
