"""What searches of events have in common: window, page size and cursor (spec 4.10)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from chalicelib.core import clock
from chalicelib.core.errors import invalid_params
from chalicelib.core.fields import Query, integer
from chalicelib.core.settings import settings
from chalicelib.events import cursors
from chalicelib.events.reading import Window

DEFAULT_PER_PAGE: Final = 1000
MOST_PER_PAGE: Final = 10_000

_DAY_MS = 86_400_000
_EPOCH = datetime.fromtimestamp(0, UTC)
_BOUNDS = ("from", "to")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One page that is asked for.

    ``about`` (JSON) names the search, the account and the filters, to which cursors are bound. On
    the first page ``before`` is empty and ``total`` not yet known.
    """

    path: str
    query: Query
    about: Any
    window: Window
    per_page: int
    before: str = ""
    total: int | None = None


def read(path: str, query: Query, about: Any) -> PageRequest:
    """Read the parameters that all searches take; raises 400, and 413 for a URI that is too long.

    Nothing is found that is older than events are kept, whether or not it is still stored.
    """
    cursors.check_length(path, query)
    per_page = integer(query, "per_page", DEFAULT_PER_PAGE, 1, MOST_PER_PAGE)
    bound = [path, about, [query.get(name, "") for name in _BOUNDS]]
    oldest = clock.now_ms() - settings().events_retention * 1000
    cursor = query.get("cursor", cursors.FIRST)
    if cursor != cursors.FIRST:
        place = cursors.read(cursor, bound)
        window = Window(max(place.window.start, oldest), place.window.end)
        return PageRequest(path, query, bound, window, per_page, place.before, place.total)
    start, end = _window(query)
    return PageRequest(path, query, bound, Window(max(start, oldest), end), per_page)


def _window(query: Query) -> tuple[int, int]:
    """Return the bounds, by default from a day ago to ``EVENTS_LAG`` ago."""
    now = clock.now_ms()
    start = _read_time(query, "from", now - _DAY_MS)
    # What began within the lag has an end, too: it has found nothing yet
    end = _read_time(query, "to", max(start, now - int(settings().events_lag * 1000)))
    if start > end:
        raise invalid_params("from must be before to; without it, from is 24 hours ago")
    return start, end


def _read_time(query: Query, name: str, default: int) -> int:
    text = query.get(name)
    if not text:
        return default
    try:
        moment = datetime.fromisoformat(text.replace(" ", "+"))
    except ValueError:
        raise invalid_params(f"{name} must be a date such as 2026-01-31T09:05:00Z") from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)
