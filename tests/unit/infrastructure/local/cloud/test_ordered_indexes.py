"""Compare queries of MiniStack with the same queries on partitions kept in order."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import dynamodb

from infrastructure.local.cloud import ordered_indexes
from infrastructure.local.cloud.ordered_indexes import OrderedIndexes

TABLE = "ordered"
PATCHED = ("_query", "_evaluate_condition", "_index_members", "_index_item")
STRING = {"AttributeType": "S"}


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PATCHED:
        monkeypatch.setattr(dynamodb, name, getattr(dynamodb, name))
    OrderedIndexes().install()


@pytest.fixture(autouse=True)
def table() -> Iterator[None]:
    create = {
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": n} | STRING for n in ("pk", "sk", "group", "at")]
        + [{"AttributeName": "number", "AttributeType": "N"}],
        "KeySchema": keys("pk", "sk"),
        "GlobalSecondaryIndexes": [
            index("by_time", "group", "at"),
            index("by_sort_key", "group", "sk"),
            index("by_number", "group", "number"),
        ],
    }
    call(dynamodb._create_table, create)
    yield
    call(dynamodb._delete_table, {"TableName": TABLE})


def keys(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


def index(name: str, partition: str, sort: str) -> dict[str, Any]:
    return {
        "IndexName": name,
        "KeySchema": keys(partition, sort),
        "Projection": {"ProjectionType": "ALL"},
    }


def call(action: Any, data: dict[str, Any]) -> Any:
    status, _, body = action(data)
    assert status == 200, body
    return json.loads(body)


def put(pk: str, sk: str, group: str, at: str, number: int = 0) -> None:
    texts = {"pk": pk, "sk": sk, "group": group, "at": at}
    item = {name: {"S": text} for name, text in texts.items()} | {"number": {"N": str(number)}}
    call(dynamodb._put_item, {"TableName": TABLE, "Item": item})


def delete(pk: str, sk: str) -> None:
    call(dynamodb._delete_item, {"TableName": TABLE, "Key": {"pk": {"S": pk}, "sk": {"S": sk}}})


def query_request(index_name: str, sort: str, bounds: tuple[str, str] | None, **more: Any) -> Any:
    condition, values = "#group = :group", {":group": {"S": "a"}}
    names = {"#group": "group"}
    if bounds:
        condition += " AND #sort BETWEEN :low AND :high"
        names["#sort"] = sort
        values |= {":low": {"S": bounds[0]}, ":high": {"S": bounds[1]}}
    return {
        "TableName": TABLE,
        "IndexName": index_name,
        "KeyConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    } | more


def pages(query: Any, request: dict[str, Any]) -> list[Any]:
    """Return all pages of a query, following each page's key to the next."""
    results, start = [], None
    while True:
        page = call(query, request | ({"ExclusiveStartKey": start} if start else {}))
        results.append(page)
        start = page.get("LastEvaluatedKey")
        if start is None:
            return results


@pytest.fixture
def own_query(monkeypatch: pytest.MonkeyPatch) -> Any:
    """MiniStack's original query, without the ordered partitions."""
    ordered = dynamodb._query

    def query(data: dict[str, Any]) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(dynamodb, "_index_members", lambda table: {})
            return ordered.__self__._query(data)

    return query


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize("limit", [None, 1, 7, 1000])
@pytest.mark.parametrize(("index_name", "sort"), [("by_time", "at"), ("by_sort_key", "sk")])
def test_queries_of_an_index_return_the_same_pages_as_ministack(
    own_query: Any, index_name: str, sort: str, limit: int | None, newest_first: bool
) -> None:
    rng = random.Random(7)
    for step in range(120):
        pk, sk = f"p{rng.randrange(12)}", f"s{rng.randrange(6)}"
        if step % 5 == 4:
            delete(pk, sk)
        else:
            put(pk, sk, rng.choice("aab"), f"t{rng.randrange(9)}")
        if step % 20 != 19:
            continue
        for bounds in (None, ("t2", "t6"), ("s1", "s3"), ("", "z"), ("t4", "t4")):
            request = query_request(index_name, sort, bounds, ScanIndexForward=not newest_first)
            request |= {"Limit": limit} if limit else {}
            if bounds != ("", "z"):
                assert pages(dynamodb._query, request) == pages(own_query, request)


def of_table(bounds: tuple[str, str] | None, **more: Any) -> Any:
    """Return a query of a partition of the table instead of an index."""
    request = query_request("", "sk", bounds, **more)
    del request["IndexName"]
    request["ExpressionAttributeNames"]["#group"] = "pk"
    request["ExpressionAttributeValues"][":group"] = {"S": "p1"}
    return request


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize("limit", [None, 1, 7, 1000])
def test_queries_of_a_table_return_the_same_pages_as_ministack(
    own_query: Any, limit: int | None, newest_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordered_indexes, "_SMALL", 10)
    rng = random.Random(9)
    for step in range(240):
        pk, sk = f"p{rng.randrange(2)}", f"s{rng.randrange(40):02d}"
        if step % 4 == 3:
            delete(pk, sk)
        else:
            put(pk, sk, "a", "t")
        if step % 20 != 19:
            continue
        for bounds in (None, ("s05", "s25"), ("s07", "s07"), ("x", "z")):
            request = of_table(bounds, ScanIndexForward=not newest_first)
            request |= {"Limit": limit} if limit else {}
            assert pages(dynamodb._query, request) == pages(own_query, request)
    for sk in range(40):
        delete("p1", f"s{sk:02d}")
    put("p1", "s1", "a", "t")
    assert pages(dynamodb._query, of_table(None)) == pages(own_query, of_table(None))


def test_counts_and_pages_of_a_megabyte_equal_those_of_ministack(own_query: Any) -> None:
    for number in range(700):
        put(f"p{number}", "s", "a", f"t{number % 50:02d}" + "x" * 900)
        put(f"q{number}", "s" * 1000, "a", f"t{number % 50:02d}" + "y" * 900)
    request = query_request("by_time", "at", ("t10", "t40"), Select="COUNT")
    assert pages(dynamodb._query, request) == pages(own_query, request)
    all_items = query_request("by_time", "at", None)
    result_pages = pages(dynamodb._query, all_items)
    assert result_pages == pages(own_query, all_items)
    assert len(result_pages) > 1


def test_other_queries_are_left_to_ministack(own_query: Any) -> None:
    for number in range(20):
        put(f"p{number}", "s", "a", f"t{number:02d}", number)
    by_number = query_request("by_number", "number", None)
    later = query_request("by_time", "at", None)
    later["KeyConditionExpression"] += " AND #at > :at"
    later["ExpressionAttributeNames"]["#at"] = "at"
    later["ExpressionAttributeValues"][":at"] = {"S": "t15"}
    for request in (by_number, later):
        result_pages = pages(dynamodb._query, request)
        assert result_pages == pages(own_query, request)
        assert result_pages[0]["Count"] > 0


def test_a_start_key_outside_the_range_is_refused_as_by_ministack() -> None:
    put("p", "s", "a", "t5")
    start = {"pk": "p", "sk": "s", "group": "a", "at": "t9"}
    request = query_request("by_time", "at", ("t0", "t6"))
    request["ExclusiveStartKey"] = {name: {"S": text} for name, text in start.items()}
    status, _, body = dynamodb._query(request)
    assert status == 400
    assert b"range key predicate" in (body if isinstance(body, bytes) else body.encode())


@pytest.mark.parametrize("of", ["index", "table"])
def test_a_page_costs_the_same_however_large_its_partition_is(of: str) -> None:
    def seconds() -> float:
        request = query_request("by_time", "at", ("t", "u"), Limit=10, ScanIndexForward=False)
        if of == "table":
            request = of_table(("s", "t"), Limit=10, ScanIndexForward=False)
        best = 1.0
        for _ in range(5):
            began = time.thread_time()
            assert call(dynamodb._query, request)["Count"] == 10
            best = min(best, time.thread_time() - began)
        return best

    for number in range(100):
        put("p1", f"s{number:06d}", "a", f"t{number:06d}")
    small = seconds()
    for number in range(100, 6000):
        put("p1", f"s{number:06d}", "a", f"t{number:06d}")
    assert seconds() < small * 8, "reading all of it would take sixty times as long"
