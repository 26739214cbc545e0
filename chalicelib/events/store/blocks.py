"""Keep events in blocks: one item for up to a hundred events that happened within five seconds.

A search reads one partition, and an event is in a block of each partition that may be searched for
it (``partitions``). The sort key of a block has the time of its newest event and a digest of its
event ids.

Access patterns of ``events``:

- an account's events of a day (UTC), newest first → ``<account>#day#<yyyymmdd>#<shard>`` /
  ``<ms>#<digest>``
- the events of a recipient → ``<account>#recipient#<address>`` / ``<ms>#<digest>``
- the events of a transmission, and of a message in it →
  ``<account>#transmission/<shard>#<transmission id>`` / ``<ms>#<digest>``
- the events of a message whose id does not contain its transmission →
  ``<account>#message#<message id>`` / ``<ms>#<digest>``
- the events of a campaign → ``<account>#campaign/<shard>#<campaign>`` / ``<ms>#<digest>``
- the results of ingested batches → ``<account>#ingest`` / ``<ms>#<digest>``

Shard 0 is written without its number, as before there were shards. The day index tells which shards
a day has.

A block of a recipient that holds a delivery is kept for ``DELIVERIES_RETENTION``, for recipient
validation.

Storing the same events again writes the same items. An event that was stored again in other blocks
is read once (``search``).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Keyed, Table
from chalicelib.core.message_event import Event
from chalicelib.core.settings import settings
from chalicelib.events import event_blocks
from chalicelib.events.event_blocks import SPAN_MS, EncodedBlock, EventBlock
from chalicelib.events.positions import moment_of, position, position_at
from chalicelib.events.store import day_index, delivery_expiry, expiry, partitions


class BlockItem(Keyed):
    """A block of events."""

    #: How many events it holds
    count: int
    #: The events, as ``event_blocks`` encodes them
    data: bytes
    expires: int


table: Table[BlockItem] = Table("events")

#: Blocks that the first request of a query asks for, and the growth of later ones: a page of a few
#: events reads little, and a long search reads the megabyte that one request can return
FIRST_PAGE: Final = 16
GROWTH: Final = 4
_LARGEST_PAGE: Final = 1024

# Sorts after every sort key that begins with the text before it
_LAST: Final = "~"
# Erased events that are at most this far apart are looked for with one query
_NEAR_MS: Final = 60_000


class StoredBlock(NamedTuple):
    """A block with its keys."""

    pk: str
    sk: str
    block: EventBlock


class PlacedBlock(NamedTuple):
    """A block to store: its item, and the day index entries that it needs."""

    item: BlockItem
    entries: Sequence[day_index.DayEntry]


def place(events: Iterable[Event]) -> Iterator[PlacedBlock]:
    """Yield the blocks of events, which must be sorted by position, for every partition."""
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        for partition in partitions.of_event(event):
            groups[partition].append(event)
    # The blocks of a bulk send are the same for its day, its transmission and its campaign
    encoded: dict[tuple[int, ...], list[tuple[Sequence[Event], EncodedBlock]]] = {}
    for partition, members in groups.items():
        for group in event_blocks.cut(members):
            identity = tuple(map(id, group))
            if identity not in encoded:
                encoded[identity] = list(event_blocks.encode_parts(group))
            for part, block in encoded[identity]:
                yield _placed(partition, part, block)


def read(
    partition: str,
    low: str = "",
    high: str = "",
    *,
    limit: int = FIRST_PAGE,
    consistent: bool = False,
) -> Iterator[StoredBlock]:
    """Yield the blocks, newest first, that may have events from ``low`` to before ``high``.

    Without bounds these are all blocks of the partition. ``limit`` is the number of blocks that the
    first request asks for; further requests are made as the caller asks for more.
    """
    first, last = _block_range(low or position_at(0), high or position_at(2**62))
    start = None
    while True:
        page = table.query(
            "#pk = :pk AND #sk BETWEEN :low AND :high",
            {"pk": partition, "low": first, "high": last},
            newest_first=True,
            limit=min(limit, _LARGEST_PAGE),
            start=start,
            consistent=consistent,
        )
        for item in page.items:
            yield StoredBlock(item["pk"], item["sk"], EventBlock(item["data"]))
        start, limit = page.next_key, limit * GROWTH
        if start is None:
            return


def remove(partition: str, events: Iterable[Event]) -> None:
    """Take events out of the blocks of a partition."""
    for near in _near_positions(sorted(map(position, events))):
        for stored_block in read(partition, near[0], near[-1], consistent=True):
            _remove_from(stored_block, frozenset(near))


def _remove_from(stored_block: StoredBlock, positions: frozenset[str]) -> None:
    """Take positions out of a block, which another process may change at the same time."""
    unused_block: EventBlock | None = stored_block.block

    def attempt() -> None:
        nonlocal unused_block
        block = unused_block or _read_block(stored_block)
        unused_block = None  # another try reads the block again
        if block is not None:
            _rewrite(stored_block, block, positions)

    dynamo.retry_conflicts(attempt)


def _block_key(newest_ms: int, events: Iterable[Event]) -> str:
    names = "\n".join(sorted(event["event_id"] for event in events)).encode()
    return f"{position_at(newest_ms)}#{hashlib.blake2b(names, digest_size=8).hexdigest()}"


def _block_range(low: str, high: str) -> tuple[str, str]:
    """Return the sort keys between which blocks may have events from ``low`` to ``high``."""
    newest = int(high.partition("#")[0]) + SPAN_MS
    return low.partition("#")[0], f"{position_at(newest)}{_LAST}"


def _shard_of(block_key: str) -> int:
    return int(block_key.rpartition("#")[2], 16) % max(1, settings().events_shards)


def _placed(partition: str, events: Sequence[Event], block: EncodedBlock) -> PlacedBlock:
    sk = _block_key(block.newest_ms, events)
    entries = list[day_index.DayEntry]()
    if partitions.is_spread(partition):
        shard = _shard_of(sk)
        partition = partitions.in_shard(partition, shard)
        # A block may begin before midnight and end after it
        entries = [day_index.shard_entry(event, shard) for event in (events[0], events[-1])]
    return PlacedBlock(_item(partition, sk, events, block), entries)


def _item(pk: str, sk: str, events: Iterable[Event], block: EncodedBlock) -> BlockItem:
    # That somebody got mail is of use for longer than the events are shown, and a later expiry
    # takes no write
    is_delivery = partitions.is_recipient(pk) and any(e["type"] == "delivery" for e in events)
    expires = delivery_expiry if is_delivery else expiry
    return {
        "pk": pk,
        "sk": sk,
        "count": block.size,
        "data": block.data,
        "expires": expires(block.newest_ms),
    }


def _near_positions(positions: Sequence[str]) -> Iterator[list[str]]:
    """Yield groups of positions, which must be sorted, that are few blocks apart."""
    near: list[str] = []
    for each in positions:
        if near and moment_of(each) - moment_of(near[-1]) > _NEAR_MS:
            yield near
            near = []
        near.append(each)
    if near:
        yield near


def _read_block(stored_block: StoredBlock) -> EventBlock | None:
    item = table.get(stored_block.pk, stored_block.sk)
    return EventBlock(item["data"]) if item else None


def _rewrite(stored_block: StoredBlock, block: EventBlock, erased: frozenset[str]) -> None:
    """Write a block without some positions; raises ``ConditionFailed`` if it was changed."""
    positions = block.positions()
    if erased.isdisjoint(positions):
        return
    rest = [block.event(row) for row in range(block.count) if positions[row] not in erased]
    unchanged = dynamo.if_unchanged("count", block.count)
    if not rest:
        table.delete(stored_block.pk, stored_block.sk, **unchanged)
        return
    encoded = EncodedBlock(moment_of(stored_block.sk), len(rest), event_blocks.encode(rest))
    table.put(_item(stored_block.pk, stored_block.sk, rest, encoded), **unchanged)
