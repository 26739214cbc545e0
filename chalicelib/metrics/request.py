"""Read the parameters that all reports share (spec 4.11)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from chalicelib.core.errors import invalid_params, missing_metrics_parameter
from chalicelib.core.fields import integer
from chalicelib.core.http import Request
from chalicelib.core.query import Query, delimited_list
from chalicelib.metrics import query_filters
from chalicelib.metrics.filters import Filter, read_simple
from chalicelib.metrics.model import METRICS, PLACEMENT_METRICS, POSITION, SUBJECT
from chalicelib.metrics.precision import PRECISIONS, Precision
from chalicelib.metrics.schema_check import Violation
from chalicelib.metrics.window import MetricsWindow, read_window

DEFAULT_LIMIT: Final = 1000
MOST_ROWS: Final = 10_000


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """One report: its ``metrics`` in the order of the request, and at most ``limit`` rows.

    ``order_by`` is one of the metrics, ``None`` for the order that the report has by itself, and
    ``limit`` is ``None`` if the request has none.
    """

    account_id: int
    window: MetricsWindow
    filter: Filter
    metrics: tuple[str, ...]
    limit: int | None
    order_by: str | None


def read(
    request: Request,
    allowed: Collection[str] = METRICS,
    *,
    fixed: tuple[str, ...] = (),
    precisions: Mapping[str, Precision] = PRECISIONS,
    has_rows: bool = True,
) -> ReportRequest:
    """Read a request; raises 400. With ``fixed`` metrics, the parameter ``metrics`` is ignored.

    So are ``order_by`` and ``limit`` of a report that has no rows.
    """
    query = request.query
    metrics = fixed or _metrics(query, allowed)
    window = read_window(query, precisions)
    advanced = query.get("query_filters")
    filter = query_filters.parse(advanced) if advanced else read_simple(query)
    _check_subjects(filter, metrics, advanced=bool(advanced))
    order_by, limit = _read_order(query, metrics) if has_rows else (None, None)
    confined = filter.confined_to(request.caller.confined_to)
    return ReportRequest(request.caller.account_id, window, confined, metrics, limit, order_by)


def _read_order(query: Query, metrics: tuple[str, ...]) -> tuple[str | None, int | None]:
    """Read the metric that rows are ordered by, and how many there may be."""
    order_by = query.get("order_by") or None
    if order_by and order_by not in metrics:
        raise invalid_params("order_by must be one of the metrics asked for")
    return order_by, integer(query, "limit", None, 1, MOST_ROWS)


def read_limit(query: Query) -> int:
    """Read the most values that a list may have; raises 400."""
    return integer(query, "limit", DEFAULT_LIMIT, 1, MOST_ROWS)


def _check_subjects(filter: Filter, metrics: tuple[str, ...], *, advanced: bool) -> None:
    """Refuse a filter by subject for metrics of mail, which is not counted by subject."""
    others = [name for name in metrics if name not in PLACEMENT_METRICS]
    if others and POSITION[SUBJECT.name] in filter.positions:
        key = SUBJECT.filter_key
        text = f"supports only {', '.join(sorted(PLACEMENT_METRICS))}, and not {others[0]}"
        if advanced:
            raise query_filters.refusal([Violation(key, "", f"{key} {text}")])
        raise invalid_params(f"{key} {text}", param=key)


def _metrics(query: Query, allowed: Collection[str]) -> tuple[str, ...]:
    names = delimited_list(query, "metrics")
    if not names:
        raise missing_metrics_parameter("metrics is required", param="metrics")
    for name in names:
        if name not in allowed:
            raise invalid_params(
                f"metrics: {name[:100]!r} is not one of {', '.join(sorted(allowed))}"
            )
    return tuple(dict.fromkeys(names))
