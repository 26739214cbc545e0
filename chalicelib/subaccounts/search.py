"""Find subaccounts for ``GET /subaccounts``: filters, orders, pages and cursors (spec 4.5).

A page with at most one of the filters ``status``, ``ip_pool`` and ``option`` reads its list and the
list's count: two requests, however many subaccounts there are. With a second of these filters, or
``name``, the rest of one list is read; with ``ids``, those subaccounts. A cursor is the position of
the last subaccount shown, with the count of the first page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from chalicelib.core import cursors
from chalicelib.core.cursors import FIRST, BadCursor
from chalicelib.core.params import Params
from chalicelib.core.query import comma_list, with_cursor
from chalicelib.subaccounts import store
from chalicelib.subaccounts.entries import (
    ALL,
    LISTED_OPTION,
    ORDERS,
    List,
    lists_of,
    of_pool,
    position,
)
from chalicelib.subaccounts.model import STATUSES, Subaccount, is_id

DEFAULT_PER_PAGE = 25
MOST_PER_PAGE = 100
MOST_IDS = 1000
_LONGEST = 300
_PATH = "/api/v1/subaccounts"
_PURPOSE = "subaccounts cursor"
_PAGING = ("cursor", "per_page", "sort_by", "order", "ip_pool", "status", "name", "ids")


@dataclass(frozen=True, slots=True)
class Query:
    """A query of an account. A subaccount matches if it is in all lists of ``filters``."""

    account_id: int
    filters: tuple[List, ...]
    name: str
    ids: tuple[int, ...] | None
    order: str
    descending: bool
    per_page: int
    after: str = ""
    total: int | None = None

    @property
    def binding(self) -> Any:
        """Return what cursors are bound to (JSON)."""
        ids = None if self.ids is None else sorted(self.ids)
        order = [self.order, self.descending]
        return [self.account_id, sorted(self.filters), self.name, ids, order]

    @property
    def which(self) -> List:
        """Return the list to read: the one that tends to be shortest."""
        return self.filters[0] if self.filters else ALL

    @property
    def is_one_list(self) -> bool:
        """Tell whether the query selects all of one list."""
        return len(self.filters) <= 1 and not self.name and self.ids is None

    def matches(self, subaccount: Subaccount) -> bool:
        """Tell whether a subaccount matches the filters."""
        lists = set(lists_of(subaccount))
        return lists.issuperset(self.filters) and self.name in subaccount.name.lower()


@dataclass(frozen=True, slots=True)
class SubaccountPage:
    """One page; ``next_link`` is empty on the last one."""

    subaccounts: list[Subaccount]
    total: int
    next_link: str


def is_paginated(query: Mapping[str, str]) -> bool:
    """Tell whether a query asks for pages (spec 4.5)."""
    return any(name in query for name in _PAGING)


def read_query(account_id: int, query: Mapping[str, str]) -> Query:
    """Read the query parameters; raises 400 with every invalid one."""
    params = Params(query)
    search = Query(
        account_id,
        filters=tuple(_filters(params)),
        name=(params.text("name", most=_LONGEST, blank=True) or "").lower(),
        ids=_ids(params, query),
        order=params.choice("sort_by", tuple(ORDERS)) or "created_at",
        descending=params.choice("order", ("desc", "asc")) != "asc",
        per_page=_per_page(params, query),
    )
    params.check()
    return _from_cursor(search, params, query.get("cursor", FIRST))


def run(search: Query, query: Mapping[str, str]) -> SubaccountPage:
    """Find one page of an account's subaccounts."""
    matching: Iterable[Subaccount] = _matching(search)
    total = search.total
    if total is None and search.is_one_list:
        total = store.count(search.account_id, search.which)
    elif total is None:
        matching = list(matching)
        total = len(matching)
    page = list(islice(matching, search.per_page + 1))
    subaccounts = page[: search.per_page]
    more = len(page) > len(subaccounts)
    next_link = _next_link(search, query, subaccounts[-1], total) if more else ""
    return SubaccountPage(subaccounts, total, next_link)


def everything(account_id: int, query: Mapping[str, str]) -> list[Subaccount]:
    """Return all subaccounts of an account, newest first; ``option`` narrows them."""
    params = Params(query)
    which = next(_filters(params), ALL)
    params.check()
    return list(store.in_list(account_id, which, "created_at", descending=True))


def sending_by_pool(account_id: int, pool_id: str) -> Iterator[str]:
    """Yield the subaccounts that may send by this pool only."""
    subaccounts = store.in_list(account_id, of_pool(pool_id), "id", descending=False)
    return (f"subaccount {each.id}" for each in subaccounts)


def _matching(search: Query) -> Iterator[Subaccount]:
    if search.ids is not None:
        subaccounts: Iterable[Subaccount] = _by_ids(search, search.ids)
    else:
        subaccounts = store.in_list(
            search.account_id,
            search.which,
            search.order,
            descending=search.descending,
            after=search.after,
            limit=search.per_page + 1 if search.is_one_list else None,
        )
    return (each for each in subaccounts if search.matches(each))


def _by_ids(search: Query, ids: Sequence[int]) -> list[Subaccount]:
    subaccounts = store.get_all(search.account_id, ids)
    by_position = {position(each, search.order): each for each in subaccounts}
    positions = sorted(by_position, reverse=search.descending)
    if search.after:
        follows = str.__lt__ if search.descending else str.__gt__
        positions = [each for each in positions if follows(each, search.after)]
    return [by_position[each] for each in positions]


def _filters(params: Params) -> Iterator[List]:
    """Yield the lists that a query names, first the one that tends to be the shortest."""
    if pool := params.text("ip_pool", most=_LONGEST, blank=True):
        yield of_pool(pool)
    if option := params.choice("option", (LISTED_OPTION,)):
        yield List("option", option)
    if status := params.choice("status", STATUSES):
        yield List("status", status)


def _per_page(params: Params, query: Mapping[str, str]) -> int:
    text = query.get("per_page", str(DEFAULT_PER_PAGE))
    if is_id(text) and 1 <= int(text) <= MOST_PER_PAGE:
        return int(text)
    params.refuse("per_page", f"per_page must be a number from 1 to {MOST_PER_PAGE}", text)
    return DEFAULT_PER_PAGE


def _ids(params: Params, query: Mapping[str, str]) -> tuple[int, ...] | None:
    if "ids" not in query:
        return None
    texts = comma_list(query, "ids")
    for text in texts:
        if not is_id(text):
            params.refuse("ids", "ids must be comma-separated numbers", text)
    if len(texts) > MOST_IDS:
        params.refuse("ids", f"ids must be at most {MOST_IDS}", len(texts))
    return tuple(int(text) for text in texts if is_id(text))


def _next_link(search: Query, query: Mapping[str, str], last: Subaccount, total: int) -> str:
    last_position = position(last, search.order)
    cursor = cursors.encode([last_position, total], _PURPOSE, search.binding)
    return f"{_PATH}?{urlencode(with_cursor(query, cursor))}"


def _from_cursor(search: Query, params: Params, cursor: str) -> Query:
    if cursor == FIRST:
        return search
    try:
        after, total = cursors.decode(cursor, _PURPOSE, search.binding)
    except BadCursor as fault:
        params.refuse("cursor", str(fault), cursor)
        params.check()
    return replace(search, after=after, total=total)
