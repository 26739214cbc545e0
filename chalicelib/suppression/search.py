"""Search suppression lists page by page, along the index of the narrowest filter (spec 4.8).

A search reads the index of its narrowest filter: a mailing list, else a few entries of some
sources, else domains, else sources, else time alone; the other filters are applied to the entries
that it yields. The total comes from the counts where no other filter is set; otherwise the first
page counts the entries. Every page takes one request for the counts, which say which partitions
hold anything, and then as much as it shows.

A search for one recipient reads its entries, which are few, and applies all filters to them.

A cursor holds the position of the last entry shown, and the span and the total of the first page,
signed. A page that would be larger than a reply may be (``MAX_REPLY_BYTES``) ends early, and its
cursor leads on; without a cursor such a page is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from chalicelib.core.errors import NotFound, bad_request
from chalicelib.core.reply import bytes_in_reply
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.suppression.model import (
    KINDS,
    SOURCES,
    TYPES,
    SuppressionEntry,
    SuppressionKind,
    Tally,
)
from chalicelib.suppression.store import by_time, counts
from chalicelib.suppression.store.by_time import Span, TimePartition
from chalicelib.suppression.store.items import LATEST_MS, EntryPart, part_of, parts_in, rows_of
from chalicelib.suppression.view import entry_view

#  most entries of some sources for which a search reads along sources rather than along domains
_FEW = 5000


@dataclass(frozen=True, slots=True)
class SuppressionFilters:
    """The filters of a search. An empty tuple is no filter; ``domains`` are lower-case.

    ``list_id`` is ``None`` for all entries and empty for account-wide ones; ``words`` must all be
    in the description, in any case, unless ``exact`` is set, which must be the whole description.
    ``recipient`` is empty for all of them.
    """

    types: tuple[str, ...]
    domains: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    list_id: str | None = None
    words: tuple[str, ...] = ()
    exact: str | None = None
    recipient: str = ""

    @property
    def kinds(self) -> list[SuppressionKind]:
        """Return the kinds of entry that can match."""
        specific = None if self.list_id is None else bool(self.list_id)
        return [k for k in KINDS if k.type in self.types and specific in (None, k.specific)]

    @property
    def known_sources(self) -> list[str]:
        """Return the sources that can match."""
        return [source for source in SOURCES if source in self.sources or not self.sources]

    def describe(self, entry: SuppressionEntry) -> bool:
        """Tell whether the description of an entry matches."""
        text = entry.description or ""
        if self.exact is not None:
            return text == self.exact
        lowered = text.lower()
        return all(word in lowered for word in self.words)

    def match(self, entry: SuppressionEntry) -> bool:
        """Tell whether an entry passes all filters but that of the recipient."""
        return (
            entry.kind in self.kinds
            and (not self.list_id or entry.list_id.lower() == self.list_id.lower())
            and (not self.domains or entry.domain in self.domains)
            and (not self.sources or entry.source in self.sources)
            and self.describe(entry)
        )


class Paging(NamedTuple):
    """The start of a page: after ``skip`` results or, if ``cursor`` is not ``None``, after it.

    An empty cursor is the first page.
    """

    per_page: int
    skip: int
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Search:
    """One page of a search, after ``skip`` entries or after the position ``after``.

    ``bounded`` says whether the span leaves anything out; ``total`` is handed on from page to page.
    ``by_cursor`` says that a cursor can lead on from wherever the page ends, and ``binding`` (JSON)
    names the list and the filters, to which cursors are bound.
    """

    filters: SuppressionFilters
    span: Span
    bounded: bool
    per_page: int
    skip: int = 0
    after: str = ""
    total: int | None = None
    by_cursor: bool = False
    binding: Any = None


@dataclass(frozen=True, slots=True)
class SuppressionPage:
    """The entries of one page; ``last`` is the position of its last one if there are more."""

    entries: list[SuppressionEntry]
    total: int
    last: str = ""


@dataclass(frozen=True, slots=True)
class _QueryPlan:
    """The partitions to read, and the filters that remain to be applied to each entry.

    ``total`` is the number of matching entries, where the counts alone say it.
    """

    partitions: list[TimePartition]
    filters: list[Callable[[SuppressionEntry], bool]]
    total: int | None

    def matches(self, entry: SuppressionEntry) -> bool:
        """Tell whether an entry of the partitions passes the remaining filters."""
        return all(matches(entry) for matches in self.filters)


def find_page(scope: Scope, search: Search) -> SuppressionPage:
    """Return one page; raises 400 for one that is too large and cannot end early."""
    if search.filters.recipient:
        return _page_of_recipient(scope, search)
    tallies = counts.read(scope.account_id, parts_in(scope))
    plan = _plan(search.filters, tallies)
    end = search.skip + search.per_page + 1
    rows = list(islice(_rows(scope.account_id, plan, search, end), search.skip, end))
    page_rows = rows[: _fitting(rows[: search.per_page], by_cursor=search.by_cursor)]
    entries = [entry for _, entry in page_rows]
    last = page_rows[-1][0] if len(rows) > len(page_rows) else ""
    if search.total is not None:
        return SuppressionPage(entries, search.total, last)
    if plan.total is not None and not search.bounded:
        return SuppressionPage(entries, plan.total, last)
    if rows and not last:
        return SuppressionPage(entries, search.skip + len(rows), last)
    return SuppressionPage(entries, _count(scope.account_id, plan, search), last)


def _page_of_recipient(scope: Scope, search: Search) -> SuppressionPage:
    filters, span, after = search.filters, search.span, search.after
    rows = [
        (position, entry)
        for position, entry in rows_of(scope, filters.recipient)
        if span.low <= position <= span.high and filters.match(entry)
    ]
    if not span.newest_first:
        rows.reverse()
    if after:
        is_next = after.__gt__ if span.newest_first else after.__lt__
        rest = [row for row in rows if is_next(row[0])][search.skip :]
    else:
        rest = rows[search.skip :]
    page_rows = rest[: _fitting(rest[: search.per_page], by_cursor=search.by_cursor)]
    last = page_rows[-1][0] if len(rest) > len(page_rows) else ""
    return SuppressionPage([entry for _, entry in page_rows], len(rows), last)


def recipient_page(
    scope: Scope, recipient: str, types: Collection[str], paging: Paging, after: str
) -> SuppressionPage:
    """Return one page of a recipient's entries of these types, the last updated first.

    The page begins after the position ``after``, so removing an entry between two pages skips no
    other. Raises 404 if there are no entries at all, and 400 as :func:`find_page` does.
    """
    rows = [row for row in rows_of(scope, recipient) if row[1].type in types]
    if not rows:
        raise NotFound("Recipient could not be found")
    rest = [row for row in rows if not after or row[0] < after][paging.skip :]
    by_cursor = paging.cursor is not None
    page_rows = rest[: _fitting(rest[: paging.per_page], by_cursor=by_cursor)]
    last = page_rows[-1][0] if len(rest) > len(page_rows) else ""
    return SuppressionPage([entry for _, entry in page_rows], len(rows), last)


def everything(account_id: int, subaccount_id: int | None) -> Iterator[SuppressionEntry]:
    """Yield all entries of one list, the one updated first first, a few pages in memory."""
    tallies = counts.read(account_id, [part_of(subaccount_id)])
    plan, span = (
        _plan(SuppressionFilters(TYPES), tallies),
        by_time.between(0, LATEST_MS, newest_first=False),
    )
    return (entry for _, entry in by_time.read(account_id, plan.partitions, span, _FEW))


def _fitting(rows: Sequence[tuple[str, SuppressionEntry]], *, by_cursor: bool) -> int:
    """Return how many entries of a page fit a reply; the first one always does."""
    remaining_bytes = settings().max_reply_bytes
    for number, (_, entry) in enumerate(rows):
        remaining_bytes -= bytes_in_reply(entry_view(entry))
        if remaining_bytes < 0 and number:
            if by_cursor:
                return number
            text = f"The page has more than {settings().max_reply_bytes} bytes"
            raise bad_request(f"{text}; use cursor, or a smaller per_page")
    return len(rows)


def _rows(
    account_id: int, plan: _QueryPlan, search: Search, expected: int
) -> Iterator[tuple[str, SuppressionEntry]]:
    """Yield ``(position, entry)`` of the matching entries, from where the page begins."""
    span = by_time.rest_of(search.span, search.after) if search.after else search.span
    rows = by_time.read(account_id, plan.partitions, span, _FEW if plan.filters else expected)
    return (
        (position, entry)
        for position, entry in rows
        if position != search.after and plan.matches(entry)
    )


def _plan(filters: SuppressionFilters, tallies: Mapping[EntryPart, Tally]) -> _QueryPlan:
    dimension, values = _narrowest(filters, tallies)
    partitions = [
        TimePartition(part, kind, dimension, value, size)
        for part, tally in tallies.items()
        for kind in filters.kinds
        for value in values
        if (size := counts.total(tally, [kind], [value] if dimension == "source" else SOURCES)) > 0
    ]
    rest: list[Callable[[SuppressionEntry], bool]] = []
    if filters.words or filters.exact is not None:
        rest.append(filters.describe)
    if filters.domains and dimension != "domain":
        rest.append(lambda entry: entry.domain in filters.domains)
    if filters.sources and dimension != "source":
        rest.append(lambda entry: entry.source in filters.sources)
    is_counted = dimension in ("time", "source") and not rest
    return _QueryPlan(
        partitions, rest, sum(each.size for each in partitions) if is_counted else None
    )


def _narrowest(
    filters: SuppressionFilters, tallies: Mapping[EntryPart, Tally]
) -> tuple[str, Sequence[str]]:
    """Return the dimension to read along, and its values."""
    if filters.list_id:
        return "list", [filters.list_id.lower()]
    if filters.domains and not (filters.sources and _of_sources(filters, tallies) <= _FEW):
        return "domain", filters.domains
    if filters.sources:
        return "source", filters.known_sources
    return "time", [""]


def _of_sources(filters: SuppressionFilters, tallies: Mapping[EntryPart, Tally]) -> int:
    kinds, sources = filters.kinds, filters.known_sources
    return sum(counts.total(tally, kinds, sources) for tally in tallies.values())


def _count(account_id: int, plan: _QueryPlan, search: Search) -> int:
    if not plan.filters:
        return by_time.count(account_id, plan.partitions, search.span)
    rows = by_time.read(account_id, plan.partitions, search.span, _FEW)
    return sum(plan.matches(entry) for _, entry in rows)
