"""Read counters for reports, from the smallest partitions that can answer.

All mail has counters of its own, and so has each value of each dimension. A report that filters and
groups by at most one dimension reads those; values that it names are read a hundred in one request.
A report that combines several dimensions reads the combinations that mail had: those of some
campaigns if its filter names campaigns, otherwise all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from chalicelib.core.dynamo import READ_BATCH
from chalicelib.metrics.counting import MAIN
from chalicelib.metrics.filters import Filter
from chalicelib.metrics.levels import Level, Span
from chalicelib.metrics.model import CAMPAIGN, DIMENSIONS, POSITION, Counts, Dimension, Values
from chalicelib.metrics.store import counters
from chalicelib.metrics.store.counters import ALL, CounterItem, tuples_of

#  Most values or campaigns of a filter that are read one by one
MOST_VALUES: Final = 20
#: Most keys that are read one by one: a zone that is half an hour off makes hours of minutes
MOST_KEYS: Final = 50_000

_CAMPAIGN = POSITION[CAMPAIGN.name]
_NO_VALUES: Values = ("",) * len(DIMENSIONS)


class Row(NamedTuple):
    """A counter: its bucket, its values and label, its counts, and the last rollup in them.

    ``values`` holds the dimensions that the report uses, ``label`` that of a facet.
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


class Selection(NamedTuple):
    """The counters that answer a report: the name of their partitions, and the values to read.

    ``position`` is the dimension of the partitions, if they have one; ``keys`` are its values, or
    the campaigns of combinations, ``None`` for all of them.
    """

    name: str
    combined: bool
    facet: str
    position: int | None
    keys: Sequence[str] | None


def select(filter: Filter, by: Iterable[Dimension] = (), facet: str = MAIN) -> Selection:
    """Return the smallest selection for a filter, a grouping and a facet."""
    positions = filter.positions | {POSITION[dimension.name] for dimension in by}
    if not positions:
        return Selection(facet or ALL, False, facet, None, None if facet else ("",))
    if len(positions) == 1 and facet == MAIN:
        (position,) = positions
        return Selection(DIMENSIONS[position].name, False, facet, position, _keys(filter, position))
    return Selection(tuples_of(facet), True, facet, None, _keys(filter, _CAMPAIGN))


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
    selection = select(filter, by, facet)
    for span, item in _items(account_id, spans, selection, consistent):
        bucket = counters.bucket_of(item, combined=selection.combined)
        if span.first <= bucket < span.end:
            row = _row(item, span.level, bucket, selection)
            if filter.holds(row.values):
                yield row


def only(positions: Iterable[int], values: Values) -> Values:
    """Return the values at ``positions``, and empty ones elsewhere."""
    selected = list(_NO_VALUES)
    for position in positions:
        selected[position] = values[position]
    return tuple(selected)


def _keys(filter: Filter, position: int) -> Sequence[str] | None:
    values = filter.only(position)
    if values is None:
        return None
    # Counters of version 0.1.0 have domains as they were typed (see `Dimension.forms`)
    return sorted({form for value in values for form in DIMENSIONS[position].forms(value)})


def _items(
    account_id: int, spans: Sequence[Span], selection: Selection, consistent: bool
) -> Iterator[tuple[Span, CounterItem]]:
    if selection.combined:
        read = _combinations
    elif selection.keys is not None and _is_faster_by_key(spans, selection):
        yield from _by_key(account_id, spans, selection, consistent)
        return
    else:
        read = _all_values
    for span in spans:
        for period in _periods(span, selection):
            pk = counters.partition(account_id, selection.name, span.level, period)
            for item in read(pk, span, selection, consistent):
                yield span, item


def _is_faster_by_key(spans: Sequence[Span], selection: Selection) -> bool:
    keys = len(selection.keys or ())
    buckets = sum(span.end - span.first for span in spans)
    if selection.name == ALL:  # a range of it holds nothing else
        return buckets <= READ_BATCH * sum(len(_periods(span, selection)) for span in spans)
    return keys <= MOST_VALUES and keys * buckets <= MOST_KEYS


def _by_key(
    account_id: int, spans: Sequence[Span], selection: Selection, consistent: bool
) -> Iterator[tuple[Span, CounterItem]]:
    keys = {
        counters.key_of(account_id, selection.name, span.level, bucket, value): span
        for span in spans
        for bucket in range(span.first, span.end)
        for value in selection.keys or ()
    }
    for item in counters.read(keys, consistent=consistent):
        yield keys[item["pk"], item["sk"]], item


def _all_values(
    pk: str, span: Span, selection: Selection, consistent: bool
) -> Iterator[CounterItem]:
    yield from counters.read_range(pk, counters.bucket_range(span), consistent=consistent)


def _combinations(
    pk: str, span: Span, selection: Selection, consistent: bool
) -> Iterator[CounterItem]:
    if selection.keys is None or len(selection.keys) > MOST_VALUES:
        yield from counters.read_partition(pk, consistent=consistent)
        return
    for campaign in selection.keys:
        bounds = counters.campaign_range(campaign, span)
        yield from counters.read_range(pk, bounds, consistent=consistent)


def _periods(span: Span, selection: Selection) -> range:
    length = span.level.apart if selection.combined else span.level.together
    return range(span.first // length, (span.end - 1) // length + 1)


def _row(item: CounterItem, level: Level, bucket: int, selection: Selection) -> Row:
    values, label = _NO_VALUES, ""
    if selection.combined:
        parts = json.loads(item["label"])
        label, parts = ("", parts) if selection.facet == MAIN else parts
        values = tuple(parts)
    elif selection.position is not None:
        values = _with_value(selection.position, counters.value_of(item))
    else:
        label = counters.value_of(item)
    return Row(level, bucket, values, label, counters.counts_of(item), item["seq"])


def _with_value(position: int, value: str) -> Values:
    return (*_NO_VALUES[:position], value, *_NO_VALUES[position + 1 :])
