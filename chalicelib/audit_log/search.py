"""Search the audit log page by page, from the newest line to the oldest.

A search for one resource reads the index of resources; any other one reads the partitions of the
months and filters their lines. A page takes ``MOST_REQUESTS`` requests at most: where few lines
match, it may have fewer results than it could, or none, and still lead on to the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chalicelib.audit_log import store
from chalicelib.core.audit import AuditItem
from chalicelib.core.dynamo import ItemPage
from chalicelib.core.scope import Scope

#: More than there are months in the 400 days for which lines are kept
MOST_REQUESTS: Final = 16
#: How many lines one request reads at most, of all resources and of one
_OF_MONTH: Final = 1000
_OF_RESOURCE: Final = 100
#: Sorts behind all positions that begin like it
_END: Final = "~"


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """The filters of a search; empty ones are none. ``actor`` is an id, a label or a type.

    ``resource_id`` needs ``resource``.
    """

    actor: str = ""
    resource: str = ""
    resource_id: str = ""
    outcome: str = ""

    def match(self, line: AuditItem) -> bool:
        """Tell whether a line passes the filters."""
        return (
            (not self.actor or self._is_by_actor(line))
            and self.resource in ("", line["resource"])
            and self.resource_id in ("", line.get("resource_id"))
            and self.outcome in ("", line["outcome"])
        )

    def _is_by_actor(self, line: AuditItem) -> bool:
        is_label = line["actor_label"].lower() == self.actor.lower()
        return is_label or self.actor in (line["actor_id"], line["actor_type"])


@dataclass(frozen=True, slots=True)
class AuditSearch:
    """One page of a search: the lines from the position ``high`` back to ``low``, both included.

    ``binding`` (JSON) names the scope and the filters, to which cursors are bound.
    """

    filters: AuditFilters
    low: str
    high: str
    per_page: int
    binding: list[object]

    def limit(self, number: int, *, spans: bool) -> int:
        """Return how many lines to read where ``number`` results are still to be found."""
        filters = self.filters
        filtered = filters.actor or filters.outcome
        if spans and not filtered and (filters.resource_id or not filters.resource):
            return number
        return _OF_RESOURCE if filters.resource_id else _OF_MONTH


@dataclass(frozen=True, slots=True)
class AuditPage:
    """The lines of one page; ``high`` is where the next one begins, empty at the end."""

    lines: list[AuditItem]
    high: str = ""


def from_time(moment_ms: int) -> str:
    """Return the position before all lines of a time."""
    return f"{max(moment_ms, 0):013d}"


def to_time(moment_ms: int) -> str:
    """Return the position behind all lines of a time."""
    return from_time(moment_ms) + _END


def position_below(line: AuditItem) -> str:
    """Return the position right before a line, which is in the same month."""
    position = line["sk"]
    return position[:-1] + chr(ord(position[-1]) - 1) + _END


def find_page(scope: Scope, search: AuditSearch) -> AuditPage:
    """Return one page of the lines about what is in ``scope``."""
    matches: list[AuditItem] = []
    high = search.high
    for _ in range(MOST_REQUESTS):
        limit = search.limit(search.per_page + 1 - len(matches), spans=scope.spans)
        page = _read(scope.account_id, search, high, limit)
        matches += [line for line in page.items if _is_in(scope, line, search.filters)]
        if len(matches) > search.per_page:
            lines = matches[: search.per_page]
            return AuditPage(lines, position_below(lines[-1]))
        high = _rest(search, page, high)
        if high < search.low:
            return AuditPage(matches)
    return AuditPage(matches, high)


def _read(account_id: int, search: AuditSearch, high: str, limit: int) -> ItemPage[AuditItem]:
    filters, low = search.filters, search.low
    if filters.resource_id:
        name = filters.resource, filters.resource_id
        return store.of_resource(account_id, *name, low, high, limit)
    return store.of_month(account_id, low, high, limit)


def _is_in(scope: Scope, line: AuditItem, filters: AuditFilters) -> bool:
    return scope.covers(line.get("subaccount_id")) and filters.match(line)


def _rest(search: AuditSearch, page: ItemPage[AuditItem], high: str) -> str:
    """Return where to read on after a page of a partition; empty at the end of all."""
    if page.next_key:
        return position_below(page.items[-1])
    if search.filters.resource_id:
        return ""
    month = store.month_start(store.moment_of(high))
    return to_time(month - 1) if month else ""
