"""Keep counters, and add to each of them once.

Access patterns of ``metrics``:

- the counts of all mail in some buckets → ``<account>#all#<level>#<period>`` / ``<bucket>\\n``
- the counts of some values of a dimension → ``<account>#<dimension>#<level>#<period>`` /
  ``<bucket>\\n<value>`` (100 a request)
- the counts of all values of a dimension → ``<account>#<dimension>#<level>#<period>`` /
  ``<bucket> .. <bucket>``
- the counts of all labels of a facet → ``<account>#<facet>#<level>#<period>`` /
  ``<bucket> .. <bucket>``
- the counts of all combinations of dimensions → ``<account>#tuples#<level>#<period>``
- the counts of a campaign's combinations → ``<account>#tuples#<level>#<period>`` /
  ``<campaign>\\n<bucket> .. <campaign>\\n<bucket>``
- the same combined with the labels of a facet → ``<account>#<facet>-tuples#<level>#<period>`` /
  ``<campaign>\\n<bucket> .. <campaign>\\n<bucket>``

A period is some consecutive buckets (``levels``). Each counter exists at every level, so a report
over a long window reads few of them. The combinations of one campaign are stored together because
most reports filter by campaign; their sort keys end with a digest of the combination.

"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, NotRequired

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Key, Keyed, Table, Write
from chalicelib.core.settings import settings
from chalicelib.metrics.counting import MAIN
from chalicelib.metrics.delta import Cell
from chalicelib.metrics.levels import LEVELS, Level, Span
from chalicelib.metrics.model import CAMPAIGN, DIMENSIONS, POSITION, Counts, add


class CounterItem(Keyed):
    """A counter; it has its counts too, by their codes (``model.EVENT_COUNTERS``)."""

    #: The number of the last rollup that was added
    seq: int
    #: The value or combination that is counted, if the key holds only its digest
    label: NotRequired[str]
    expires: int


table: Table[CounterItem] = Table("metrics")

ALL: Final = "all"
TUPLES: Final = "tuples"

_LONGEST_IN_KEY = 256  # bytes; a key holds 1024
_BUCKET_DIGITS = 8
_CAMPAIGN = POSITION[CAMPAIGN.name]
_NOT_COUNTS = frozenset(("pk", "sk", "seq", "expires", "label"))


class Counter(NamedTuple):
    """A counter: its key, the label if the key does not hold it, and when it expires."""

    pk: str
    sk: str
    label: str
    expires: int


def counters_of(account_id: int, cell: Cell) -> Iterator[Counter]:
    """Yield every counter that a cell is added to."""
    if cell.facet == MAIN:
        singles = [(ALL, ""), *zip((d.name for d in DIMENSIONS), cell.values, strict=True)]
        combination = json.dumps(cell.values, ensure_ascii=False, separators=(",", ":"))
    else:
        singles = [(cell.facet, cell.label)]
        parts = [cell.label, cell.values]
        combination = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    campaign = cell.values[_CAMPAIGN]
    for level in LEVELS:
        bucket = level.bucket(cell.minute)
        expires = _expiry(level, bucket)
        for name, value in singles:
            text, label = key_text(value)
            pk = partition(account_id, name, level, bucket // level.together)
            yield Counter(pk, f"{_digits(bucket)}\n{text}", label, expires)
        pk = partition(account_id, tuples_of(cell.facet), level, bucket // level.apart)
        sk = f"{key_text(campaign)[0]}\n{_digits(bucket)}\n{_digest(combination)}"
        yield Counter(pk, sk, combination, expires)


def additions(account_id: int, cells: Iterable[tuple[Cell, Counts]], seq: int) -> Iterator[Write]:
    """Yield the actions that add the cells of rollup ``seq`` to the counters.

    The condition of an action fails if its counter already has the rollup.
    """
    sums: dict[Counter, Counts] = {}
    for cell, counts in cells:
        for counter in counters_of(account_id, cell):
            add(sums.setdefault(counter, {}), counts)
    for counter, counts in sums.items():
        yield _addition(counter, counts, seq)


def read(keys: Iterable[Key], *, consistent: bool) -> list[CounterItem]:
    """Return the counters that exist at these keys, a hundred a request."""
    return table.get_all(keys, consistent=consistent)


def read_partition(pk: str, *, consistent: bool) -> Iterator[CounterItem]:
    """Yield the counters of a partition."""
    yield from table.query_all("#pk = :pk", {"pk": pk}, consistent=consistent)


def read_range(pk: str, bounds: tuple[str, str], *, consistent: bool) -> Iterator[CounterItem]:
    """Yield the counters of a partition between two sort keys."""
    first, last = bounds
    yield from table.query_all(
        "#pk = :pk AND #sk BETWEEN :first AND :last",
        {"pk": pk, "first": first, "last": last},
        consistent=consistent,
    )


def partition(account_id: int, name: str, level: Level, period: int) -> str:
    """Return a partition: ``name`` is a dimension, a facet, ``ALL`` or that of ``tuples_of``."""
    return f"{account_id}#{name}#{level.name}#{period}"


def tuples_of(facet: str) -> str:
    """Return the name of the partitions that combine all dimensions with a facet's labels."""
    return f"{facet}-{TUPLES}" if facet != MAIN else TUPLES


def key_of(account_id: int, name: str, level: Level, bucket: int, value: str) -> Key:
    """Return the key of a value's counter."""
    pk = partition(account_id, name, level, bucket // level.together)
    return pk, f"{_digits(bucket)}\n{key_text(value)[0]}"


def bucket_range(span: Span) -> tuple[str, str]:
    """Return sort keys before and after those of all values in a span."""
    return _digits(span.first), _digits(span.end)


def campaign_range(campaign: str, span: Span) -> tuple[str, str]:
    """Return sort keys before and after those of a campaign's combinations in a span."""
    text = key_text(campaign)[0]
    return f"{text}\n{_digits(span.first)}", f"{text}\n{_digits(span.end)}"


def bucket_of(item: CounterItem, *, combined: bool) -> int:
    """Return the bucket of a counter, which is ``combined`` if it counts a combination."""
    return int(item["sk"].split("\n")[1 if combined else 0])


def value_of(item: CounterItem) -> str:
    """Return the value, or the label of a facet, that a counter counts."""
    return item.get("label") or item["sk"].partition("\n")[2]


def counts_of(item: CounterItem) -> Counts:
    """Return the counts of a counter."""
    attributes: Mapping[str, Any] = item
    return {name: number for name, number in attributes.items() if name not in _NOT_COUNTS}


def key_text(value: str) -> tuple[str, str]:
    """Return a value as keys hold it; and as the label, if keys hold only its digest."""
    if len(value.encode()) <= _LONGEST_IN_KEY and "\n" not in value:
        return value, ""
    return _digest(value), value


def _addition(counter: Counter, counts: Mapping[str, int], seq: int) -> Write:
    sets = "#seq = :seq, #expires = :expires" + (", #label = :label" if counter.label else "")
    values: dict[str, int | str] = {"seq": seq, "expires": counter.expires, **counts}
    if counter.label:
        values["label"] = counter.label
    return dynamo.update(
        table,
        counter.pk,
        counter.sk,
        f"SET {sets} ADD " + ", ".join(f"#{code} :{code}" for code in counts),
        values=values,
        condition="attribute_not_exists(#seq) OR #seq < :seq",
    )


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _digits(bucket: int) -> str:
    return f"{bucket:0{_BUCKET_DIGITS}d}"


def _expiry(level: Level, bucket: int) -> int:
    return (bucket + 1) * level.minutes * 60 + settings().metrics_retention
