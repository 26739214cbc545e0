"""Name the partitions that hold an event's blocks: one for each way to search for the event.

The blocks of a day are spread over ``EVENTS_SHARDS`` partitions. ``blocks`` lists the access
patterns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chalicelib.core import ids
from chalicelib.events.documentation import SEARCHED_TYPES
from chalicelib.events.model import Event
from chalicelib.events.store import day_index

_INGEST_TYPES: Final = frozenset(("success", "error"))


def day(account: object, name: str, shard: object) -> str:
    """Return the partition of a shard of a day (``yyyymmdd``)."""
    return f"{account}#day#{name}#{shard}"


def recipient(account: object, address: str) -> str:
    """Return the partition of a recipient."""
    return f"{account}#recipient#{address}"


def transmission(account: object, transmission_id: str) -> str:
    """Return the partition of a transmission."""
    return f"{account}#transmission#{transmission_id}"


def campaign(account: object, campaign_id: str) -> str:
    """Return the partition of a campaign."""
    return f"{account}#campaign#{campaign_id}"


def ingest(account: object) -> str:
    """Return the partition of the results of ingested batches."""
    return f"{account}#ingest"


def of_message(account: object, message_id: str) -> Iterator[str]:
    """Yield the partitions in which a message's events may be."""
    yield _message(account, message_id)
    if transmission_id := _transmission_of(message_id):
        yield transmission(account, transmission_id)


def of_event(event: Event) -> Iterator[str]:
    """Yield the partitions that an event is stored in, that of its day without the shard."""
    account, kind = event["customer_id"], event["type"]
    if kind in _INGEST_TYPES:
        yield ingest(account)
    if kind not in SEARCHED_TYPES:
        return
    yield day(account, day_index.day_of(event["timestamp"]), "")
    if event.get("rcpt_to"):
        yield recipient(account, event["rcpt_to"])
    if event.get("transmission_id"):
        yield transmission(account, event["transmission_id"])
    if event.get("campaign_id"):
        yield campaign(account, event["campaign_id"])
    message_id = event.get("message_id")
    if message_id and _transmission_of(message_id) != event.get("transmission_id"):
        yield _message(account, message_id)


def of_stored_event(event: Event) -> Iterator[str]:
    """Yield the partitions in which there may be a block with a stored event, shards included."""
    at = event["timestamp"]
    for partition in of_event(event):
        if not is_day(partition):
            yield partition
            continue
        for each in day_index.days(event["customer_id"], at, at):
            yield from (f"{partition}{shard}" for shard in each.shards)


def is_day(partition: str) -> bool:
    """Tell whether a partition is that of a day, with or without its shard."""
    return partition.split("#", 2)[1] == "day"


def _message(account: object, message_id: str) -> str:
    return f"{account}#message#{message_id}"


def _transmission_of(message_id: str) -> str:
    """Return the transmission that a message id contains; empty for ids from outside."""
    try:
        return ids.transmission_of(message_id)[0]
    except ValueError:
        return ""
