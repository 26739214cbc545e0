"""Mark events as ingested, so that each event of an account is taken once.

Access patterns of ``events``:

- the batch that an event came with → ``<account>#ingested#<event id>`` / ``batch``

A mark expires when the event is too old to be ingested again. Marking an event again for the same
batch succeeds, so a batch that is processed again counts its own events as new. Of two batches at
the same time only one finds an event new.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Keyed, Table, TransactionFailed, Write
from chalicelib.core.message_event import Event
from chalicelib.ingest.model import OLDEST_MS, IngestBatch

#: Events in one request
MOST_TOGETHER: Final = 100

_HOUR_MS = 3_600_000


class IngestedItem(Keyed):
    """The mark of an ingested event."""

    #: The id of the batch that it came with
    batch: str
    expires: int


table: Table[IngestedItem] = Table("events")


def mark_new(batch: IngestBatch, events: Sequence[Event]) -> list[Event]:
    """Mark events (at most ``MOST_TOGETHER``, ids unique); return those not ingested before."""
    new = list(events)
    while new:
        try:
            dynamo.transact([_mark(batch, event) for event in new])
            break
        except TransactionFailed as failure:
            duplicates = set(failure.failed)
            new = [event for i, event in enumerate(new) if i not in duplicates]
    return new


def _mark(batch: IngestBatch, event: Event) -> Write:
    item: IngestedItem = {
        "pk": f"{batch.account_id}#ingested#{event['event_id']}",
        "sk": "batch",
        "batch": batch.id,
        "expires": (batch.taken_ms + OLDEST_MS + _HOUR_MS) // 1000,
    }
    return dynamo.put(
        table,
        item,
        condition="attribute_not_exists(#pk) OR #batch = :batch",
        values={"batch": batch.id},
    )
