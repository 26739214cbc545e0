"""Compute the requests of searches over a million events from the layout of the events table.

The real search code runs, but queries this model of the table instead of the cloud. An event block
is encoded only when a query returns it. So a million events take a second, and the requests are
those that a million stored events take.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from chalicelib.core.dynamo import Item, Page
from chalicelib.core.settings import settings
from chalicelib.events import event_blocks
from chalicelib.events.positions import position, position_at
from chalicelib.events.store import blocks, day_index, partitions
from tests.bench import sample_events
from tests.bench.sample_events import Chunk

#: A query returns at most so many bytes
PAGE_BYTES = 1024 * 1024
#: Approximate bytes of an item without its event block
_KEY_BYTES = 100


class Paper:
    """The events table of one account; ``requests`` counts the queries."""

    def __init__(self, account: int, size: int, now: int) -> None:
        self.requests = 0
        self._items: dict[str, dict[str, Chunk | None]] = defaultdict(dict)
        for number, chunk in enumerate(sample_events.chunks(account, size, now)):
            self._place(chunk, number)
        self._keys = {partition: sorted(items) for partition, items in self._items.items()}

    def query(
        self,
        key: str,
        values: Mapping[str, str],
        *,
        newest_first: bool = False,
        limit: int | None = None,
        start: Item | None = None,
        **_: Any,
    ) -> Page:
        """Return the page that ``Table.query`` returns."""
        self.requests += 1
        partition = values["pk"]
        keys = self._keys.get(partition, [])
        if "low" in values:
            keys = keys[bisect_left(keys, values["low"]) : bisect_right(keys, values["high"])]
        if newest_first:
            keys = keys[::-1]
        if start:
            keys = keys[keys.index(start["sk"]) + 1 :]
        items, size = list[Item](), 0
        for sk in keys:
            if len(items) == limit or size > PAGE_BYTES:
                return Page(items, {"pk": partition, "sk": items[-1]["sk"]}, len(items))
            items.append(self._item(partition, sk))
            size += len(items[-1].get("data", b"")) + _KEY_BYTES
        return Page(items, None, len(items))

    def _place(self, chunk: Chunk, number: int) -> None:
        """Place a chunk, which is one event block, in each partition that holds it."""
        account, day = chunk.account, day_index.day_of(chunk.at_ms)
        shard = number % settings().events_shards
        sk = f"{position_at(chunk.at_ms)}#{number:016x}"
        for partition in (
            partitions.day(account, day, shard),
            partitions.transmission(account, chunk.transmission),
            partitions.campaign(account, chunk.campaign),
            partitions.recipient(account, chunk.recipient),
        ):
            self._items[partition][sk] = chunk
        self._items[f"{account}#days"][f"{day}#{shard}"] = None
        self._items[f"{account}#campaigns"][chunk.campaign] = None

    def _item(self, partition: str, sk: str) -> Item:
        chunk = self._items[partition][sk]
        return {"pk": partition, "sk": sk} | ({"data": _block(chunk)} if chunk else {})


@cache
def _block(chunk: Chunk) -> bytes:
    return event_blocks.encode(sorted(chunk.events(), key=position))


@contextmanager
def on_paper(account: int, size: int, now: int) -> Iterator[Paper]:
    """Let searches within the block query an account whose events are computed, not stored."""
    paper = Paper(account, size, now)
    for table in (blocks.table, day_index.table):
        table.query = paper.query  # type: ignore[method-assign]
    try:
        yield paper
    finally:
        for table in (blocks.table, day_index.table):
            vars(table).pop("query")
