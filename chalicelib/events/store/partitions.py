"""Name the partitions that hold an event's blocks: one for each way to search for the event.

The blocks of a day, of a transmission and of a campaign are spread over ``EVENTS_SHARDS``
partitions, because each of them gets all events of a bulk send. ``blocks`` lists the access
patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from chalicelib.core import ids
from chalicelib.core.message_event import Event
from chalicelib.events.documentation import SEARCHED_TYPES
from chalicelib.events.store import day_index

_INGEST_TYPES: Final = frozenset(("success", "error"))


_SPREAD: Final = ("day", "transmission", "campaign")


def day(account: object, name: str, shard: object) -> str:
    """Return the partition of a shard of a day (``yyyymmdd``)."""
    return f"{account}#day#{name}#{shard}"


def recipient(account: object, address: str) -> str:
    """Return the partition of a recipient."""
    return f"{account}#recipient#{address}"


def is_recipient(partition: str) -> bool:
    """Tell whether a partition is that of a recipient."""
    return partition.split("#", 2)[1] == "recipient"


def transmission(account: object, transmission_id: str) -> str:
    """Return the partition of a transmission, its shard 0."""
    return f"{account}#transmission#{transmission_id}"


def campaign(account: object, campaign_id: str) -> str:
    """Return the partition of a campaign, its shard 0."""
    return f"{account}#campaign#{campaign_id}"


def ingest(account: object) -> str:
    """Return the partition of the results of ingested batches."""
    return f"{account}#ingest"


def is_spread(partition: str) -> bool:
    """Tell whether the blocks of a partition are spread over shards."""
    return partition.split("#", 2)[1] in _SPREAD


def in_shard(partition: str, shard: int) -> str:
    """Return a shard of a partition that is spread.

    Shard 0 of a transmission or a campaign has the key that all of its blocks had before they were
    spread.
    """
    account, kind, name = partition.split("#", 2)
    if kind == "day":
        return f"{partition}{shard}"
    return f"{account}#{kind}/{shard}#{name}" if shard else partition


def in_shards(partitions: Iterable[str], shards: Iterable[int]) -> Iterator[str]:
    """Yield partitions with those shards that their blocks may be in."""
    shards = list(shards)
    for partition in partitions:
        yield from (in_shard(partition, s) for s in shards) if is_spread(partition) else [partition]


def of_message(account: object, message_id: str) -> Iterator[str]:
    """Yield the partitions in which a message's events may be, without their shards."""
    yield _message(account, message_id)
    if transmission_id := _transmission_of(message_id):
        yield transmission(account, transmission_id)


def of_event(event: Event) -> Iterator[str]:
    """Yield the partitions that an event is stored in, without their shards."""
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
    shards = day_index.shards(day_index.days(int(event["customer_id"]), at, at))
    return in_shards(of_event(event), shards)


def _message(account: object, message_id: str) -> str:
    return f"{account}#message#{message_id}"


def _transmission_of(message_id: str) -> str:
    """Return the transmission that a message id contains; empty for ids from outside."""
    try:
        return ids.transmission_of(message_id)[0]
    except ValueError:
        return ""
