"""Make reports: sum up counters by the time, dimension or label of each row (spec 4.11).

Rows are in descending order of one metric, then in order of their names. Those of times and of
attempts are in their own order unless the request names a metric.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from chalicelib.core.bounce_classes import BOUNCE_CLASSES
from chalicelib.core.json_types import Json
from chalicelib.metrics.counting import ATTEMPTS, BOUNCES, DELAYS, LINKS, MAIN, REJECTIONS
from chalicelib.metrics.filters import Filter
from chalicelib.metrics.levels import coarsest_for, spans
from chalicelib.metrics.model import (
    DOMAIN,
    POSITION,
    RELAY_COUNTERS,
    SUBACCOUNT,
    Counts,
    Dimension,
    add,
    metric,
)
from chalicelib.metrics.reading import Row, rows
from chalicelib.metrics.request import DEFAULT_LIMIT, ReportRequest
from chalicelib.metrics.window import MetricsWindow

Key = TypeVar("Key", bound=Hashable)

REJECTION_TYPES = {
    "policy_rejection": (1, "Policy Rejection"),
    "generation_rejection": (2, "Generation Rejection"),
    "generation_failure": (3, "Generation Failure"),
}
"""Category id and name by event type; the third id is this service's choice."""

_DOMAIN_NAMES = """
aol.com att.net bellsouth.net comcast.net cox.net gmail.com gmx.de gmx.net googlemail.com
hotmail.co.uk hotmail.com hotmail.fr icloud.com live.com mac.com mail.ru me.com msn.com orange.fr
outlook.com proton.me qq.com rocketmail.com sbcglobal.net t-online.de verizon.net web.de
yahoo.co.jp yahoo.co.uk yahoo.com yahoo.de yahoo.fr yandex.ru ymail.com
"""
_WATCHED_DOMAINS = frozenset(_DOMAIN_NAMES.split())
"""Domains at which most consumers have their mailboxes: the specification does not name them."""


def summary(request: ReportRequest) -> Json:
    """Return the metrics of the whole window."""
    return _metrics(request, _sums(_rows(request), lambda _: None).get(None, {}))


def over_time(request: ReportRequest) -> list[Json]:
    """Return the metrics of each bucket of the window in order, empty buckets included.

    All of them, unless the request has a limit.
    """
    window = request.window
    begins = window.buckets()
    level = coarsest_for(*begins, window.end)
    parts = list(spans(window.start, window.end, level)) if begins else []
    sums = _sums(
        rows(request.account_id, parts, request.filter),
        lambda row: bisect_right(begins, row.minute) - 1,
    )
    series = [
        {**_metrics(request, sums.get(i, {})), "ts": window.iso_time(begin)}
        for i, begin in enumerate(begins)
    ]
    return _sorted(series, request.order_by)[: request.limit]


def by_dimension(request: ReportRequest, dimension: Dimension) -> list[Json]:
    """Return the metrics of each value of a dimension; mail without a value is in no row."""
    position = POSITION[dimension.name]
    sums = _sums(_rows(request, [dimension]), lambda row: dimension.forms(row.values[position])[0])
    sums.pop("", None)
    read: Callable[[str], str | int] = int if dimension is SUBACCOUNT else str
    return _ordered_rows(
        request, [({dimension.key: read(v)}, counts) for v, counts in sums.items()]
    )


def values(
    account_id: int, window: MetricsWindow, filter: Filter, dimension: Dimension
) -> set[str]:
    """Return the values of a dimension that mail of a window had which passes a filter."""
    position = POSITION[dimension.name]
    parts = list(spans(window.start, window.end))
    counters = rows(account_id, parts, filter, [dimension])
    return {row.values[position] for row in counters} - {""}


def by_watched_domain(request: ReportRequest) -> list[Json]:
    """Return the metrics of each of the large mailbox providers' domains."""
    position = POSITION[DOMAIN.name]
    sums = _sums(
        (row for row in _rows(request, [DOMAIN]) if row.values[position] in _WATCHED_DOMAINS),
        lambda row: row.values[position],
    )
    return _ordered_rows(request, [({"watched_domain": v}, counts) for v, counts in sums.items()])


def by_attempt(request: ReportRequest) -> list[Json]:
    """Return how many messages were delivered at the first attempt, the second, and later."""
    sums = _sums(_rows(request, facet=ATTEMPTS), lambda row: row.label)
    attempts = [{"attempt": name, **_metrics(request, sums[name])} for name in sorted(sums)]
    return _sorted(attempts, request.order_by)[: request.limit]


def by_link(request: ReportRequest) -> list[Json]:
    """Return the clicks on each link name."""
    sums = _sums(_rows(request, facet=LINKS), lambda row: row.label)
    return _counted_rows(request, [({"link_name": name}, counts) for name, counts in sums.items()])


def bounces_by_reason(request: ReportRequest, by: Sequence[Dimension] = ()) -> list[Json]:
    """Return the bounces of each reason and class, and of each domain if ``by`` names it."""
    sums = _by_label(request, BOUNCES, by)
    return _counted_rows(
        request,
        [
            ({**values, "reason": reason, **_class_fields(number)}, counts)
            for values, (reason, number), counts in sums
        ],
    )


def bounces_by_class(request: ReportRequest) -> list[Json]:
    """Return the bounces of each class."""
    sums = _sums(_rows(request, facet=BOUNCES), lambda row: int(json.loads(row.label)[1]))
    return _counted_rows(
        request, [(_class_fields(number), counts) for number, counts in sums.items()]
    )


def rejections(request: ReportRequest, by: Sequence[Dimension] = ()) -> list[Json]:
    """Return the rejections of each reason and type, and of each domain if ``by`` names it."""
    sums = _by_label(request, REJECTIONS, by)
    return _counted_rows(
        request,
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
            for values, (reason, kind), counts in sums
        ],
    )


def delays(request: ReportRequest, by: Sequence[Dimension] = ()) -> list[Json]:
    """Return the delays of each reason, and of each domain if ``by`` names it."""
    sums = _by_label(request, DELAYS, by)
    return _counted_rows(
        request, [({**values, "reason": reason}, counts) for values, reason, counts in sums]
    )


def _rows(request: ReportRequest, by: Sequence[Dimension] = (), facet: str = MAIN) -> Iterable[Row]:
    """Yield the counters of a report; those of a subaccount that only receives mail are in none."""
    parts = list(spans(request.window.start, request.window.end))
    counters = rows(request.account_id, parts, request.filter, by, facet)
    return (row for row in counters if not row.counts.keys() <= RELAY_COUNTERS)


def _sums(counters: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, Counts]:
    sums: dict[Key, Counts] = {}
    for row in counters:
        add(sums.setdefault(key(row), {}), row.counts)
    return sums


def _by_label(
    request: ReportRequest, facet: str, by: Sequence[Dimension]
) -> Iterable[tuple[Json, Any, Counts]]:
    """Yield the sums of a facet's labels: the dimensions' values, the label's parts, the counts."""
    sums = _sums(
        _rows(request, by, facet),
        lambda row: (row.label, *(each.forms(row.values[POSITION[each.name]])[0] for each in by)),
    )
    for (label, *values), counts in sums.items():
        names = {each.key: value for each, value in zip(by, values, strict=True)}
        yield names, label if facet == DELAYS else json.loads(label), counts


def _class_fields(number: int) -> Json:
    bounce_class = BOUNCE_CLASSES[number]
    return {
        "bounce_class_name": bounce_class.name,
        "bounce_class_description": bounce_class.description,
        "bounce_category_id": bounce_class.category_id,
        "bounce_category_name": bounce_class.category,
        "classification_id": number,
    }


def _metrics(request: ReportRequest, counts: Counts) -> Json:
    return {name: metric(name, counts) for name in request.metrics}


def _counted_rows(request: ReportRequest, rows: Iterable[tuple[Json, Counts]]) -> list[Json]:
    """Return the rows in which any of the report's metrics is not zero."""
    return _ordered_rows(request, [row for row in rows if any(_metrics(request, row[1]).values())])


def _ordered_rows(request: ReportRequest, rows: Iterable[tuple[Json, Counts]]) -> list[Json]:
    """Return at most ``limit`` rows in the order of the report."""
    views = [{**names, **_metrics(request, counts)} for names, counts in rows]
    views.sort(key=lambda view: [str(view[key]) for key in view if key not in request.metrics])
    return _sorted(views, request.order_by or request.metrics[0])[: request.limit or DEFAULT_LIMIT]


def _sorted(views: list[Json], metric: str | None) -> list[Json]:
    """Return rows in descending order of a metric, if there is one; equal ones stay in order."""
    return sorted(views, key=lambda view: -view[metric]) if metric else views
