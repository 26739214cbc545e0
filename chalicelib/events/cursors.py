"""The cursor of an events search: where to go on, signed, and good for that one search only.

It holds the position behind the last event that was shown, with the window and the count as they
were on the first page, so that pages neither repeat nor skip when new events arrive in between. It
is bound to the account and to the filters: with others it gets a 400.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote_plus

from chalicelib.core import signing
from chalicelib.core.errors import invalid_params, uri_too_large
from chalicelib.events.reading import Window

FIRST: Final = "initial"
LONGEST_URI: Final = 4096

_PURPOSE = "events cursor"
# Characters that stand for themselves in a query (RFC 3986 3.4)
_PLAIN = "!$'()*,/:;?@~"


class Place(NamedTuple):
    """Where a search goes on: its window, the position to go on behind, and its count."""

    window: Window
    before: str
    total: int


def write(place: Place, about: Any) -> str:
    """Return the cursor of a place; ``about`` (JSON) is what it is bound to."""
    window, before, total = place
    return signing.to_token([_digest(about), window.start, window.end, before, total], _PURPOSE)


def read(cursor: str, about: Any) -> Place:
    """Return the place that a cursor names; raises 400."""
    try:
        bound, start, end, before, total = signing.from_token(cursor, _PURPOSE)
    except signing.BadSignature:
        raise invalid_params("cursor is not one of this service") from None
    if bound != _digest(about):
        raise invalid_params("cursor belongs to a search with other filters")
    return Place(Window(start, end), before, total)


def link(path: str, query: Mapping[str, str], cursor: str) -> str:
    """Return the relative URL of the next page: the query as it was, with the cursor."""
    return f"{path}?{_encoded(_without_cursor(query) | {'cursor': cursor})}"


def check_length(path: str, query: Mapping[str, str]) -> None:
    """Refuse a URI over 4,096 characters (spec 8) with 413.

    It is measured as the shortest that says the same, without the cursor: the gateway passes on
    neither more nor less, and the links that a search gives can be followed.
    """
    length = len(f"{path}?{_encoded(_without_cursor(query))}")
    if length > LONGEST_URI:
        text = f"the URI has {length} characters, more than the {LONGEST_URI} that are taken"
        raise uri_too_large(text)


def _without_cursor(query: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if name != "cursor"}


def _encoded(query: Mapping[str, str]) -> str:
    return "&".join(f"{quote_plus(n, _PLAIN)}={quote_plus(v, _PLAIN)}" for n, v in query.items())


def _digest(about: Any) -> str:
    text = json.dumps(about, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=9).hexdigest()
