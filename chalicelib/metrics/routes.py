"""Serve ``/metrics`` (spec 4.11)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from chalicelib.core.http import Caller, Reply, Request, Routes, ok
from chalicelib.metrics import reports
from chalicelib.metrics.filters import Filter
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
from chalicelib.metrics.request import read, read_limit
from chalicelib.metrics.store import dimension_values
from chalicelib.metrics.window import MetricsWindow, read_window

routes = Routes(__name__)

_ROOT = "/api/v1/metrics"
_REPORTS = f"{_ROOT}/deliverability"

_REJECTION_METRICS = ("count_rejected",)
_DELAY_METRICS = ("count_delayed", "count_delayed_first")

#: Declares a route of metrics. They are selected by ``subaccounts``, and not by the header
_get = partial(routes.get, grant="metrics/view", subaccount_header=False)

_LISTS = sorted(dimension.list_path for dimension in LISTED)


@_get(_ROOT)
def metrics(request: Request) -> Reply:
    """Return links to the lists and reports."""
    children = [_link(f"{_ROOT}/{name}", name) for name in sorted([*_LISTS, "deliverability"])]
    return ok({}, links=[_link(_ROOT, ""), *children])


@_get(_REPORTS)
def deliverability(request: Request) -> Reply:
    """Return the metrics of a window, and links to the reports that divide them."""
    links = [_link(f"{_REPORTS}/{name}", name) for name in sorted(_REPORT_NAMES)]
    return ok([reports.summary(read(request, has_rows=False))], links=links)


@_get(f"{_REPORTS}/time-series")
def time_series(request: Request) -> Reply:
    """Return the metrics of each bucket of a window."""
    return ok(reports.over_time(read(request, precisions=SERIES)))


@_get(f"{_REPORTS}/query-filters-schema")
def query_filters_schema(request: Request) -> Reply:
    """Return the JSON Schema that ``query_filters`` are checked against."""
    return ok(SCHEMA)


@_get(f"{_REPORTS}/rejection-reason")
def rejection_reasons(request: Request) -> Reply:
    """Return the rejections of each reason."""
    return ok(reports.rejections(read(request, fixed=_REJECTION_METRICS)))


@_get(f"{_REPORTS}/rejection-reason/domain")
def rejection_reasons_by_domain(request: Request) -> Reply:
    """Return the rejections of each reason and domain."""
    return ok(reports.rejections(read(request, fixed=_REJECTION_METRICS), [DOMAIN]))


@_get(f"{_REPORTS}/delay-reason")
def delay_reasons(request: Request) -> Reply:
    """Return the delays of each reason."""
    return ok(reports.delays(read(request, fixed=_DELAY_METRICS)))


@_get(f"{_REPORTS}/delay-reason/domain")
def delay_reasons_by_domain(request: Request) -> Reply:
    """Return the delays of each reason and domain."""
    return ok(reports.delays(read(request, fixed=_DELAY_METRICS), [DOMAIN]))


@_get(f"{_REPORTS}/bounce-reason")
def bounce_reasons(request: Request) -> Reply:
    """Return the bounces of each reason."""
    return ok(reports.bounces_by_reason(read(request, BOUNCE_METRICS)))


@_get(f"{_REPORTS}/bounce-reason/domain")
def bounce_reasons_by_domain(request: Request) -> Reply:
    """Return the bounces of each reason and domain."""
    return ok(reports.bounces_by_reason(read(request, BOUNCE_METRICS), [DOMAIN]))


@_get(f"{_REPORTS}/bounce-classification")
def bounce_classes(request: Request) -> Reply:
    """Return the bounces of each class."""
    return ok(reports.bounces_by_class(read(request, BOUNCE_METRICS)))


@_get(f"{_REPORTS}/link-name")
def link_names(request: Request) -> Reply:
    """Return the clicks on each link name."""
    return ok(reports.by_link(read(request, CLICK_METRICS)))


@_get(f"{_REPORTS}/attempt")
def attempts(request: Request) -> Reply:
    """Return how many messages each attempt delivered."""
    return ok(reports.by_attempt(read(request, ATTEMPT_METRICS)))


@_get(f"{_REPORTS}/watched-domain")
def watched_domains(request: Request) -> Reply:
    """Return the metrics of the large mailbox providers' domains."""
    return ok(reports.by_watched_domain(read(request)))


def _declare_report(dimension: Dimension) -> None:
    """Declare the report that divides the metrics by a dimension."""

    @_get(f"{_REPORTS}/{dimension.name}")
    def by_dimension(request: Request) -> Reply:
        return ok(reports.by_dimension(read(request, dimension.metrics), dimension))

    by_dimension.__doc__ = f"Return the metrics of each {_words(dimension.name)}."


def _declare_list(dimension: Dimension) -> None:
    """Declare the list of a dimension's values."""

    @_get(f"{_ROOT}/{dimension.list_path}")
    def list_values(request: Request) -> Reply:
        window = read_window(request.query)
        text = dimension.part(request.query.get("match", ""))
        all_forms = map(dimension.forms, _values(request.caller, dimension, window))
        matching = {forms[0] for forms in all_forms if any(text in form for form in forms)}
        return ok({dimension.list_path: sorted(matching)[: read_limit(request.query)]})

    list_values.__doc__ = f"List the {_words(dimension.list_path)} that messages of a window had."


def _values(caller: Caller, dimension: Dimension, window: MetricsWindow) -> Iterable[str]:
    """Return the values that the caller's mail had; they are noted for whole accounts only."""
    account = caller.account_id
    if caller.confined_to is None:
        return dimension_values.values(account, dimension, window.start, window.end)
    return reports.values(account, window, Filter().confined_to(caller.confined_to), dimension)


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
