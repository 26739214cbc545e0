"""Read and count many entries in order of their last update.

A read merges one or more partitions of an index (see ``items.py``), each of which is in order. A
page costs only the entries that it shows, however many there are: each partition is first read for
its share of the page, and each further request to it asks for twice as many entries.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from chalicelib.suppression.model import SuppressionEntry, SuppressionKind
from chalicelib.suppression.store import items
from chalicelib.suppression.store.items import EntryPart, SuppressionItem, table

_MARGIN = 25
_MOST_A_REQUEST = 5000  # about what fits the megabyte that DynamoDB returns at most
_CONDITION = "#{attribute} = :key AND #at BETWEEN :low AND :high"


class TimePartition(NamedTuple):
    """Entries of one part and kind, narrowed to a ``value`` of a dimension.

    ``dimension`` is ``time`` (then ``value`` is empty), ``domain``, ``source`` or ``list``;
    ``size`` is the number of entries that it has at most.
    """

    part: EntryPart
    kind: SuppressionKind
    dimension: str
    value: str
    size: int


@dataclass(frozen=True, slots=True)
class Span:
    """The positions from ``low`` to ``high``, both included, and the direction of reading."""

    low: str
    high: str
    newest_first: bool = True


def between(from_ms: int, to_ms: int, *, newest_first: bool = True) -> Span:
    """Return the span between two times, both included."""
    # "~" sorts behind "#", so the high end is behind every position of its time
    return Span(items.position(from_ms), items.position(to_ms) + "~", newest_first)


def rest_of(span: Span, position: str) -> Span:
    """Return the rest of ``span`` that begins with ``position``."""
    if span.newest_first:
        return Span(span.low, min(span.high, position), True)
    return Span(max(span.low, position), span.high, False)


def read(
    account_id: int, partitions: Sequence[TimePartition], span: Span, expected: int
) -> Iterator[tuple[str, SuppressionEntry]]:
    """Yield ``(position, entry)`` in order; the caller takes about ``expected`` of them."""
    if span.low > span.high:
        return
    size = sum(partition.size for partition in partitions) or 1
    streams = [
        _stream(account_id, each, span, min(each.size, expected * each.size // size) + _MARGIN)
        for each in partitions
    ]
    for item in heapq.merge(*streams, key=lambda item: item["at"], reverse=span.newest_first):
        if entry := items.to_entry(item):
            yield item["at"], entry


def count(account_id: int, partitions: Sequence[TimePartition], span: Span) -> int:
    """Count the entries, with requests that return only counts: one for some 5,000 entries."""
    if span.low > span.high:
        return 0
    return sum(_count(account_id, partition, span) for partition in partitions)


def _stream(
    account_id: int, partition: TimePartition, span: Span, limit: int
) -> Iterator[SuppressionItem]:
    condition, values, index = _query(account_id, partition, span)
    start = None
    while True:
        page = table.query(
            condition,
            values,
            index=index,
            newest_first=span.newest_first,
            limit=limit,
            start=start,
        )
        yield from page.items
        start, limit = page.next_key, min(2 * limit, _MOST_A_REQUEST)
        if start is None:
            return


def _count(account_id: int, partition: TimePartition, span: Span) -> int:
    condition, values, index = _query(account_id, partition, span)
    total, start = 0, None
    while True:
        page = table.query(condition, values, index=index, start=start, only_count=True)
        total, start = total + page.count, page.next_key
        if start is None:
            return total


def _query(
    account_id: int, partition: TimePartition, span: Span
) -> tuple[str, dict[str, Any], str]:
    part, kind, dimension, value, _ = partition
    attribute = items.index_attribute(part, dimension)
    values = {
        "key": items.index_key(account_id, part, kind, value),
        "low": span.low,
        "high": span.high,
    }
    return (
        _CONDITION.format(attribute=attribute),
        values,
        items.index_name(part, dimension),
    )
