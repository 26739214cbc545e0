from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.core import clock
from chalicelib.core.dynamo import Table
from chalicelib.subaccounts import store
from chalicelib.subaccounts.entries import lists_of
from chalicelib.subaccounts.model import Subaccount
from tests.fake_cloud import aws_requests
from tests.unit.calling import Client, Response
from tests.unit.people import make_account, make_key, make_subaccount

CONFIG = Table("config")
PATH = "/api/v1/subaccounts"


@pytest.fixture
def owner(cloud: None) -> Client:
    make_account()
    make_subaccount(account=2, name="Foreign")
    return make_key()


@pytest.fixture
def stopped_clock() -> Iterator[None]:
    """Stop the clock, so that no cached key expires between two requests."""
    with clock.use(lambda: 2_000_000_000.0):
        yield


def populate(count: int, **fields: Any) -> list[int]:
    """Write subaccounts a second apart, without transactions, and return their ids."""
    subaccounts = [
        Subaccount(store.draw_id(), 1, f"Sender {n:03d}", 1000.0 + n, 1000.0 + n, **fields)
        for n in range(count)
    ]
    entries = [item for each in subaccounts for item in store._entries(each).values()]
    CONFIG.write_all([*(store._to_item(each) for each in subaccounts), *entries])
    counts = Counter(store._count_name(which) for each in subaccounts for which in lists_of(each))
    added = ", ".join(f"#{name} :{name}" for name in counts)
    CONFIG.update(*store._counts(1), f"ADD {added}", values=counts)
    return [each.id for each in subaccounts]


def ids(response: Response) -> list[int]:
    return [each["id"] for each in response.results]


def pages(client: Client, query: str) -> list[Response]:
    """Follow the links from the first page to the last."""
    responses = [client.get(f"{PATH}?{query}")]
    while "next" in responses[-1].body["links"]:
        responses.append(client.get(responses[-1].body["links"]["next"]))
        assert len(responses) < 100
    return responses


@pytest.mark.spec("4.5-t4")
def test_without_paging_all_subaccounts_are_listed_newest_first(owner: Client) -> None:
    created_ids = populate(30)
    response = owner.get(PATH)
    assert ids(response) == created_ids[::-1]
    assert set(response.body) == {"results"}


@pytest.mark.spec("4.5-t4")
@pytest.mark.spec("8-t8")
@pytest.mark.parametrize(
    "query",
    [
        "cursor=initial",
        "per_page=25",
        "sort_by=id",
        "order=desc",
        "status=active",
        "name=sender",
        "ip_pool=fast",
        "ids=" + ",".join(str(number) for number in range(100)),
    ],
)
def test_any_query_parameter_gives_pages_of_25(owner: Client, query: str) -> None:
    created_ids = populate(30, ip_pool="fast")
    first, second = pages(owner, query)
    assert ids(first) + ids(second) == created_ids[::-1]
    assert len(first.results) == 25
    assert first.body["total_count"] == second.body["total_count"] == 30
    assert second.body["links"] == {}


@pytest.mark.spec("4.5-t4")
@pytest.mark.parametrize("per_page", [1, 2, 3, 6, 7, 100])
@pytest.mark.parametrize("sort_by", ["created_at", "updated_at", "id", "name"])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_the_pages_hold_every_subaccount_once_in_order(
    owner: Client, per_page: int, sort_by: str, order: str
) -> None:
    created_ids = populate(6)
    with clock.use(lambda: 5000.0):
        store.change(1, created_ids[0], lambda each: replace(each, name="Zoe"))
    responses = pages(owner, f"per_page={per_page}&sort_by={sort_by}&order={order}")
    changed_last = [*created_ids[1:], created_ids[0]]
    expected = changed_last if sort_by in ("updated_at", "name") else created_ids
    assert [each for page in responses for each in ids(page)] == (
        expected if order == "asc" else expected[::-1]
    )
    assert len(responses) == -(-6 // per_page)


def test_the_next_page_does_not_shift_when_subaccounts_are_created(owner: Client) -> None:
    created_ids = populate(4)
    first = owner.get(f"{PATH}?per_page=2")
    populate(3)
    second = owner.get(first.body["links"]["next"])
    assert ids(first) + ids(second) == created_ids[::-1]
    assert second.body["total_count"] == 4


def test_the_link_to_the_next_page_keeps_the_filters(owner: Client) -> None:
    populate(3, status="suspended")
    link = owner.get(f"{PATH}?per_page=1&status=suspended&name=send").body["links"]["next"]
    query = parse_qs(urlsplit(link).query)
    assert urlsplit(link).path == PATH
    assert (query["per_page"], query["status"], query["name"]) == (["1"], ["suspended"], ["send"])


@pytest.mark.spec("4.5-t4")
def test_filters_narrow_and_combine(owner: Client) -> None:
    plain = make_subaccount(name="Acme").id
    pooled = make_subaccount(name="acme north", ip_pool="Fast").id
    dear = make_subaccount(name="Other", ip_pool="fast", options={"deliverability": True}).id
    terminated = make_subaccount(name="ACME gone", status="terminated", ip_pool="fast").id

    def found(query: str) -> list[int]:
        response = owner.get(f"{PATH}?order=asc&{query}")
        assert response.body["total_count"] == len(response.results)
        return ids(response)

    assert found("") == [plain, pooled, dear, terminated]
    assert found("status=active") == [plain, pooled, dear]
    assert found("ip_pool=fast") == found("ip_pool=FAST") == [pooled, dear, terminated]
    assert found("option=deliverability") == [dear]
    assert found("name=acme") == [plain, pooled, terminated]
    assert found("name=me+n") == [pooled]
    assert found("name=acme&status=terminated") == [terminated]
    assert found("status=active&ip_pool=fast&option=deliverability") == [dear]
    assert found("ip_pool=none") == found("status=suspended") == found("name=zzz") == []
    assert found(f"ids={terminated},{plain},999,1") == [plain, terminated]
    assert found(f"ids={terminated},{plain}&status=active") == [plain]
    assert found("ids=") == []
    assert ids(owner.get(f"{PATH}?option=deliverability")) == [dear]
    assert "total_count" not in owner.get(f"{PATH}?option=deliverability").body


@pytest.mark.parametrize(
    ("query", "param", "value"),
    [
        ("per_page=0", "per_page", "0"),
        ("per_page=101", "per_page", "101"),
        ("per_page=ten", "per_page", "ten"),
        ("sort_by=age", "sort_by", "age"),
        ("order=up", "order", "up"),
        ("status=gone", "status", "gone"),
        ("option=rockets&order=asc", "option", "rockets"),
        ("option=rockets", "option", "rockets"),
        ("ids=1,x", "ids", "x"),
        ("ids=1,-2", "ids", "-2"),
        ("cursor=nonsense", "cursor", "nonsense"),
        ("cursor=", "cursor", ""),
        ("name=" + "x" * 301, "name", "x" * 300),
    ],
)
@pytest.mark.spec("8-t8")
def test_the_error_of_an_invalid_query_names_the_parameter(
    owner: Client, query: str, param: str, value: str
) -> None:
    response = owner.get(f"{PATH}?{query}")
    assert response.status == 400
    assert (response.error["param"], response.error["value"]) == (param, value)
    assert param in response.error["message"]


def test_one_answer_names_all_invalid_parameters(owner: Client) -> None:
    response = owner.get(f"{PATH}?per_page=x&ids=y&order=z")
    assert {error["param"] for error in response.body["errors"]} == {"per_page", "ids", "order"}


def test_a_cursor_works_only_with_its_own_search(owner: Client) -> None:
    populate(3)
    link = owner.get(f"{PATH}?per_page=1&sort_by=name").body["links"]["next"]
    assert owner.get(link.replace("sort_by=name", "sort_by=updated_at")).status == 400
    assert owner.get(link + "&order=asc").status == 400
    cursor = parse_qs(urlsplit(link).query)["cursor"][0]
    assert owner.get(f"{PATH}?sort_by=name&cursor={cursor[:-2]}").status == 400


def test_a_cursor_of_another_account_is_refused(owner: Client) -> None:
    populate(3)
    link = owner.get(f"{PATH}?per_page=1").body["links"]["next"]
    make_account(2)
    assert make_key(2).get(link).status == 400


QUERIES = [
    "per_page=10",
    "per_page=10&sort_by=name&order=asc",
    "per_page=10&sort_by=updated_at",
    "per_page=10&status=suspended",
    "per_page=10&ip_pool=fast",
    "per_page=10&option=deliverability",
]


@pytest.mark.cost
@pytest.mark.usefixtures("stopped_clock")
def test_a_page_costs_the_same_however_many_subaccounts_there_are(owner: Client) -> None:
    def costs(target: str) -> list[tuple[str, int]]:
        owner.get(target)
        with aws_requests() as requests:
            response = owner.get(target)
        assert len(response.results) == 10
        return [(request.operation, request.parameters.get("Limit", 0)) for request in requests]

    fields = {"status": "suspended", "ip_pool": "fast", "options": {"deliverability": True}}
    populate(12, **fields)
    few = {query: costs(f"{PATH}?{query}") for query in QUERIES}
    populate(200)
    for query in QUERIES:
        assert costs(f"{PATH}?{query}") == few[query] == [("GetItem", 0), ("Query", 11)]
        link = owner.get(f"{PATH}?{query}").body["links"]["next"]
        with aws_requests() as requests:
            owner.get(link)
        assert [request.operation for request in requests] == ["Query"]


@pytest.mark.cost
@pytest.mark.usefixtures("stopped_clock")
@pytest.mark.spec("4.5-t5")
def test_the_summary_costs_one_request(owner: Client) -> None:
    assert owner.get(f"{PATH}/summary").results == {"total": 0}
    populate(3)
    with aws_requests() as requests:
        assert owner.get(f"{PATH}/summary").results == {"total": 3}
    assert len(requests) == 1
