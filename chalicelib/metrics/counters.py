"""Where counters are kept, and how they are added to.

Access patterns (table ``metrics``):

- the counts of some values of a dimension over time, a hundred in one request →
  ``pk = <account>#<dimension>#<level>#<period>``, ``sk = <bucket>\\n<value>``
- those of all its values → the same ``pk``, ``sk`` from ``<bucket>`` to ``<bucket>``. All mail is
  the one value of dimension ``all``; the labels of a facet (reasons, links, attempts) are values of
  a dimension of its name
- the counts of combinations of all dimensions → ``pk = <account>#tuples#<level>#<period>``,
  ``sk = <campaign>\\n<bucket>\\n<digest>``: those of one campaign stand together, as it is what
  mail is asked for most often. Combined with a facet's labels: ``<account>#<facet>-tuples#...``

A period is some consecutive buckets (``levels``). Every counter is there at each level, so that a
long window reads few of them. An item holds its counts by their codes, ``label`` (what is counted,
where the key holds but a digest), ``seq`` (the last fold that was added) and ``expires``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Item, Table, Write
from chalicelib.core.settings import settings
from chalicelib.metrics.counting import MAIN
from chalicelib.metrics.delta import Cell
from chalicelib.metrics.levels import LEVELS, Level, Span
from chalicelib.metrics.model import CAMPAIGN, DIMENSIONS, POSITION, Counts, add

ALL: Final = "all"
TUPLES: Final = "tuples"

table = Table("metrics")

_LONGEST_IN_KEY = 256  # bytes; a key holds 1024
_BUCKET_DIGITS = 8
_CAMPAIGN = POSITION[CAMPAIGN.name]
_NOT_COUNTS = frozenset(("pk", "sk", "seq", "expires", "label"))


class Place(NamedTuple):
    """A counter: the item's key, what is counted if the key does not say, and when it expires."""

    pk: str
    sk: str
    label: str
    expires: int


def places(account_id: int, cell: Cell) -> Iterator[Place]:
    """Yield every counter that a cell is added to."""
    if cell.facet == MAIN:
        singles = [(ALL, ""), *zip((d.name for d in DIMENSIONS), cell.values, strict=True)]
        whole = json.dumps(cell.values, ensure_ascii=False, separators=(",", ":"))
    else:
        singles = [(cell.facet, cell.label)]
        parts = [cell.label, cell.values]
        whole = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    campaign = cell.values[_CAMPAIGN]
    for level in LEVELS:
        bucket = level.bucket(cell.minute)
        expires = _expiry(level, bucket)
        for name, value in singles:
            key, label = short(value)
            pk = partition(account_id, name, level, bucket // level.together)
            yield Place(pk, f"{_text(bucket)}\n{key}", label, expires)
        pk = partition(account_id, tuples_of(cell.facet), level, bucket // level.apart)
        yield Place(pk, f"{short(campaign)[0]}\n{_text(bucket)}\n{_digest(whole)}", whole, expires)


def additions(account_id: int, cells: Iterable[tuple[Cell, Counts]], seq: int) -> Iterator[Write]:
    """Yield the actions that add what fold ``seq`` counted, each unless it was added before."""
    sums: dict[Place, Counts] = {}
    for cell, counts in cells:
        for place in places(account_id, cell):
            add(sums.setdefault(place, {}), counts)
    for place, counts in sums.items():
        yield _addition(place, counts, seq)


def partition(account_id: int, name: str, level: Level, period: int) -> str:
    """Return a partition: ``name`` is a dimension, a facet, ``ALL`` or that of ``tuples_of``."""
    return f"{account_id}#{name}#{level.name}#{period}"


def tuples_of(facet: str) -> str:
    """Return the name of the partitions that combine all dimensions with a facet's labels."""
    return f"{facet}-{TUPLES}" if facet != MAIN else TUPLES


def key_of(account_id: int, name: str, level: Level, bucket: int, value: str) -> tuple[str, str]:
    """Return where the counts of a value are kept."""
    pk = partition(account_id, name, level, bucket // level.together)
    return pk, f"{_text(bucket)}\n{short(value)[0]}"


def bucket_range(span: Span) -> tuple[str, str]:
    """Return sort keys before and behind those of all values in a span."""
    return _text(span.first), _text(span.end)


def campaign_range(campaign: str, span: Span) -> tuple[str, str]:
    """Return sort keys before and behind those of a campaign's combinations in a span."""
    key = short(campaign)[0]
    return f"{key}\n{_text(span.first)}", f"{key}\n{_text(span.end)}"


def bucket_of(item: Item, *, combined: bool) -> int:
    """Return the bucket of a counter, which may be one of combined dimensions."""
    return int(item["sk"].split("\n")[1 if combined else 0])


def value_of(item: Item) -> str:
    """Return what a counter counts: a value, or the label of a facet."""
    return item.get("label") or item["sk"].partition("\n")[2]


def counts_of(item: Item) -> Counts:
    """Return the counts in a counter's item."""
    return {name: number for name, number in item.items() if name not in _NOT_COUNTS}


def _addition(place: Place, counts: Mapping[str, int], seq: int) -> Write:
    sets = "#seq = :seq, #expires = :expires" + (", #label = :label" if place.label else "")
    values: dict[str, int | str] = {"seq": seq, "expires": place.expires, **counts}
    if place.label:
        values["label"] = place.label
    return dynamo.update(
        table,
        place.pk,
        place.sk,
        f"SET {sets} ADD " + ", ".join(f"#{code} :{code}" for code in counts),
        values=values,
        condition="attribute_not_exists(#seq) OR #seq < :seq",
    )


def short(value: str) -> tuple[str, str]:
    """Return a value as it stands in a key, and the label if that is only a digest."""
    if len(value.encode()) <= _LONGEST_IN_KEY and "\n" not in value:
        return value, ""
    return _digest(value), value


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _text(bucket: int) -> str:
    return f"{bucket:0{_BUCKET_DIGITS}d}"


def _expiry(level: Level, bucket: int) -> int:
    return (bucket + 1) * level.minutes * 60 + settings().metrics_retention
