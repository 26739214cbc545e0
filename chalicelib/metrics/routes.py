"""Serve ``/metrics`` (spec 4.11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chalicelib.core.errors import Forbidden
from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.metrics import reports
from chalicelib.metrics.model import (
    ATTEMPT_METRICS,
    BOUNCE_METRICS,
    CLICK_METRICS,
    DIMENSIONS,
    DOMAIN,
    LISTED,
    Dimension,
)
from chalicelib.metrics.precision import SERIES
from chalicelib.metrics.query_filters import SCHEMA
from chalicelib.metrics.request import ReportRequest, read, read_limit
from chalicelib.metrics.store import dimension_values
from chalicelib.metrics.window import read_window

routes = Routes(__name__)

_ROOT = "/api/v1/metrics"
_REPORTS = f"{_ROOT}/deliverability"
_GRANT = "metrics/view"

_REJECTION_METRICS = ("count_rejected",)
_DELAY_METRICS = ("count_delayed", "count_delayed_first")

Report = Callable[[ReportRequest], list[dict[str, Any]]]

_LISTS = sorted(dimension.list_path for dimension in LISTED)


@routes.get(_ROOT, grant=_GRANT)
def metrics(request: Request) -> Reply:
    """Return links to the lists and reports."""
    children = [_link(f"{_ROOT}/{name}", name) for name in sorted([*_LISTS, "deliverability"])]
    return ok({}, links=[_link(_ROOT, ""), *children])


@routes.get(_REPORTS, grant=_GRANT)
def deliverability(request: Request) -> Reply:
    """Return the metrics of a window, and links to the reports that divide them."""
    links = [_link(f"{_REPORTS}/{name}", name) for name in sorted(_REPORT_NAMES)]
    return ok([reports.summary(read(request))], links=links)


@routes.get(f"{_REPORTS}/time-series", grant=_GRANT)
def time_series(request: Request) -> Reply:
    """Return the metrics of each bucket of a window."""
    return ok(reports.over_time(read(request, precisions=SERIES)))


@routes.get(f"{_REPORTS}/query-filters-schema", grant=_GRANT)
def query_filters_schema(request: Request) -> Reply:
    """Return the JSON Schema that ``query_filters`` are checked against."""
    return ok(SCHEMA)


@routes.get(f"{_REPORTS}/rejection-reason", grant=_GRANT)
def rejection_reasons(request: Request) -> Reply:
    """Return the rejections of each reason."""
    return ok(reports.rejections(read(request, fixed=_REJECTION_METRICS)))


@routes.get(f"{_REPORTS}/rejection-reason/domain", grant=_GRANT)
def rejection_reasons_by_domain(request: Request) -> Reply:
    """Return the rejections of each reason and domain."""
    return ok(reports.rejections(read(request, fixed=_REJECTION_METRICS), [DOMAIN]))


@routes.get(f"{_REPORTS}/delay-reason", grant=_GRANT)
def delay_reasons(request: Request) -> Reply:
    """Return the delays of each reason."""
    return ok(reports.delays(read(request, fixed=_DELAY_METRICS)))


@routes.get(f"{_REPORTS}/delay-reason/domain", grant=_GRANT)
def delay_reasons_by_domain(request: Request) -> Reply:
    """Return the delays of each reason and domain."""
    return ok(reports.delays(read(request, fixed=_DELAY_METRICS), [DOMAIN]))


@routes.get(f"{_REPORTS}/bounce-reason", grant=_GRANT)
def bounce_reasons(request: Request) -> Reply:
    """Return the bounces of each reason."""
    return ok(reports.bounces_by_reason(read(request, BOUNCE_METRICS)))


@routes.get(f"{_REPORTS}/bounce-reason/domain", grant=_GRANT)
def bounce_reasons_by_domain(request: Request) -> Reply:
    """Return the bounces of each reason and domain."""
    return ok(reports.bounces_by_reason(read(request, BOUNCE_METRICS), [DOMAIN]))


@routes.get(f"{_REPORTS}/bounce-classification", grant=_GRANT)
def bounce_classes(request: Request) -> Reply:
    """Return the bounces of each class."""
    return ok(reports.bounces_by_class(read(request, BOUNCE_METRICS)))


@routes.get(f"{_REPORTS}/link-name", grant=_GRANT)
def link_names(request: Request) -> Reply:
    """Return the clicks on each link name."""
    return ok(reports.by_link(read(request, CLICK_METRICS)))


@routes.get(f"{_REPORTS}/attempt", grant=_GRANT)
def attempts(request: Request) -> Reply:
    """Return how many messages each attempt delivered."""
    return ok(reports.by_attempt(read(request, ATTEMPT_METRICS)))


@routes.get(f"{_REPORTS}/watched-domain", grant=_GRANT)
def watched_domains(request: Request) -> Reply:
    """Return the metrics of the large mailbox providers' domains."""
    return ok(reports.by_watched_domain(read(request)))


def _declare_report(dimension: Dimension) -> None:
    """Declare the report that divides the metrics by a dimension."""

    @routes.get(f"{_REPORTS}/{dimension.name}", grant=_GRANT)
    def by_dimension(request: Request) -> Reply:
        return ok(reports.by_dimension(read(request), dimension))

    by_dimension.__doc__ = f"Return the metrics of each {_words(dimension.name)}."


def _declare_list(dimension: Dimension) -> None:
    """Declare the list of a dimension's values."""

    @routes.get(f"{_ROOT}/{dimension.list_path}", grant=_GRANT)
    def list_values(request: Request) -> Reply:
        if request.caller.confined_to is not None:
            raise Forbidden("lists are of a whole account")
        window = read_window(request.query)
        text = dimension.canonical(request.query.get("match", ""))
        account = request.caller.account_id
        values = dimension_values.values(account, dimension, window.start, window.end)
        matching = [value for value in values if text in value]
        return ok({dimension.list_path: matching[: read_limit(request.query)]})

    list_values.__doc__ = f"List the {_words(dimension.list_path)} that messages of a window had."


def _words(name: str) -> str:
    return name.replace("-", " ").replace("ip", "IP")


for _dimension in DIMENSIONS:
    _declare_report(_dimension)
for _dimension in LISTED:
    _declare_list(_dimension)


def _link(href: str, rel: str) -> dict[str, str]:
    return {"href": href, "rel": rel, "method": "GET"}


_REPORT_NAMES = [
    "attempt",
    "bounce-classification",
    "bounce-reason",
    "delay-reason",
    "link-name",
    "query-filters-schema",
    "rejection-reason",
    "time-series",
    "watched-domain",
    *(dimension.name for dimension in DIMENSIONS),
]
