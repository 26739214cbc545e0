"""Describe ``/metrics`` (spec 4.11): the reports and the parameters that they share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from chalicelib.metrics.model import (
    ATTEMPT_METRICS,
    BOUNCE_METRICS,
    BY_FILTER_KEY,
    CLICK_METRICS,
    DIMENSIONS,
    LISTED,
    METRICS,
    PLACEMENT_METRICS,
    SUBJECT,
)
from chalicelib.metrics.precision import PRECISIONS, SERIES
from chalicelib.metrics.request import DEFAULT_LIMIT, MOST_ROWS
from chalicelib.openapi.operation import (
    Operation,
    Operations,
    comma_list,
    query,
    results,
    shared_parameter,
)
from chalicelib.openapi.schema import array, integer, mapping, one_of, record, text

_ROOT: Final = "/api/v1/metrics"
_REPORTS: Final = f"{_ROOT}/deliverability"

_BY_REASON: Final = (
    "rejection-reason",
    "rejection-reason/domain",
    "delay-reason",
    "delay-reason/domain",
)
_SPECIAL: Final = {
    "attempt": ATTEMPT_METRICS,
    "bounce-classification": BOUNCE_METRICS,
    "bounce-reason": BOUNCE_METRICS,
    "bounce-reason/domain": BOUNCE_METRICS,
    "link-name": CLICK_METRICS,
}
#: Text on the filters that not every metric can have
_LIMITED: Final = {
    SUBJECT.filter_key: f". Only with the metrics {', '.join(sorted(PLACEMENT_METRICS))}"
}
_LINKS: Final = array(record(href=text(), rel=text(), method=text()))
_ROWS: Final = array(mapping() | {"description": "The value that the row is for, and its metrics"})
_TIME: Final = text(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$")


def _metrics(names: Iterable[str]) -> dict[str, Any]:
    parameter = comma_list("metrics", "Metrics to show", one_of(sorted(names)))
    return parameter | {"required": True, "schema": parameter["schema"] | {"minItems": 1}}


PARAMETERS: Final = {
    f"metrics.{each['name']}": each
    for each in (
        query("from", _TIME, "Start of the time window, in `timezone`", required=True),
        query("to", _TIME, "End of the time window; by default now"),
        query("precision", one_of(PRECISIONS), "Length of each time bucket"),
        query("limit", integer(1, MOST_ROWS) | {"default": DEFAULT_LIMIT}, "Most rows to return"),
        _metrics(METRICS),
        query("order_by", text(), "Metric to order the rows by"),
        query("query_filters", text(), "Comparisons as JSON, in place of the filters below"),
        *(
            comma_list(key, "Only messages with one of these values" + _LIMITED.get(key, ""))
            for key in BY_FILTER_KEY
        ),
    )
}
"""The reports' parameters, for the components of the document."""


def _shared(*names: str) -> tuple[dict[str, Any], ...]:
    return tuple(shared_parameter(f"metrics.{name}") for name in names)


_WINDOW: Final = (shared_parameter("timezone"), *_shared("from", "to"))
_LIMIT: Final = _shared("limit")
_PRECISION: Final = _shared("precision")
_FILTERS: Final = (shared_parameter("delimiter"), *_shared("query_filters", *BY_FILTER_KEY))
_SUMMARY: Final = (*_WINDOW, *_PRECISION, *_FILTERS)
_FIXED: Final = (*_SUMMARY, *_LIMIT, *_shared("order_by"))
_METRICS: Final = _shared("metrics")
_REPORT: Final = Operation(results(_ROWS), parameters=(*_FIXED, *_METRICS))


def _limited_to(names: Iterable[str]) -> Operation:
    """Describe a report that has only these metrics."""
    return Operation(results(_ROWS), parameters=(*_FIXED, _metrics(names)))


_WITHOUT_METRICS: Final = Operation(results(_ROWS), parameters=_FIXED)
_SERIES: Final = Operation(
    results(_ROWS),
    parameters=(
        *_WINDOW,
        query("precision", one_of(SERIES), "Length of each time bucket"),
        *_METRICS,
        *_FILTERS,
        query("limit", integer(1, MOST_ROWS), "Most rows to return; by default all"),
        query("order_by", text(), "Metric to order the rows by; by default they are by time"),
    ),
)
_LISTS: Final = Operation(
    results(mapping(array(text()))),
    parameters=(
        *_WINDOW,
        *_LIMIT,
        *_PRECISION,
        query("match", text(), "Only values that contain this text"),
    ),
)

OPERATIONS: Final[Operations] = {
    f"GET {_ROOT}": Operation(results(mapping(), links=_LINKS)),
    **{f"GET {_ROOT}/{each.list_path}": _LISTS for each in LISTED},
    f"GET {_REPORTS}": Operation(results(_ROWS, links=_LINKS), parameters=(*_SUMMARY, *_METRICS)),
    f"GET {_REPORTS}/time-series": _SERIES,
    f"GET {_REPORTS}/query-filters-schema": Operation(results(mapping())),
    **{f"GET {_REPORTS}/{name}": _WITHOUT_METRICS for name in _BY_REASON},
    **{f"GET {_REPORTS}/{name}": _limited_to(names) for name, names in _SPECIAL.items()},
    f"GET {_REPORTS}/watched-domain": _REPORT,
    **{f"GET {_REPORTS}/{each.name}": _REPORT for each in DIMENSIONS if each is not SUBJECT},
    f"GET {_REPORTS}/{SUBJECT.name}": _limited_to(SUBJECT.metrics),
}
