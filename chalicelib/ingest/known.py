"""Which events were ingested before: each event of an account is taken once.

Access patterns (table ``events``):

- the batch that an event came with → ``pk = <account>#ingested#<event id>``, ``sk = batch``, until
  the event is too old to come again

Marking again for the same batch succeeds, so a batch that is worked off again finds its own events
new; two batches at the same time cannot both find an event new.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chalicelib.core import dynamo
from chalicelib.core.dynamo import TransactionFailed, Write
from chalicelib.events.model import Event
from chalicelib.events.table import events
from chalicelib.ingest.batches import Batch
from chalicelib.ingest.model import OLDEST_MS

#: Events in one request
MOST_TOGETHER: Final = 100

_HOUR_MS = 3_600_000


def new_ones(batch: Batch, found: Sequence[Event]) -> list[Event]:
    """Mark events (at most ``MOST_TOGETHER``, no two alike); return those not known before."""
    new = list(found)
    while new:
        try:
            dynamo.transact([_mark(batch, event) for event in new])
            break
        except TransactionFailed as failure:
            known = set(failure.failed)
            new = [event for place, event in enumerate(new) if place not in known]
    return new


def _mark(batch: Batch, event: Event) -> Write:
    return dynamo.put(
        events,
        {
            "pk": f"{batch.account_id}#ingested#{event['event_id']}",
            "sk": "batch",
            "batch": batch.id,
            "expires": (batch.taken_ms + OLDEST_MS + _HOUR_MS) // 1000,
        },
        condition="attribute_not_exists(#pk) OR #batch = :batch",
        values={"batch": batch.id},
    )
