"""Reports: counters summed up as they were asked for (spec 4.11).

Every figure is a sum over counters. Rows come in descending order of one metric, then by name.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from chalicelib.core.bounce_classes import BOUNCE_CLASSES
from chalicelib.metrics.counting import ATTEMPTS, BOUNCES, DELAYS, LINKS, MAIN, REJECTIONS
from chalicelib.metrics.levels import coarsest_for, spans
from chalicelib.metrics.model import (
    DOMAIN,
    POSITION,
    SUBACCOUNT,
    Counts,
    Dimension,
    add,
    metric,
)
from chalicelib.metrics.reading import Row, rows
from chalicelib.metrics.request import PageRequest
from chalicelib.metrics.watched import WATCHED

Json = dict[str, Any]
Key = TypeVar("Key", bound=Hashable)

REJECTION_TYPES = {
    "policy_rejection": (1, "Policy Rejection"),
    "generation_rejection": (2, "Generation Rejection"),
    "generation_failure": (3, "Generation Failure"),
}
"""Category id and name by event type; the third id is this service's choice."""


def summary(asked: PageRequest) -> Json:
    """Return the metrics of the whole window."""
    return _shown(asked, _sums(_rows(asked), lambda _: None).get(None, {}))


def over_time(asked: PageRequest) -> list[Json]:
    """Return the metrics of each bucket of the window, in order, empty ones as well."""
    window = asked.window
    begins = window.buckets()
    level = coarsest_for(*begins, window.end)
    parts = list(spans(window.start, window.end, level)) if begins else []
    found = _sums(
        rows(asked.account_id, parts, asked.filter),
        lambda row: bisect_right(begins, row.minute) - 1,
    )
    return [
        {**_shown(asked, found.get(i, {})), "ts": window.show(begin)}
        for i, begin in enumerate(begins)
    ]


def by_dimension(asked: PageRequest, dimension: Dimension) -> list[Json]:
    """Return the metrics of each value of a dimension; mail without a value is in no row."""
    position = POSITION[dimension.name]
    found = _sums(_rows(asked, [dimension]), lambda row: row.values[position])
    found.pop("", None)
    read: Callable[[str], str | int] = int if dimension is SUBACCOUNT else str
    return _ordered(asked, [({dimension.key: read(v)}, counts) for v, counts in found.items()])


def by_watched_domain(asked: PageRequest) -> list[Json]:
    """Return the metrics of each of the large mailbox providers' domains."""
    position = POSITION[DOMAIN.name]
    found = _sums(
        (row for row in _rows(asked, [DOMAIN]) if row.values[position] in WATCHED),
        lambda row: row.values[position],
    )
    return _ordered(asked, [({"watched_domain": v}, counts) for v, counts in found.items()])


def by_attempt(asked: PageRequest) -> list[Json]:
    """Return how many messages were delivered at the first attempt, the second, and later."""
    found = _sums(_rows(asked, facet=ATTEMPTS), lambda row: row.label)
    attempts = [{"attempt": name, **_shown(asked, found[name])} for name in sorted(found)]
    return attempts[: asked.limit]


def by_link(asked: PageRequest) -> list[Json]:
    """Return the clicks on each link name."""
    found = _sums(_rows(asked, facet=LINKS), lambda row: row.label)
    return _counted(asked, [({"link_name": name}, counts) for name, counts in found.items()])


def bounces_by_reason(asked: PageRequest, by: Sequence[Dimension] = ()) -> list[Json]:
    """Return the bounces of each reason and class, and of each domain if ``by`` names it."""
    found = _by_label(asked, BOUNCES, by)
    return _counted(
        asked,
        [
            ({**values, "reason": reason, **_class_fields(number)}, counts)
            for values, (reason, number), counts in found
        ],
    )


def bounces_by_class(asked: PageRequest) -> list[Json]:
    """Return the bounces of each class."""
    found = _sums(_rows(asked, facet=BOUNCES), lambda row: int(json.loads(row.label)[1]))
    return _counted(asked, [(_class_fields(number), counts) for number, counts in found.items()])


def rejections(asked: PageRequest, by: Sequence[Dimension] = ()) -> list[Json]:
    """Return the rejections of each reason and type, and of each domain if ``by`` names it."""
    found = _by_label(asked, REJECTIONS, by)
    return _counted(
        asked,
        [
            (
                {
                    **values,
                    "reason": reason,
                    "rejection_category_id": REJECTION_TYPES[kind][0],
                    "rejection_type": REJECTION_TYPES[kind][1],
                },
                counts,
            )
            for values, (reason, kind), counts in found
        ],
    )


def delays(asked: PageRequest, by: Sequence[Dimension] = ()) -> list[Json]:
    """Return the delays of each reason, and of each domain if ``by`` names it."""
    found = _by_label(asked, DELAYS, by)
    return _counted(
        asked, [({**values, "reason": reason}, counts) for values, reason, counts in found]
    )


def _rows(asked: PageRequest, by: Sequence[Dimension] = (), facet: str = MAIN) -> Iterable[Row]:
    parts = list(spans(asked.window.start, asked.window.end))
    return rows(asked.account_id, parts, asked.filter, by, facet)


def _sums(found: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, Counts]:
    sums: dict[Key, Counts] = {}
    for row in found:
        add(sums.setdefault(key(row), {}), row.counts)
    return sums


def _by_label(
    asked: PageRequest, facet: str, by: Sequence[Dimension]
) -> Iterable[tuple[Json, Any, Counts]]:
    """Yield the sums of a facet's labels: the dimensions' values, the label's parts, the counts."""
    found = _sums(
        _rows(asked, by, facet),
        lambda row: (row.label, *(row.values[POSITION[each.name]] for each in by)),
    )
    for (label, *values), counts in found.items():
        named = {each.key: value for each, value in zip(by, values, strict=True)}
        yield named, label if facet == DELAYS else json.loads(label), counts


def _class_fields(number: int) -> Json:
    found = BOUNCE_CLASSES[number]
    return {
        "bounce_class_name": found.name,
        "bounce_class_description": found.description,
        "bounce_category_id": found.category_id,
        "bounce_category_name": found.category,
        "classification_id": number,
    }


def _shown(asked: PageRequest, counts: Counts) -> Json:
    return {name: metric(name, counts) for name in asked.metrics}


def _counted(asked: PageRequest, found: Iterable[tuple[Json, Counts]]) -> list[Json]:
    """Return the rows in which anything that was asked for was counted."""
    return _ordered(asked, [each for each in found if any(_shown(asked, each[1]).values())])


def _ordered(asked: PageRequest, found: Iterable[tuple[Json, Counts]]) -> list[Json]:
    shown = [{**names, **_shown(asked, counts)} for names, counts in found]
    named = sorted(
        shown, key=lambda row: [str(row[key]) for key in row if key not in asked.metrics]
    )
    return sorted(named, key=lambda row: -row[asked.order_by])[: asked.limit]
