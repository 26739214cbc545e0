"""Read the query parameters of searches, and build the links from page to page (spec 4.8)."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from chalicelib.core import clock, cursors, domain_names
from chalicelib.core.cursors import FIRST, BadCursor
from chalicelib.core.errors import bad_request
from chalicelib.core.fields import boolean, integer
from chalicelib.core.query import Query, comma_list, with_cursor
from chalicelib.core.scope import Scope
from chalicelib.suppression.model import BLOCKING, check_type, is_list_id
from chalicelib.suppression.search import Paging, Search, SuppressionFilters, SuppressionPage
from chalicelib.suppression.store.by_time import Span, between

DEFAULT_PER_PAGE = 1000
MOST_PER_PAGE = 10_000
MOST_BY_PAGE = 10_000
_SEARCH = "suppression search"
_RECIPIENT = "suppression recipient position"
_EPOCH = datetime.fromtimestamp(0, UTC)
_SECOND_MS = 1000
# A "+" that was not percent-encoded arrives as a blank
_DECODED_PLUS = re.compile(r"(?<=[0-9]) (?=[0-9]{2}:?[0-9]{2}$)")


def read_paging(query: Query) -> Paging:
    """Read ``cursor``, ``per_page`` and ``page`` (ignored if there is a cursor); raises 400."""
    per_page = integer(query, "per_page", DEFAULT_PER_PAGE, 1, MOST_PER_PAGE)
    cursor = query.get("cursor")
    if cursor is not None:
        return Paging(per_page, 0, "" if cursor == FIRST else cursor)
    page = integer(query, "page", 1, 1, MOST_BY_PAGE)
    if page > 1 and page * per_page > MOST_BY_PAGE:
        raise bad_request(f"page works up to {MOST_BY_PAGE} results; use cursor beyond them")
    return Paging(per_page, (page - 1) * per_page, None)


def read_search(query: Query, scope: Scope) -> Search:
    """Read a search and the page of it; raises 400."""
    filters, paging = _read_filters(query), read_paging(query)
    newest_first = _sort(query) == "desc"
    from_ms, to_ms = _time_ms(query, "from"), _time_ms(query, "to")
    if from_ms is not None and to_ms is not None and from_ms > to_ms:
        raise bad_request("from must be before to")
    # The API's times are in seconds, so both bounds include the whole second
    last_ms = (clock.now_ms() if to_ms is None else to_ms) // _SECOND_MS * _SECOND_MS + 999
    span, after, total = between(from_ms or 0, last_ms, newest_first=newest_first), "", None
    binding = [*_part(scope), asdict(filters), from_ms, to_ms, newest_first]
    if paging.cursor:
        low, high, after, total = _open(paging.cursor, _SEARCH, binding)
        span = Span(low, high, newest_first)
    return Search(
        filters,
        span,
        bounded=from_ms is not None or to_ms is not None,
        per_page=paging.per_page,
        skip=paging.skip,
        after=after,
        total=total,
        by_cursor=paging.cursor is not None,
        binding=binding,
    )


def search_links(
    path: str, query: Query, search: Search, page: SuppressionPage
) -> list[dict[str, str]]:
    """Return the links of a page of a search; there are none without a cursor in the query."""
    if "cursor" not in query:
        return []
    position = [search.span.low, search.span.high, page.last, page.total] if page.last else []
    return _links(path, query, _SEARCH, position, search.binding)


def recipient_binding(scope: Scope, recipient: str, types: Collection[str]) -> Any:
    """Return what the cursors of a list of a recipient's entries are bound to."""
    return [*_part(scope), recipient.lower(), sorted(types)]


def read_position(paging: Paging, binding: Any) -> str:
    """Read the position after which a page of a recipient's entries begins; raises 400.

    It is empty for the first page, and for pages that are numbered.
    """
    return str(_open(paging.cursor, _RECIPIENT, binding)[0]) if paging.cursor else ""


def recipient_links(
    path: str, query: Query, page: SuppressionPage, binding: Any
) -> list[dict[str, str]]:
    """Return the links of a page of a recipient's entries, as :func:`search_links` does."""
    if "cursor" not in query:
        return []
    return _links(path, query, _RECIPIENT, [page.last] if page.last else [], binding)


def read_types(query: Query) -> tuple[str, ...]:
    """Read ``types``; the default is those that hold messages back (spec 4.8 rule 3)."""
    types = tuple(dict.fromkeys(comma_list(query, "types")))
    try:
        for each in types:
            check_type(each)
    except ValueError as fault:
        raise bad_request(str(fault)) from None
    return types or BLOCKING


def read_list_id(query: Query) -> str | None:
    """Read ``list_id``: ``None`` if absent, empty, or one that is valid; raises 400."""
    list_id = query.get("list_id")
    if list_id and not is_list_id(list_id):
        raise bad_request("list_id must be a valid list identifier")
    return list_id


def _read_filters(query: Query) -> SuppressionFilters:
    description = query.get("description", "")
    strict = boolean(query, "description_strict", False)
    return SuppressionFilters(
        types=read_types(query),
        domains=tuple(dict.fromkeys(map(domain_names.spelling, comma_list(query, "domain")))),
        sources=tuple(dict.fromkeys(comma_list(query, "sources"))),
        list_id=read_list_id(query),
        words=() if strict else tuple(description.lower().split()),
        exact=description if strict and description else None,
        recipient=query.get("recipient", ""),
    )


def _sort(query: Query) -> str:
    order = query.get("sort", "desc")
    if order not in ("asc", "desc"):
        raise bad_request("sort must be asc or desc")
    return order


def _time_ms(query: Query, name: str) -> int | None:
    """Read an ISO 8601 date; without an offset it is in UTC."""
    text = query.get(name)
    if not text:
        return None
    try:
        time = datetime.fromisoformat(_DECODED_PLUS.sub("+", text) if "T" in text else text)
    except ValueError:
        raise bad_request(f"{name} must be a valid date") from None
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)


def _part(scope: Scope) -> list[int | None]:
    return [scope.account_id, scope.part]


def _open(cursor: str, purpose: str, binding: Any) -> list[Any]:
    try:
        return cursors.decode(cursor, purpose, binding)
    except BadCursor as fault:
        raise bad_request(str(fault)) from None


def _links(
    path: str, query: Query, purpose: str, position: list[Any], binding: Any
) -> list[dict[str, str]]:
    links = [_link(path, query, "first", FIRST)]
    if position:
        links.append(_link(path, query, "next", cursors.encode(position, purpose, binding)))
    return links


def _link(path: str, query: Query, rel: str, cursor: str) -> dict[str, str]:
    return {"href": f"{path}?{urlencode(with_cursor(query, cursor))}", "rel": rel}
