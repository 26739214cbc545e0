"""The message events search: filters, pages and cursors (spec 4.10).

A search is answered newest first. Its cursor is the position behind the last event shown, with the
window and the count as they were on the first page, signed: pages neither repeat nor skip when new
events arrive in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from chalicelib.core import clock, signing
from chalicelib.core.errors import invalid_params
from chalicelib.core.fields import comma_list, integer
from chalicelib.core.settings import settings
from chalicelib.events import store
from chalicelib.events.model import Event, as_search_result
from chalicelib.events.store import Window

DEFAULT_PER_PAGE = 1000
MOST_PER_PAGE = 10_000
_DAY_MS = 86_400_000
_EPOCH = datetime.fromtimestamp(0, UTC)
_PATH = "/api/v1/events/message"
_PURPOSE = "events cursor"


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched for, and from where on. Times are milliseconds.

    ``confined_to`` is the one subaccount whose events may be shown, ``None`` for all of them.
    """

    window: Window
    types: frozenset[str]
    recipients: tuple[str, ...]
    per_page: int
    before: str = ""
    total: int | None = None
    confined_to: int | None = None

    def matches(self, event: Event) -> bool:
        """Tell whether the filters that the store does not apply itself let ``event`` pass."""
        if self.confined_to is not None and event.get("subaccount_id") != str(self.confined_to):
            return False
        return not self.types or event["type"] in self.types


@dataclass(frozen=True, slots=True)
class Found:
    """One page of a search; ``next_link`` is empty on the last page."""

    events: list[Event]
    total: int
    next_link: str


def read_search(query: Mapping[str, str], confined_to: int | None = None) -> Search:
    """Read the query parameters; raises 400 for a value that is not of its kind."""
    return replace(_read_filters(query), confined_to=confined_to)


def _read_filters(query: Mapping[str, str]) -> Search:
    per_page = integer(query, "per_page", DEFAULT_PER_PAGE, 1, MOST_PER_PAGE)
    types = frozenset(comma_list(query, "events"))
    recipients = tuple(sorted({address.lower() for address in comma_list(query, "recipients")}))
    cursor = query.get("cursor", "initial")
    if cursor != "initial":
        start, end, before, total = _read_cursor(cursor)
        return Search(Window(start, end), types, recipients, per_page, before, total)
    now = clock.now_ms()
    start = _read_time(query, "from", now - _DAY_MS)
    # What began within the lag has an end, too: it has found nothing yet
    end = _read_time(query, "to", max(start, now - int(settings().events_lag * 1000)))
    if start > end:
        raise invalid_params("from must be before to")
    oldest = now - settings().events_retention * 1000
    return Search(Window(max(start, oldest), end), types, recipients, per_page)


def run(account_id: int, search: Search, query: Mapping[str, str]) -> Found:
    """Find one page of an account's events."""
    found = _matching(account_id, search)
    page = list(islice(found, search.per_page + 1))
    total = len(page) + sum(1 for _ in found) if search.total is None else search.total
    shown = page[: search.per_page]
    more = len(page) > len(shown)
    link = _next_link(search, query, shown[-1][0], total) if more else ""
    return Found([as_search_result(event) for _, event in shown], total, link)


def _matching(account_id: int, search: Search) -> Iterator[tuple[str, Event]]:
    found = store.newest_first(
        account_id, search.window, before=search.before, recipients=search.recipients
    )
    return (entry for entry in found if search.matches(entry[1]))


def _next_link(search: Search, query: Mapping[str, str], position: str, total: int) -> str:
    cursor = signing.to_token([search.window.start, search.window.end, position, total], _PURPOSE)
    filters = {name: value for name, value in query.items() if name != "cursor"}
    return f"{_PATH}?{urlencode(filters | {'cursor': cursor})}"


def _read_cursor(cursor: str) -> tuple[int, int, str, int]:
    try:
        start, end, before, total = signing.from_token(cursor, _PURPOSE)
    except signing.BadSignature:
        raise invalid_params("cursor is not one of this service") from None
    return start, end, before, total


def _read_time(query: Mapping[str, Any], name: str, default: int) -> int:
    text = query.get(name)
    if not text:
        return default
    try:
        moment = datetime.fromisoformat(text.replace(" ", "+"))
    except ValueError:
        raise invalid_params(f"{name} must be a date such as 2026-01-31T09:05:00Z") from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)
