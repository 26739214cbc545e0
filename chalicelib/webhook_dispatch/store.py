"""Read the webhooks, breakers and records that posting the batches of one call needs.

Access patterns of ``webhooks``:

- the circuit breakers of webhooks → ``webhook#<webhook id>`` / ``state``
- the batches that were attempted before → ``webhook#<webhook id>`` / ``batch#<batch id>``

Both are read in one request; ``webhooks.store`` writes them. The webhooks come from the config
cache.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chalicelib.core import config_cache
from chalicelib.core.dynamo import AnyItem, Table
from chalicelib.webhook_dispatch.batch import BatchHead
from chalicelib.webhook_dispatch.kinds import kind_of
from chalicelib.webhooks.circuit_breaker import CircuitBreaker
from chalicelib.webhooks.model import Endpoint, WebhookBatch
from chalicelib.webhooks.store import batches, circuit_breakers

_table: Table[AnyItem] = Table("webhooks")


@dataclass(frozen=True, slots=True)
class DispatchState:
    """Webhooks of any kind (deleted ones too) and their breakers by id; recorded batches by id."""

    endpoints: dict[str, Endpoint]
    breakers: dict[str, CircuitBreaker]
    batches: dict[str, WebhookBatch]


def read(heads: Iterable[BatchHead]) -> DispatchState:
    """Return the state of these batches and their webhooks; costs one request, or two.

    A batch of events at its first attempt is not read: it has no record, unless its message is a
    duplicate, and posting that again does no harm.
    """
    heads = list(heads)
    batch_keys = {
        h.batch_id: batches.key_of(h.webhook_id, h.batch_id)
        for h in heads
        if h.attempts or h.round or kind_of(h).has_events
    }
    breaker_keys = {h.webhook_id: circuit_breakers.key_of(h.webhook_id) for h in heads}
    all_keys = dict.fromkeys([*breaker_keys.values(), *batch_keys.values()])
    rows = {(item["pk"], item["sk"]): item for item in _table.get_all(all_keys, consistent=True)}
    return DispatchState(
        _endpoints(heads),
        {name: circuit_breakers.from_item(rows.get(key)) for name, key in breaker_keys.items()},
        {name: batches.from_item(rows[key]) for name, key in batch_keys.items() if key in rows},
    )


def _endpoints(heads: Iterable[BatchHead]) -> dict[str, Endpoint]:
    kinds = {h.webhook_id: kind_of(h) for h in heads}
    keys = {h.webhook_id: kind_of(h).endpoint_key(h.account_id, h.webhook_id) for h in heads}
    items = config_cache.read(keys.values())
    if missing := [key for key in keys.values() if key not in items]:
        items |= config_cache.read([], uncached=missing)  # a new webhook may not be cached yet
    return {name: kinds[name].endpoint(items[key]) for name, key in keys.items() if key in items}
