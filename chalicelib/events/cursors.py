"""Read and write the cursor of an events search, which says where the next page begins.

A cursor holds the position after which the page begins, and the window and the count as they were
on the first page: pages neither repeat nor skip events when new ones arrive in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple
from urllib.parse import quote_plus

from chalicelib.core import cursors
from chalicelib.core.cursors import BadCursor
from chalicelib.core.errors import invalid_params, uri_too_large
from chalicelib.core.query import Query, with_cursor
from chalicelib.events.positions import EventWindow

LONGEST_URI: Final = 4096

_PURPOSE = "events cursor"
# Characters that a query may hold as they are (RFC 3986 3.4)
_PLAIN = "!$'()*,/:;?@~"


class Cursor(NamedTuple):
    """The next page of a search: its window, the position after which it begins, and its count."""

    window: EventWindow
    before: str
    total: int


def encode(cursor: Cursor, binding: Any) -> str:
    """Return the signed text of a cursor; it is bound to ``binding`` (JSON)."""
    window, before, total = cursor
    return cursors.encode([window.start, window.end, before, total], _PURPOSE, binding)


def decode(text: str, binding: Any) -> Cursor:
    """Return the cursor of a signed text; raises 400."""
    try:
        start, end, before, total = cursors.decode(text, _PURPOSE, binding)
    except BadCursor as fault:
        raise invalid_params(str(fault)) from None
    return Cursor(EventWindow(start, end), before, total)


def link(path: str, query: Query, cursor: str) -> str:
    """Return the relative URL of the next page: the same query with the cursor."""
    return f"{path}?{_encoded(with_cursor(query, cursor))}"


def check_length(path: str, query: Query) -> None:
    """Refuse a URI of more than 4,096 characters (spec 8) with 413.

    The gateway passes on the decoded query only, so this measures the shortest encoding of it. The
    cursor does not count, so that the links of a search can always be followed.
    """
    length = len(f"{path}?{_encoded(pair for pair in query.items() if pair[0] != 'cursor')}")
    if length > LONGEST_URI:
        text = f"the URI has {length} characters, more than the {LONGEST_URI} that are taken"
        raise uri_too_large(text)


def _encoded(pairs: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{quote_plus(n, _PLAIN)}={quote_plus(v, _PLAIN)}" for n, v in pairs)
