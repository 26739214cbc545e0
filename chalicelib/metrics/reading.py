"""Counters, as a report needs them: from the smallest partitions that can answer it.

All mail has counters of its own, and so has each value of each dimension: a report that filters and
groups by no more than one dimension reads those, named values a hundred in one request. A report
that combines several dimensions reads the combinations that mail had, those of some campaigns if
it names campaigns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from chalicelib.core.dynamo import READ_BATCH, Item
from chalicelib.metrics import counters
from chalicelib.metrics.counters import ALL, table, tuples_of
from chalicelib.metrics.counting import MAIN
from chalicelib.metrics.filters import Filter
from chalicelib.metrics.levels import Level, Span
from chalicelib.metrics.model import CAMPAIGN, DIMENSIONS, POSITION, Counts, Dimension, Values

MOST_NAMED: Final = 20
"""Values or campaigns that a filter names are read by themselves if they are no more than this."""

MOST_KEYS: Final = 50_000
"""Keys that are asked for at most; hours of a zone that is half an hour off are made of minutes."""

_CAMPAIGN = POSITION[CAMPAIGN.name]
_NO_VALUES: Values = ("",) * len(DIMENSIONS)


class Row(NamedTuple):
    """A counter: its bucket, what it counts, the numbers, and the last fold that is in them.

    ``values`` holds the dimensions that were asked for, ``label`` that of a facet.
    """

    level: Level
    bucket: int
    values: Values
    label: str
    counts: Counts
    seq: int

    @property
    def minute(self) -> int:
        """The minute at which the bucket begins."""
        return self.bucket * self.level.minutes


class Source(NamedTuple):
    """Which counters answer: partitions by name, and those values of the key that are wanted."""

    name: str
    combined: bool
    facet: str
    position: int | None
    keys: Sequence[str] | None


def source_of(filter: Filter, by: Iterable[Dimension] = (), facet: str = MAIN) -> Source:
    """Return the smallest source for a filter, a grouping and a facet."""
    used = filter.positions | {POSITION[dimension.name] for dimension in by}
    if not used:
        return Source(facet or ALL, False, facet, None, None if facet else ("",))
    if len(used) == 1 and facet == MAIN:
        (position,) = used
        return Source(DIMENSIONS[position].name, False, facet, position, _keys(filter, position))
    return Source(tuples_of(facet), True, facet, None, _keys(filter, _CAMPAIGN))


def rows(
    account_id: int,
    spans: Sequence[Span],
    filter: Filter,
    by: Iterable[Dimension] = (),
    facet: str = MAIN,
    *,
    consistent: bool = False,
) -> Iterator[Row]:
    """Yield the counters of the spans that pass the filter."""
    source = source_of(filter, by, facet)
    for span, item in _items(account_id, spans, source, consistent):
        bucket = counters.bucket_of(item, combined=source.combined)
        if span.first <= bucket < span.end:
            row = _row(item, span.level, bucket, source)
            if filter.holds(row.values):
                yield row


def _keys(filter: Filter, position: int) -> Sequence[str] | None:
    wanted = filter.only(position)
    return sorted(wanted) if wanted is not None else None


def _items(
    account_id: int, spans: Sequence[Span], source: Source, consistent: bool
) -> Iterator[tuple[Span, Item]]:
    if source.combined:
        read = _combined
    elif source.keys is not None and _is_quicker_by_key(spans, source):
        yield from _named(account_id, spans, source, consistent)
        return
    else:
        read = _all_values
    for span in spans:
        for period in _periods(span, source):
            pk = counters.partition(account_id, source.name, span.level, period)
            for item in read(pk, span, source, consistent):
                yield span, item


def _is_quicker_by_key(spans: Sequence[Span], source: Source) -> bool:
    keys = len(source.keys or ())
    buckets = sum(span.end - span.first for span in spans)
    if source.name == ALL:  # whose range holds nothing else
        return buckets <= READ_BATCH * sum(len(_periods(span, source)) for span in spans)
    return keys <= MOST_NAMED and keys * buckets <= MOST_KEYS


def _named(
    account_id: int, spans: Sequence[Span], source: Source, consistent: bool
) -> Iterator[tuple[Span, Item]]:
    wanted = {
        counters.key_of(account_id, source.name, span.level, bucket, value): span
        for span in spans
        for bucket in range(span.first, span.end)
        for value in source.keys or ()
    }
    for item in table.get_all(wanted, consistent=consistent):
        yield wanted[item["pk"], item["sk"]], item


def _all_values(pk: str, span: Span, source: Source, consistent: bool) -> Iterator[Item]:
    first, last = counters.bucket_range(span)
    yield from _between(pk, first, last, consistent)


def _combined(pk: str, span: Span, source: Source, consistent: bool) -> Iterator[Item]:
    if source.keys is None or len(source.keys) > MOST_NAMED:
        yield from table.query_all("#pk = :pk", {"pk": pk}, consistent=consistent)
        return
    for campaign in source.keys:
        first, last = counters.campaign_range(campaign, span)
        yield from _between(pk, first, last, consistent)


def _between(pk: str, first: str, last: str, consistent: bool) -> Iterator[Item]:
    yield from table.query_all(
        "#pk = :pk AND #sk BETWEEN :first AND :last",
        {"pk": pk, "first": first, "last": last},
        consistent=consistent,
    )


def _periods(span: Span, source: Source) -> range:
    length = span.level.apart if source.combined else span.level.together
    return range(span.first // length, (span.end - 1) // length + 1)


def _row(item: Item, level: Level, bucket: int, source: Source) -> Row:
    values, label = _NO_VALUES, ""
    if source.combined:
        found = json.loads(item["label"])
        label, found = ("", found) if source.facet == MAIN else found
        values = tuple(found)
    elif source.position is not None:
        values = _with_value(source.position, counters.value_of(item))
    else:
        label = counters.value_of(item)
    return Row(level, bucket, values, label, counters.counts_of(item), item["seq"])


def only(positions: Iterable[int], values: Values) -> Values:
    """Return values of which only those at ``positions`` are known."""
    found = list(_NO_VALUES)
    for position in positions:
        found[position] = values[position]
    return tuple(found)


def _with_value(position: int, value: str) -> Values:
    return (*_NO_VALUES[:position], value, *_NO_VALUES[position + 1 :])
