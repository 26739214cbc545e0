"""Searching suppression lists: queries, pages and cursors (spec 4.8).

A search reads the index of its narrowest filter: a mailing list, else a few entries of some
sources, else domains, else sources, else time alone; the other filters are applied to what that
lets pass. The number of entries comes from the counts where no other filter is set, and else is
counted once, on the first page. Every page costs one request for the counts, which say which
partitions hold anything, and then what it shows.

A cursor is the position of the last entry shown, with the span and the number of entries as they
were on the first page, signed. A page that would be larger than a reply may be
(``MAX_REPLY_BYTES``) ends before, and its cursor leads on; without a cursor there is no such page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from chalicelib.core.errors import bad_request
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.suppression.model import KINDS, SOURCES, TYPES, Entry, Kind
from chalicelib.suppression.store import counts, ordered
from chalicelib.suppression.store.counts import Tally
from chalicelib.suppression.store.items import LATEST_MS, Part, part_of, parts_in
from chalicelib.suppression.store.ordered import Partition, Span

#: as many entries are read rather to narrow a search by source than by domain
_FEW = 5000


@dataclass(frozen=True, slots=True)
class Filters:
    """What entries are searched for. An empty tuple is no filter; ``domains`` are lower-case.

    ``list_id`` is ``None`` for all entries and empty for account-wide ones; ``words`` must all be
    in the description, in any case, unless ``exact`` is given, which must be all of it.
    """

    types: tuple[str, ...]
    domains: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    list_id: str | None = None
    words: tuple[str, ...] = ()
    exact: str | None = None

    @property
    def kinds(self) -> list[Kind]:
        """Return the kinds of entry that can match."""
        specific = None if self.list_id is None else bool(self.list_id)
        return [k for k in KINDS if k.type in self.types and specific in (None, k.specific)]

    @property
    def known_sources(self) -> list[str]:
        """Return the sources that can match."""
        return [source for source in SOURCES if source in self.sources or not self.sources]

    def describe(self, entry: Entry) -> bool:
        """Tell whether the description is as searched for."""
        text = entry.description or ""
        if self.exact is not None:
            return text == self.exact
        folded = text.lower()
        return all(word in folded for word in self.words)


@dataclass(frozen=True, slots=True)
class Search:
    """One page of a search: behind ``skip`` entries, or behind the position ``after``.

    ``bounded`` says whether the span leaves anything out; ``total`` is known from page to page.
    ``by_cursor`` says that a cursor can lead on from wherever the page ends.
    """

    filters: Filters
    span: Span
    bounded: bool
    per_page: int
    skip: int = 0
    after: str = ""
    total: int | None = None
    by_cursor: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The entries of one page; ``last`` is the position of its last one if there are more."""

    entries: list[Entry]
    total: int
    last: str = ""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The partitions to read, and the filters that are left to apply to each entry."""

    partitions: list[Partition]
    rest: list[Callable[[Entry], bool]]
    whole: int | None


def run(scope: Scope, search: Search) -> Found:
    """Find one page; raises 400 for one that is too large and cannot end before."""
    tallies = counts.read(scope.account_id, parts_in(scope))
    plan = _plan(search.filters, tallies)
    taken = search.skip + search.per_page + 1
    matching = _matching(scope.account_id, plan, search, taken)
    page = list(islice(matching, search.skip, taken))
    shown = page[: _fitting(page[: search.per_page], search)]
    entries = [entry for _, entry in shown]
    last = shown[-1][0] if len(page) > len(shown) else ""
    if search.total is not None:
        return Found(entries, search.total, last)
    if plan.whole is not None and not search.bounded:
        return Found(entries, plan.whole, last)
    if page and not last:
        return Found(entries, search.skip + len(page), last)
    if plan.rest:
        return Found(entries, _counted(scope.account_id, plan, search), last)
    return Found(entries, ordered.count(scope.account_id, plan.partitions, search.span), last)


def everything(account_id: int, subaccount_id: int | None) -> Iterator[Entry]:
    """Yield all entries of one list, those updated longest ago first, a few pages in memory."""
    tallies = counts.read(account_id, [part_of(subaccount_id)])
    plan, span = _plan(Filters(TYPES), tallies), ordered.between(0, LATEST_MS, newest_first=False)
    return (entry for _, entry in ordered.read(account_id, plan.partitions, span, _FEW))


def _fitting(page: Sequence[tuple[str, Entry]], search: Search) -> int:
    """Return how many entries of a page fit a reply; one does in any case."""
    room = settings().max_reply_bytes
    for number, (_, entry) in enumerate(page):
        room -= _size(entry)
        if room < 0 and number:
            if search.by_cursor:
                return number
            text = f"The page has more than {settings().max_reply_bytes} bytes"
            raise bad_request(f"{text}; use cursor, or a smaller per_page")
    return len(page)


def _size(entry: Entry) -> int:
    """Return what an entry takes in the reply, which is JSON as a text within JSON."""
    text = json.dumps(entry.as_json())
    return len(text) + text.count('"') + text.count("\\") + 2


def _matching(
    account_id: int, plan: _Plan, search: Search, expected: int
) -> Iterator[tuple[str, Entry]]:
    span = ordered.behind(search.span, search.after) if search.after else search.span
    found = ordered.read(account_id, plan.partitions, span, _FEW if plan.rest else expected)
    return (
        (position, entry)
        for position, entry in found
        if position != search.after and all(holds(entry) for holds in plan.rest)
    )


def _plan(filters: Filters, tallies: Mapping[Part, Tally]) -> _Plan:
    dimension, values = _narrowest(filters, tallies)
    partitions = [
        Partition(part, kind, dimension, value, size)
        for part, tally in tallies.items()
        for kind in filters.kinds
        for value in values
        if (size := counts.total(tally, [kind], [value] if dimension == "source" else SOURCES)) > 0
    ]
    rest: list[Callable[[Entry], bool]] = []
    if filters.words or filters.exact is not None:
        rest.append(filters.describe)
    if filters.domains and dimension != "domain":
        rest.append(lambda entry: entry.domain in filters.domains)
    if filters.sources and dimension != "source":
        rest.append(lambda entry: entry.source in filters.sources)
    counted = dimension in ("time", "source") and not rest
    return _Plan(partitions, rest, sum(each.size for each in partitions) if counted else None)


def _narrowest(filters: Filters, tallies: Mapping[Part, Tally]) -> tuple[str, Sequence[str]]:
    """Return the dimension to read along, and its values."""
    if filters.list_id:
        return "list", [filters.list_id.lower()]
    if filters.domains and not (filters.sources and _of_sources(filters, tallies) <= _FEW):
        return "domain", filters.domains
    if filters.sources:
        return "source", filters.known_sources
    return "time", [""]


def _of_sources(filters: Filters, tallies: Mapping[Part, Tally]) -> int:
    kinds, sources = filters.kinds, filters.known_sources
    return sum(counts.total(tally, kinds, sources) for tally in tallies.values())


def _counted(account_id: int, plan: _Plan, search: Search) -> int:
    found = ordered.read(account_id, plan.partitions, search.span, _FEW)
    return sum(all(holds(entry) for holds in plan.rest) for _, entry in found)
