"""Read the query of a search of the audit log, and make the cursor of its next page."""

from __future__ import annotations

from typing import Final

from chalicelib.audit_log.search import (
    AuditFilters,
    AuditPage,
    AuditSearch,
    from_time,
    to_time,
)
from chalicelib.core import clock, cursors
from chalicelib.core.audit import OUTCOMES
from chalicelib.core.cursors import FIRST
from chalicelib.core.errors import invalid_params
from chalicelib.core.fields import integer
from chalicelib.core.query import Query, position, time_ms
from chalicelib.core.scope import Scope

DEFAULT_PER_PAGE: Final = 100
MOST_PER_PAGE: Final = 1000
DEFAULT_DAYS: Final = 30
_DAY_MS: Final = 86_400_000

_PURPOSE: Final = "audit log"
_LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999."""


def read_search(query: Query, scope: Scope) -> AuditSearch:
    """Read the filters and the page; raises 400. ``from`` and ``to`` are both included."""
    filters = AuditFilters(
        query.get("actor", ""),
        query.get("resource", ""),
        query.get("resource_id", ""),
        query.get("outcome", ""),
    )
    if filters.outcome not in ("", *OUTCOMES):
        raise invalid_params(f"outcome must be one of {', '.join(OUTCOMES)}", param="outcome")
    if filters.resource_id and not filters.resource:
        raise invalid_params("resource_id needs resource beside it", param="resource_id")
    per_page = integer(query, "per_page", DEFAULT_PER_PAGE, 1, MOST_PER_PAGE)
    texts = [query.get(name, "") for name in ("from", "to")]
    about = [filters.actor, filters.resource, filters.resource_id, filters.outcome]
    binding: list[object] = [scope.account_id, scope.part, *about, *texts]
    cursor = query.get("cursor", FIRST)
    low, high = _span(query) if cursor == FIRST else position(cursor, _PURPOSE, binding)
    return AuditSearch(filters, low, high, per_page, binding)


def next_cursor(search: AuditSearch, page: AuditPage) -> str:
    """Return the cursor of the page that follows, empty if there is none."""
    if not page.high:
        return ""
    return cursors.encode([search.low, page.high], _PURPOSE, search.binding)


def _span(query: Query) -> tuple[str, str]:
    now = clock.now_ms()
    to_ms = time_ms(query, "to", now)
    # No line is of the future: its months would be empty pages
    last_ms = min(to_ms, now + _DAY_MS)
    from_ms = time_ms(query, "from", last_ms - DEFAULT_DAYS * _DAY_MS)
    if from_ms > to_ms:
        raise invalid_params("from must be before to", param="from")
    return from_time(min(from_ms, _LAST_MS)), to_time(min(max(from_ms, last_ms), _LAST_MS))
