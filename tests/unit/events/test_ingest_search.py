from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from chalicelib.core import clock
from chalicelib.core.errors import ApiError
from chalicelib.core.message_event import Event
from chalicelib.events import service
from chalicelib.events.ingest_search import search_ingests
from chalicelib.events.message_search import search_messages
from chalicelib.events.pages import EventPage
from tests.unit.events.examples import HOUR, NINE, event_at

NOW = NINE + HOUR


@pytest.fixture(autouse=True)
def _at_ten(cloud: None) -> Iterator[None]:
    with clock.use(lambda: NOW / 1000):
        yield


def result(number: int, kind: str = "success", account: int = 1, **fields: Any) -> Event:
    return {
        "type": kind,
        "customer_id": str(account),
        "timestamp": NINE + number * 1000,
        "event_id": f"{account}{number}",
        "batch_id": f"batch-{number}",
        "number_succeeded": 10,
        "number_failed": 0,
        "number_duplicates": 2,
        "retryable": False,
        "expiration_timestamp": NINE + 10 * HOUR,
        **fields,
    }


def find(**query: str) -> EventPage:
    return search_ingests(1, query)


def batches(page: EventPage) -> list[str]:
    return [event["batch_id"] for event in page.events]


@pytest.mark.spec("4.10-t2")
def test_results_of_batches_are_found_newest_first_with_numbers_and_flags() -> None:
    service.put_all([result(1), result(2, "error"), result(3, account=2), event_at(NINE)])
    page = find()
    assert batches(page) == ["batch-2", "batch-1"]
    assert (page.total, page.next_link) == (2, "")
    view = page.events[1]
    assert (view["number_succeeded"], view["retryable"]) == (10, False)
    assert view["timestamp"] == "2026-01-31T09:00:01.000Z"
    assert view["expiration_timestamp"] == "2026-01-31T19:00:00.000Z"
    assert view["display_name"] == "Ingest Success"


@pytest.mark.spec("4.10-t2")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "1234"),
        ({"events": "success"}, "14"),
        ({"events": "success,error"}, "1234"),
        ({"event_ids": "12,13"}, "23"),
        ({"batch_ids": "batch-1,BATCH-4"}, "14"),
        ({"batch_ids": "batch-1;batch-4", "delimiter": ";"}, "14"),
        ({"retryable": "true"}, "3"),
        ({"retryable": "false"}, "124"),
        ({"subaccounts": "0"}, "13"),
        ({"subaccounts": "7,0"}, "1234"),
        ({"error_types": "validation"}, "2"),
        ({"error_types": "internal", "retryable": "true"}, "3"),
        ({"error_types": "internal", "retryable": "false"}, ""),
        ({"from": "2026-01-31T09:00:02Z", "to": "2026-01-31T09:00:04Z"}, "23"),
    ],
)
def test_results_are_filtered(query: dict[str, str], expected: str) -> None:
    service.put_all(
        [
            result(1),
            result(2, "error", error_type="validation", subaccount_id="7"),
            result(3, "error", error_type="internal", retryable=True),
            result(4, subaccount_id="7"),
        ]
    )
    assert [each[-1] for each in batches(find(**query))] == list(reversed(expected))


@pytest.mark.parametrize(
    ("name", "text"),
    [("events", "bounce"), ("retryable", "yes"), ("subaccounts", "x"), ("per_page", "0")],
)
def test_impossible_values_are_refused(name: str, text: str) -> None:
    with pytest.raises(ApiError, match=name) as error:
        find(**{name: text})
    assert error.value.status == 400


def test_a_subaccounts_key_finds_only_its_results() -> None:
    service.put_all([result(1), result(2, subaccount_id="7"), result(3, subaccount_id="8")])
    assert batches(search_ingests(1, {}, 7)) == ["batch-2"]
    assert batches(search_ingests(1, {"subaccounts": "7,8"}, 7)) == ["batch-2"]
    assert batches(search_ingests(1, {"subaccounts": "8"}, 7)) == []


@pytest.mark.spec("4.10-t2")
def test_pages_are_linked() -> None:
    service.put_all([result(n) for n in range(5)])
    page = find(per_page="2", events="success")
    names = batches(page)
    while page.next_link:
        assert page.total == 5
        parts = urlsplit(page.next_link)
        assert parts.path == "/api/v1/events/ingest"
        page = find(**dict(parse_qsl(parts.query)))
        names += batches(page)
    assert names == [f"batch-{n}" for n in (4, 3, 2, 1, 0)]


def test_a_cursor_of_the_message_search_is_refused() -> None:
    service.put_all([result(n) for n in range(3)])
    query = dict(parse_qsl(urlsplit(find(per_page="1").next_link).query))
    with pytest.raises(ApiError, match="other filters"):
        search_messages(1, query)
