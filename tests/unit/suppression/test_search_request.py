from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chalicelib.core import clock
from chalicelib.core.errors import ApiError
from chalicelib.core.scope import Scope
from chalicelib.suppression.model import TYPES
from chalicelib.suppression.search import SuppressionPage
from chalicelib.suppression.search_request import (
    read_list_id,
    read_paging,
    read_position,
    read_search,
    recipient_binding,
    recipient_links,
    search_links,
)
from chalicelib.suppression.store.items import position

PATH = "/api/v1/suppression-list"
ALL = Scope(1, None)
ANN = "ann@x.test"


def millis(text: str) -> int:
    return round(datetime.fromisoformat(text).astimezone(UTC).timestamp() * 1000)


@pytest.mark.spec("4.8-t5")
@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("2026-01-31T09:05:00Z", "2026-01-31T09:05:00+00:00"),
        ("2026-01-31T09:05:00", "2026-01-31T09:05:00+00:00"),
        ("2026-01-31T09:05:00-0400", "2026-01-31T13:05:00+00:00"),
        ("2026-01-31T09:05:00+02:00", "2026-01-31T07:05:00+00:00"),
        ("2026-01-31T09:05:00 0200", "2026-01-31T07:05:00+00:00"),
        ("2026-01-31T09:05", "2026-01-31T09:05:00+00:00"),
        ("2026-01-31 09:05", "2026-01-31T09:05:00+00:00"),
        ("2026-01-31", "2026-01-31T00:00:00+00:00"),
        ("2026-01-31T09:05:00.250Z", "2026-01-31T09:05:00.250+00:00"),
    ],
)
def test_dates_may_have_an_offset_and_are_else_in_utc(text: str, means: str) -> None:
    search = read_search({"from": text, "to": "2026-02-01"}, ALL)
    assert search.span.low == position(millis(means))
    assert search.bounded


@pytest.mark.spec("4.8-t5")
def test_both_bounds_hold_the_whole_of_their_second() -> None:
    search = read_search({"from": "2026-01-31T09:05:00Z", "to": "2026-01-31T09:05:00Z"}, ALL)
    second = millis("2026-01-31T09:05:00+00:00")
    assert search.span.low <= position(second) + "#tie"
    assert search.span.high > position(second + 999) + "#tie"
    assert search.span.high < position(second + 1000)


@pytest.mark.spec("4.8-t5")
def test_a_search_ends_now_by_default() -> None:
    with clock.use(lambda: 1_769_850_300.0):
        search = read_search({}, ALL)
    assert search.span.high > position(1_769_850_300_000) + "#tie"
    assert search.span.high < position(1_769_850_301_000)
    assert not search.bounded


@pytest.mark.parametrize("name", ["from", "to"])
@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "2026-01-31T25:00:00Z", "1769850300x"])
def test_an_invalid_date_is_refused_by_the_name_of_its_parameter(name: str, text: str) -> None:
    with pytest.raises(ApiError) as error_info:
        read_search({name: text}, ALL)
    assert error_info.value.status == 400
    assert error_info.value.errors == [{"message": f"{name} must be a valid date"}]


def test_a_search_cannot_end_before_it_begins() -> None:
    with pytest.raises(ApiError, match="from must be before to"):
        read_search({"from": "2026-01-31", "to": "2026-01-30"}, ALL)


@pytest.mark.spec("4.8-r3")
def test_without_types_only_those_that_hold_messages_back_are_searched_for() -> None:
    search = read_search({}, ALL)
    assert search.filters.types == ("transactional", "non_transactional")
    search = read_search({"types": "open_tracking, transactional"}, ALL)
    assert search.filters.types == ("open_tracking", "transactional")
    with pytest.raises(ApiError, match="Type must be one of"):
        read_search({"types": "Transactional"}, ALL)


@pytest.mark.spec("4.8-t5")
def test_filters_are_comma_lists_and_sources_keep_their_case() -> None:
    query = {"domain": "A.test, b.TEST, B\xfccher.test", "sources": "Bounce Rule,bounce rule"}
    search = read_search(query, ALL)
    assert search.filters.domains == ("a.test", "b.test", "xn--bcher-kva.test")
    assert search.filters.sources == ("Bounce Rule", "bounce rule")
    assert search.filters.known_sources == ["Bounce Rule"]


def test_a_description_is_words_or_if_strict_a_text() -> None:
    loose = read_search({"description": "Mailbox  FULL"}, ALL)
    strict = read_search({"description": "Mailbox  FULL", "description_strict": "true"}, ALL)
    assert (loose.filters.words, loose.filters.exact) == (("mailbox", "full"), None)
    assert (strict.filters.words, strict.filters.exact) == ((), "Mailbox  FULL")
    with pytest.raises(ApiError, match="description_strict"):
        read_search({"description_strict": "yes"}, ALL)


@pytest.mark.spec("4.8-t5")
def test_list_id_may_be_absent_empty_or_valid() -> None:
    assert read_list_id({}) is None
    assert read_list_id({"list_id": ""}) == ""
    assert read_list_id({"list_id": "news.example"}) == "news.example"
    with pytest.raises(ApiError) as error_info:
        read_list_id({"list_id": "news..example"})
    assert error_info.value.status == 400


@pytest.mark.spec("8-t10")
def test_per_page_goes_from_one_to_ten_thousand_and_is_else_a_thousand() -> None:
    assert read_paging({}).per_page == 1000
    assert read_paging({"per_page": "1"}).per_page == 1
    assert read_paging({"per_page": "10000"}).per_page == 10_000
    for bad in ("0", "10001", "-1", "x", "1.5", ""):
        with pytest.raises(ApiError) as error_info:
            read_paging({"per_page": bad})
        assert error_info.value.status == 400


@pytest.mark.spec("8-t10")
@pytest.mark.spec("4.8-t5")
def test_page_reaches_ten_thousand_results_and_is_ignored_beside_a_cursor() -> None:
    assert read_paging({"page": "10"}).skip == 9000
    assert read_paging({"page": "1", "per_page": "10000"}).skip == 0
    assert read_paging({"page": "3", "per_page": "5", "cursor": "initial"}) == (5, 0, "")
    for page, per_page in (("11", "1000"), ("2", "10000"), ("0", "10"), ("x", "10")):
        with pytest.raises(ApiError) as error_info:
            read_paging({"page": page, "per_page": per_page})
        assert error_info.value.status == 400


def test_sort_is_asc_or_desc() -> None:
    assert read_search({}, ALL).span.newest_first
    assert not read_search({"sort": "asc"}, ALL).span.newest_first
    with pytest.raises(ApiError, match="sort must be"):
        read_search({"sort": "up"}, ALL)


@pytest.mark.spec("4.8-t5")
def test_links_come_with_a_cursor_and_have_a_next_one_while_there_is_more() -> None:
    query = {"cursor": "initial", "domain": "a.test", "per_page": "2"}
    search = read_search(query, ALL)
    assert search_links(PATH, {"per_page": "2"}, search, SuppressionPage([], 3, "position")) == []
    first = f"{PATH}?domain=a.test&per_page=2&cursor=initial"
    assert search_links(PATH, query, search, SuppressionPage([], 3)) == [
        {"href": first, "rel": "first"}
    ]
    _, next_link = search_links(PATH, query, search, SuppressionPage([], 3, "position"))
    assert next_link["rel"] == "next"
    token = next_link["href"].removeprefix(first.removesuffix("initial"))
    again = read_search({**query, "cursor": token}, ALL)
    assert (again.after, again.total, again.span) == ("position", 3, search.span)
    assert again.skip == 0


def test_a_cursor_that_is_not_of_this_list_is_refused() -> None:
    binding = recipient_binding(ALL, ANN, TYPES)
    links = recipient_links(
        PATH, {"cursor": "initial"}, SuppressionPage([], 3, "position"), binding
    )
    token = links[1]["href"].partition("cursor=")[2]
    same = recipient_binding(ALL, ANN.upper(), TYPES[::-1])
    assert read_position(read_paging({"cursor": token}), same) == "position"
    for cursor in ("nonsense", token[:-2] + "AA", "Initial"):
        with pytest.raises(ApiError, match="cursor"):
            read_position(read_paging({"cursor": cursor}), binding)
        with pytest.raises(ApiError, match="cursor"):
            read_search({"cursor": cursor}, ALL)
    with pytest.raises(ApiError, match="cursor"):
        read_search({"cursor": token}, ALL)
    for other in (
        recipient_binding(ALL, "bob@x.test", TYPES),
        recipient_binding(ALL, ANN, TYPES[:1]),
        recipient_binding(Scope(1, 0), ANN, TYPES),
        recipient_binding(Scope(2, None), ANN, TYPES),
    ):
        with pytest.raises(ApiError, match="other filters"):
            read_position(read_paging({"cursor": token}), other)
