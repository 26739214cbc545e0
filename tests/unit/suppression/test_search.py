from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.errors import ApiError
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.suppression import service
from chalicelib.suppression.model import SOURCES, TYPES, SuppressionEntry
from chalicelib.suppression.search import SuppressionPage, everything, find_page
from chalicelib.suppression.search_request import read_search, search_links
from tests.fake_cloud import aws_requests
from tests.unit.suppression.examples import entry

NINE = 1_769_850_000  # 2026-01-31T09:00:00Z
Query = dict[str, str]


def find(account: int, query: Query, part: int | None = None) -> SuppressionPage:
    scope = Scope(account, part)
    return find_page(scope, read_search(query, scope))


def recipients(account: int, query: Query, part: int | None = None) -> list[str]:
    return [each.recipient for each in find(account, query, part).entries]


def by_cursor(account: int, query: Query, part: int | None = None) -> list[list[SuppressionEntry]]:
    """Return all pages of a search, following the links."""
    pages = []
    query = query | {"cursor": "initial"}
    scope = Scope(account, part)
    while True:
        search = read_search(query, scope)
        page = find_page(scope, search)
        pages.append(page.entries)
        following = [
            each for each in search_links("/", query, search, page) if each["rel"] == "next"
        ]
        if not following:
            return pages
        query |= {"cursor": following[0]["href"].partition("cursor=")[2].partition("&")[0]}


def store_at(
    account: int, seconds: float, *entries: SuppressionEntry, owner: int | None = None
) -> None:
    """Store entries as of a time after nine o'clock."""
    moment = round((NINE + seconds) * 1000)
    dated = [replace(each, created_ms=moment, updated_ms=moment) for each in entries]
    service.impose_all(account, owner, dated)


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(NINE + seconds, UTC).isoformat()


@pytest.mark.spec("4.8-t5")
def test_a_search_without_filters_has_the_latest_update_first(account: int) -> None:
    for second in range(5):
        store_at(account, second, entry(f"u{second}@x.test"))
    store_at(account, 9, entry("u1@x.test"))
    assert recipients(account, {}) == [f"u{n}@x.test" for n in (1, 4, 3, 2, 0)]
    assert recipients(account, {"sort": "asc"}) == [f"u{n}@x.test" for n in (0, 2, 3, 4, 1)]
    assert find(account, {}).total == 5


@pytest.mark.spec("4.8-r3")
def test_open_tracking_is_found_only_when_asked_for(account: int) -> None:
    for second, type in enumerate(TYPES):
        store_at(account, second, entry(f"{type}@x.test", type))
    assert recipients(account, {}) == ["non_transactional@x.test", "transactional@x.test"]
    assert recipients(account, {"types": "open_tracking"}) == ["open_tracking@x.test"]
    assert recipients(account, {"types": "transactional"}) == ["transactional@x.test"]
    assert find(account, {"types": ",".join(TYPES)}).total == 3


@pytest.mark.spec("4.8-t5")
def test_the_window_is_of_updates_and_includes_both_its_seconds(account: int) -> None:
    for second in range(5):
        store_at(account, second + 0.5, entry(f"u{second}@x.test"))
    window = {"from": iso(1), "to": iso(3)}
    assert recipients(account, window) == ["u3@x.test", "u2@x.test", "u1@x.test"]
    assert find(account, window | {"per_page": "1"}).total == 3
    assert find(account, {"from": iso(4)}).total == 1
    assert find(account, {"to": iso(0), "per_page": "1"}).total == 1
    assert find(account, {"to": iso(-1)}).total == 0
    assert recipients(account, {"from": iso(9)}) == []
    with clock.use(lambda: NINE + 2.0):
        assert recipients(account, {}) == ["u2@x.test", "u1@x.test", "u0@x.test"]


@pytest.mark.spec("4.8-t5")
def test_domains_are_whole_and_sources_keep_their_case(account: int) -> None:
    store_at(account, 1, entry("a@one.test"), entry("b@sub.one.test"))
    store_at(account, 2, entry("c@TWO.test", source="Bounce Rule"))
    assert recipients(account, {"domain": "one.test"}) == ["a@one.test"]
    assert recipients(account, {"domain": "ONE.test,two.TEST"}) == ["c@two.test", "a@one.test"]
    assert recipients(account, {"domain": "test"}) == []
    assert recipients(account, {"sources": "Bounce Rule"}) == ["c@two.test"]
    assert recipients(account, {"sources": "Bounce Rule,Manually Added", "per_page": "1"}) == [
        "c@two.test"
    ]
    assert find(account, {"sources": "bounce rule"}).total == 0
    assert find(account, {"sources": "Compliance"}).total == 0
    assert recipients(account, {"domain": "one.test", "sources": "Bounce Rule"}) == []


@pytest.mark.spec("4.8-t5")
def test_a_description_matches_by_its_words_or_strictly_as_a_whole(account: int) -> None:
    store_at(account, 1, entry("a@x.test", description="550 Mailbox Full"))
    store_at(account, 2, entry("b@x.test", description="mailbox unknown"))
    store_at(account, 3, entry("c@x.test"))
    assert recipients(account, {"description": "MAILBOX"}) == ["b@x.test", "a@x.test"]
    assert recipients(account, {"description": "full mailbox"}) == ["a@x.test"]
    assert find(account, {"description": "mail", "per_page": "1"}).total == 2
    strict = {"description_strict": "true"}
    assert recipients(account, strict | {"description": "mailbox unknown"}) == ["b@x.test"]
    assert recipients(account, strict | {"description": "mailbox"}) == []
    assert len(recipients(account, strict)) == 3


@pytest.mark.spec("4.8-t5")
def test_list_id_narrows_to_one_list_or_if_empty_to_account_wide_entries(account: int) -> None:
    store_at(account, 1, entry("a@x.test", list_id="News.1"), entry("a@x.test"))
    store_at(account, 2, entry("b@x.test", "transactional", list_id="news.1"))
    store_at(account, 3, entry("c@x.test", list_id="sports"))
    assert find(account, {}).total == 4
    assert recipients(account, {"list_id": ""}) == ["a@x.test"]
    assert recipients(account, {"list_id": "news.1"}) == ["b@x.test", "a@x.test"]
    assert find(account, {"list_id": "NEWS.1", "per_page": "1"}).total == 2
    assert recipients(account, {"list_id": "news.1", "types": "transactional"}) == ["b@x.test"]
    assert find(account, {"list_id": "news.1", "types": "open_tracking"}).total == 0
    assert find(account, {"list_id": "nobody"}).total == 0
    (sports,) = find(account, {"list_id": "sports"}).entries
    assert sports.list_id == "sports"


@pytest.mark.spec("4.8-r6")
def test_a_search_reads_one_list_or_all_lists(account: int) -> None:
    for second, owner in enumerate((None, 7, 77)):
        store_at(account, second, entry("ann@x.test"), owner=owner)
    store_at(account + 1, 0, entry("other@x.test"))
    owners = [each.subaccount_id for each in find(account, {}).entries]
    assert owners == [77, 7, None]
    for query in ({}, {"domain": "x.test"}, {"sources": "Manually Added"}):
        assert find(account, query).total == 3
        for part, owner in ((0, None), (7, 7), (77, 77)):
            page = find(account, query, part)
            assert [each.subaccount_id for each in page.entries] == [owner]
            assert page.total == 1
        assert find(account, query, 777).total == 0


@pytest.mark.spec("4.8-t5")
@pytest.mark.parametrize("sort", ["asc", "desc"])
def test_pages_neither_repeat_nor_skip_entries_of_one_millisecond(account: int, sort: str) -> None:
    store_at(account, 1, *(entry(f"u{n}@x.test") for n in range(25)))
    store_at(account, 1, *(entry(f"u{n}@x.test", "transactional") for n in range(25)))
    entries = find(account, {"sort": sort}).entries
    assert len(entries) == 50
    pages = by_cursor(account, {"per_page": "7", "sort": sort})
    assert [len(page) for page in pages] == [7] * 7 + [1]
    assert [each for page in pages for each in page] == entries
    numbered = [
        find(account, {"per_page": "7", "sort": sort, "page": str(n)}) for n in range(1, 17)
    ]
    assert [each for page in numbered for each in page.entries] == entries
    assert {page.total for page in numbered} == {50}


@pytest.mark.spec("4.8-t5")
def test_changes_between_pages_of_a_cursor_shift_neither_pages_nor_the_total(
    account: int,
) -> None:
    for second in range(6):
        store_at(account, second, entry(f"u{second}@x.test"))
    query = {"cursor": "initial", "per_page": "2"}
    scope = Scope(account, None)
    search = read_search(query, scope)
    first = find_page(scope, search)
    token = search_links("/", query, search, first)[1]["href"].partition("cursor=")[2]
    service.put_all(account, None, [entry("new@x.test"), entry("u1@x.test")])
    second = find(account, {"cursor": token.partition("&")[0], "per_page": "3"})
    assert [each.recipient for each in second.entries] == ["u3@x.test", "u2@x.test", "u0@x.test"]
    assert second.total == 6
    assert second.last == ""


def brute(
    entries: Iterable[SuppressionEntry], query: Query, part: int | None
) -> list[SuppressionEntry]:
    """Return the entries that a search should find, by looking at all of them."""
    filters = read_search(query, Scope(1, part)).filters
    low, high = query.get("from", ""), query.get("to", "9")
    return sorted(
        (
            each
            for each in entries
            if each.type in filters.types
            and part in (None, each.subaccount_id or 0)
            and (not filters.domains or each.domain in filters.domains)
            and (not filters.sources or each.source in filters.sources)
            and filters.list_id in (None, each.list_id)
            and filters.describe(each)
            and low <= clock.iso_offset(each.updated_ms // 1000) <= high
        ),
        key=lambda each: each.updated_ms,
        reverse=query.get("sort") != "asc",
    )


def random_entries(rng: random.Random) -> list[tuple[int | None, SuppressionEntry]]:
    rows = {}
    for number in range(250):
        type = rng.choice(TYPES)
        list_id = rng.choice([None, None, "news", "a.b"]) if type != "open_tracking" else None
        new = entry(
            f"u{rng.randrange(40)}@{rng.choice(['one', 'two', 'six'])}.test",
            type,
            rng.choice(list(SOURCES)),
            list_id=list_id,
            description=rng.choice([None, "Hard bounce", "soft bounce 5", "asked to"]),
        )
        moment = (NINE + number) * 1000
        owner = rng.choice([None, None, 7, 77])
        dated = replace(new, created_ms=moment, updated_ms=moment)
        rows[owner, new.recipient, new.type, new.list_id] = (owner, dated)
    return list(rows.values())


def random_query(rng: random.Random) -> Query:
    options: dict[str, list[str]] = {
        "types": ["transactional", "open_tracking", ",".join(TYPES)],
        "domain": ["one.test", "one.test,six.test", "no.test"],
        "sources": ["Compliance", "Bounce Rule,Manually Added", "compliance"],
        "list_id": ["", "news", "a.b"],
        "description": ["bounce", "BOUNCE hard", "nothing"],
        "from": [iso(50), iso(150)],
        "to": [iso(180), iso(230)],
        "sort": ["asc", "desc"],
        "per_page": ["1000", "5", "33"],
    }
    names = rng.sample(list(options), rng.randrange(4))
    return {name: rng.choice(options[name]) for name in names}


def same(entries: Iterable[SuppressionEntry], others: Iterable[SuppressionEntry]) -> bool:
    def key(each: SuppressionEntry) -> tuple[Any, ...]:
        return (each.updated_ms, each.recipient, each.type, each.list_id, each.subaccount_id or 0)

    return [key(each) for each in entries] == [key(each) for each in others]


def test_every_combination_of_filters_finds_all_matching_entries(account: int) -> None:
    rng = random.Random(20260131)
    entries = random_entries(rng)
    for owner in (None, 7, 77):
        service.impose_all(account, owner, [each for owned, each in entries if owned == owner])
    all_entries = [replace(each, subaccount_id=owner) for owner, each in entries]
    for number in range(60):
        query, part = random_query(rng), rng.choice([None, None, 0, 7])
        expected = brute(all_entries, query, part)
        per_page = int(query.get("per_page", "1000"))
        page = find(account, query, part)
        assert page.total == len(expected), query
        assert same(page.entries, expected[:per_page]), query
        assert bool(page.last) == (len(expected) > per_page)
        if number % 6 == 0 and len(expected) < 20 * per_page:
            pages = by_cursor(account, query, part)
            assert same([each for page in pages for each in page], expected), query
            far = find(account, query | {"page": "2"}, part) if per_page < 1000 else None
            assert far is None or same(far.entries, expected[per_page : 2 * per_page])


COSTS: list[tuple[Query, list[str]]] = [
    ({}, ["Query"]),
    ({"sort": "asc"}, ["Query"]),
    ({"page": "3"}, ["Query"]),
    ({"types": "open_tracking"}, ["Query"]),
    ({"domain": "rare.test"}, ["Query"]),
    ({"sources": "Bounce Rule"}, ["Query"]),
    ({"list_id": ""}, ["Query"]),
    ({"list_id": "news", "types": "transactional"}, ["Query"]),
    ({"domain": "x.test", "sources": "Bounce Rule"}, ["Query"]),
    ({"sources": "nothing"}, []),
    ({"domain": "x.test"}, ["Query", "COUNT"]),
    ({"from": iso(0)}, ["Query", "COUNT"]),
]


@pytest.mark.cost
@pytest.mark.spec("8-t10")
def test_a_page_costs_what_it_shows_and_a_count_what_the_filter_lets_pass(account: int) -> None:
    store_at(account, 1, *(entry(f"u{n}@x.test") for n in range(1000)))
    store_at(account, 2, entry("u@rare.test"), entry("u@x.test", source="Bounce Rule"))
    store_at(account, 3, entry("u@x.test", "open_tracking"))
    store_at(account, 3, entry("u@x.test", "transactional", list_id="news"))
    for query, expected in COSTS:
        with aws_requests() as requests:
            find(account, {"types": "non_transactional", "per_page": "10"} | query)
        operations = [request.parameters.get("Select", request.operation) for request in requests]
        assert operations == ["BatchGetItem", *expected], query
        assert sum(request.parameters.get("Limit", 0) for request in requests) <= 100


def test_everything_yields_a_list_oldest_first(account: int) -> None:
    for second, type in enumerate(TYPES):
        store_at(account, second, entry(f"{type}@x.test", type), owner=7)
    assert [each.recipient for each in everything(account, 7)] == [
        f"{type}@x.test" for type in TYPES
    ]
    assert list(everything(account, None)) == []


def test_a_page_ends_early_where_the_reply_would_be_too_large_and_its_cursor_leads_on(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for second in range(5):
        store_at(account, second, entry(f"u{second}@x.test", description="\xe9" * 1000))
    monkeypatch.setenv("MAX_REPLY_BYTES", "16000")
    settings.cache_clear()
    pages = by_cursor(account, {"sort": "asc"})
    assert [[each.recipient for each in page] for page in pages] == [
        ["u0@x.test", "u1@x.test"],
        ["u2@x.test", "u3@x.test"],
        ["u4@x.test"],
    ]
    assert find(account, {"cursor": "initial"}).total == 5
    assert find(account, {"per_page": "2"}).total == 5
    with pytest.raises(ApiError, match="use cursor"):
        find(account, {})
