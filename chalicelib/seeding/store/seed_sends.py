"""Keep seed sends, and when the next seed batch of each is due.

Access patterns of ``metrics``:

- one seed send → ``inline-seeds#<account>`` / ``run#<seed send id>``

Access patterns of ``config``:

- seed batches that are due → ``due#seeding`` / ``<ms>#<seed send id>#<number>`` (``core.due``)

At first all of a seed send is due, then the batch after the first one, and so on. A seed batch is
the same however often and whenever it is queued.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chalicelib.core import dynamo
from chalicelib.core.due import Due
from chalicelib.core.dynamo import Keyed, Table, Write
from chalicelib.seeding.model import Campaign, SeedSend
from chalicelib.seeding.store import samples
from chalicelib.seeding.store.counters import partition
from chalicelib.seeding.store.samples import SampleFields

CONCERN: Final = "seeding"
AHEAD_MS: Final = 90_000
"""How long before its first message a batch is due: longer than from one tick to the next."""

_RETENTION = 7 * 86_400


class SeedSendItem(SampleFields, Keyed):
    """A seed send: the fields of ``SeedSend``, of its campaign and of its sample."""

    subaccount_id: int | None
    campaign_id: str
    sending_domain: str
    start_ms: int
    duration_ms: int
    addresses: Sequence[str]
    expires: int


_metrics: Table[SeedSendItem] = Table("metrics")


def addition(seed_send: SeedSend) -> Write:
    """Return the action that stores a seed send."""
    campaign = seed_send.campaign
    item: SeedSendItem = {
        **samples.to_fields(seed_send.sample),
        "pk": partition(seed_send.account_id),
        "sk": _sort_key(seed_send.id),
        "subaccount_id": campaign.subaccount_id,
        "campaign_id": campaign.campaign_id,
        "sending_domain": campaign.sending_domain,
        "start_ms": seed_send.start_ms,
        "duration_ms": seed_send.duration_ms,
        "addresses": seed_send.addresses,
        "expires": (seed_send.start_ms + seed_send.duration_ms) // 1000 + _RETENTION,
    }
    return dynamo.put(_metrics, item)


def get(account_id: int, seed_send_id: str) -> SeedSend | None:
    """Return a seed send, ``None`` if it has expired."""
    item = _metrics.get(partition(account_id), _sort_key(seed_send_id))
    if item is None:
        return None
    return SeedSend(
        account_id,
        seed_send_id,
        Campaign(item["subaccount_id"], item["campaign_id"], item["sending_domain"]),
        item["start_ms"],
        item["duration_ms"],
        tuple(item["addresses"]),
        samples.from_item(item),
    )


def due_entry(seed_send: SeedSend, first: int) -> Due:
    """Return when the seed batch that begins with ``first`` is due."""
    due_ms = seed_send.start_ms if first == 0 else seed_send.send_ms(first) - AHEAD_MS
    data = {"account_id": seed_send.account_id, "run": seed_send.id, "first": first}
    key = f"{seed_send.id}#{first:06d}"
    return Due(CONCERN, max(due_ms, seed_send.start_ms), key, data)


def _sort_key(seed_send_id: str) -> str:
    return f"run#{seed_send_id}"
