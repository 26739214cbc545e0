"""Compare writes of items with those of moto, and with those of MiniStack's own handlers.

Compared is what they leave, what they return, and how they are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws

from tests.unit.infrastructure.local.cloud.in_process import (
    Answer,
    InProcessCloud,
    as_text,
    in_process_cloud,
    moto_answer,
    normalized,
)

TABLES = ("One", "Two")


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessCloud]:
    with mock_aws(), in_process_cloud(tmp_path_factory.mktemp("writes") / "cloud") as cloud:
        yield cloud


def create(ask: Any, table: str) -> None:
    index = {"IndexName": "by_color", "Projection": {"ProjectionType": "ALL"}}
    status, answer = ask(
        "CreateTable",
        {
            "TableName": table,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "N"},
                {"AttributeName": "color", "AttributeType": "S"},
            ],
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "GlobalSecondaryIndexes": [
                index | {"KeySchema": [{"AttributeName": "color", "KeyType": "HASH"}]}
            ],
        },
    )
    assert status == 200, answer


KEYS = st.builds(
    lambda pk, sk: {"pk": {"S": pk}, "sk": {"N": sk}},
    st.sampled_from(["a", "\U0001f600"]),
    st.sampled_from(["1", "-2.5"]),
)
COLORS = st.sampled_from(["red", "grün", ""]).map(lambda text: {"S": text})
COUNTS = st.integers(-3, 3).map(lambda number: {"N": str(number)})
LISTS = st.lists(COUNTS | COLORS, max_size=3).map(lambda each: {"L": each})
SETS = st.sets(st.sampled_from("xyz"), min_size=1).map(lambda each: {"SS": sorted(each)})
MAPS = st.dictionaries(st.sampled_from("ab"), COUNTS, max_size=2).map(lambda each: {"M": each})
# A secondary index refuses an empty text
GOOD_COLORS = COLORS.filter(lambda each: each["S"])
ITEMS = st.builds(
    lambda key, rest: key | rest,
    KEYS,
    st.fixed_dictionaries(
        {},
        optional={"color": GOOD_COLORS, "amount": COUNTS, "lines": LISTS, "tags": SETS}
        | {"inner": MAPS, "note": COLORS},
    ),
)
NAMES = {"#c": "color", "#n": "amount", "#l": "lines", "#t": "tags", "#m": "inner"}
CONDITIONS = st.sampled_from(
    [
        "attribute_exists(pk)",
        "attribute_not_exists(pk)",
        "#n = :n",
        "#n > :n OR attribute_not_exists(#n)",
        "NOT #n <= :n AND #c <> :c",
        "#n BETWEEN :low AND :n",
        "#c IN (:c, :d)",
        "contains(#t, :tag)",
        "begins_with(#c, :c)",
        "#m.a = :n",
        "attribute_type(#n, :type)",
    ]
)
UPDATES = st.sampled_from(
    [
        "SET #n = :n",
        "SET #c = :c, #n = if_not_exists(#n, :low) + :n",
        "SET #n = #n - :n",
        "SET #l = list_append(if_not_exists(#l, :none), :list)",
        "SET #m.a = :n",
        "SET #l[0] = :c",
        "ADD #n :n, #t :tags",
        "DELETE #t :tags",
        "REMOVE #c, #n",
        "SET #c = :c REMOVE #t ADD #n :n",
    ]
)
VALUES = st.fixed_dictionaries(
    {
        ":n": COUNTS,
        ":low": st.just({"N": "-3"}),
        ":c": GOOD_COLORS,
        ":d": st.just({"S": "blue"}),
        ":tag": st.just({"S": "x"}),
        ":tags": SETS,
        ":type": st.just({"S": "N"}),
        ":list": LISTS,
        ":none": st.just({"L": []}),
    }
)
TABLE_NAMES = st.sampled_from(TABLES)


def completed(request: Any, values: Any) -> Any:
    """Add the names and the values that the expressions of a request refer to."""
    text = " ".join(each for name, each in request.items() if name.endswith("Expression"))
    words = "".join(each if each.isalnum() or each in "#:" else " " for each in text).split()
    names = {name: each for name, each in NAMES.items() if name in words}
    used = {name: each for name, each in values.items() if name in words}
    request |= {"ExpressionAttributeNames": names} if names else {}
    return request | ({"ExpressionAttributeValues": used} if used else {})


@st.composite
def actions(draw: Any, kinds: tuple[str, ...]) -> tuple[str, Any]:
    """Return the kind of a write and its request."""
    kind = draw(st.sampled_from(kinds))
    request: Any = {"TableName": draw(TABLE_NAMES)}
    request |= {"Item": draw(ITEMS)} if kind == "Put" else {"Key": draw(KEYS)}
    if kind == "ConditionCheck" or draw(st.booleans()):
        request["ConditionExpression"] = draw(CONDITIONS)
    if kind == "Update":
        request["UpdateExpression"] = draw(UPDATES)
    return kind, completed(request, draw(VALUES))


RETURNS = {
    "Put": ["NONE", "ALL_OLD"],
    "Delete": ["NONE", "ALL_OLD"],
    "Update": ["NONE", "ALL_OLD", "ALL_NEW"],
}


@st.composite
def single_writes(draw: Any) -> tuple[str, Any]:
    kind, request = draw(actions(("Put", "Update", "Delete")))
    if draw(st.booleans()):
        request["ReturnValues"] = draw(st.sampled_from(RETURNS[kind]))
    return f"{kind}Item", request


@st.composite
def batches(draw: Any) -> tuple[str, Any]:
    """Return a batch without a key twice: moto compares keys of different tables, and no puts."""
    tables: dict[str, Any] = {}
    for item in draw(
        st.lists(ITEMS, min_size=1, max_size=5, unique_by=lambda item: str(key(item)))
    ):
        put, delete = {"PutRequest": {"Item": item}}, {"DeleteRequest": {"Key": key(item)}}
        tables.setdefault(draw(TABLE_NAMES), []).append(draw(st.sampled_from([put, delete])))
    return "BatchWriteItem", {"RequestItems": tables}


def key(item: Any) -> Any:
    return {name: item[name] for name in ("pk", "sk")}


@st.composite
def transactions(draw: Any) -> tuple[str, Any]:
    kinds = ("Put", "Update", "Delete", "ConditionCheck")
    each = draw(st.lists(actions(kinds), min_size=1, max_size=4))
    return "TransactWriteItems", {"TransactItems": [{kind: request} for kind, request in each]}


def outcome(answer: Answer) -> Any:
    """Return what an answer has in common with moto's: messages differ."""
    status, body = answer
    if status == 200:
        return normalized(body.get("Attributes") or {})
    reasons = [each["Code"] for each in body.get("CancellationReasons", [])]
    code = body["__type"].rpartition("#")[2]
    # moto refuses a whole transaction for an update that cannot be made
    if "ValidationError" in reasons or code == "ValidationException":
        return status, "ValidationException"
    return status, code, reasons


def contents(ask: Any, table: str) -> list[str]:
    """Return the items of a table, and those of its index."""
    items = ask("Scan", {"TableName": table})[1]["Items"]
    for color in ("red", "grün"):
        request = {"TableName": table, "IndexName": "by_color"}
        request["KeyConditionExpression"] = "color = :c"
        request["ExpressionAttributeValues"] = {":c": {"S": color}}
        items += ask("Query", request)[1]["Items"]
    return sorted(map(as_text, items))


@contextmanager
def tables(*asks: Any) -> Iterator[None]:
    """Have empty tables in these clouds."""
    for ask in asks:
        for table in TABLES:
            create(ask, table)
    try:
        yield
    finally:
        for ask in asks:
            for table in TABLES:
                ask("DeleteTable", {"TableName": table})


WRITES = st.lists(single_writes() | batches() | transactions(), min_size=3, max_size=12)


@settings(max_examples=60)
@given(WRITES)
def test_writes_leave_and_return_what_those_of_moto_do(
    cloud: InProcessCloud, writes: list[tuple[str, Any]]
) -> None:
    with tables(cloud.answer, moto_answer):
        for action, request in writes:
            answer, expected = cloud.answer(action, request), moto_answer(action, request)
            assert outcome(answer) == outcome(expected), (action, request, answer, expected)
            for table in TABLES:
                assert contents(cloud.answer, table) == contents(moto_answer, table), request


def results(cloud: InProcessCloud, ask: Any, writes: list[tuple[str, Any]]) -> list[Any]:
    with tables(cloud.answer):
        return [
            (write, normalized(ask(*write)), *(contents(cloud.answer, table) for table in TABLES))
            for write in writes
        ]


@settings(max_examples=60)
@given(WRITES)
def test_writes_leave_and_return_what_those_of_ministack_do(
    cloud: InProcessCloud, writes: list[tuple[str, Any]]
) -> None:
    expected = results(cloud, cloud.answer_of_ministack, writes)
    assert results(cloud, cloud.answer, writes) == expected


KEY = {"pk": {"S": "a"}, "sk": {"N": "1"}}


def put(**attributes: Any) -> tuple[str, Any]:
    return "PutItem", {"TableName": "One", "Item": KEY | attributes}


def update(expression: str, **others: Any) -> tuple[str, Any]:
    return "UpdateItem", {"TableName": "One", "Key": KEY, "UpdateExpression": expression} | others


def transact(*requests: tuple[str, Any]) -> tuple[str, Any]:
    each = [{action.removesuffix("Item"): request} for action, request in requests]
    return "TransactWriteItems", {"TransactItems": each}


def batch(*requests: Any) -> tuple[str, Any]:
    return "BatchWriteItem", {"RequestItems": {"One": list(requests)}}


def nested(depth: int) -> Any:
    value: Any = {"S": "a"}
    for _ in range(depth):
        value = {"L": [value]}
    return value


UNUSUAL = [
    put(pk={"N": "1"}),
    put(pk={"S": ""}),
    put(sk={"S": "1"}),
    put(sk={"N": "one"}),
    put(sk={"N": "1.0E+0"}),
    put(sk={"N": "1" * 39}),
    put(pk={"S": "p" * 2_048}),
    put(pk={"S": "p" * 2_049}),
    put(pk={"S": "\U0001f600" * 512}),
    put(pk={"S": "\U0001f600" * 513}),
    put(color={"S": ""}),
    put(color={"N": "1"}),
    put(amount={"N": "1E2"}),
    put(amount={"N": "007"}),
    put(amount={"N": "-0"}),
    put(amount={"N": "1E126"}),
    put(amount={"N": ""}),
    put(amount={"NUMBER": "1"}),
    put(amount={}),
    put(amount={"S": "a", "N": "1"}),
    put(tags={"SS": []}),
    put(tags={"SS": ["x", "x"]}),
    put(tags={"NS": ["1", "1.0"]}),
    put(tags={"BS": ["YQ==", "YQ=="]}),
    put(raw={"B": "no base64"}),
    put(flag={"BOOL": "true"}),
    put(flag={"NULL": False}),
    put(lines=nested(31)),
    put(lines=nested(33)),
    put(text={"S": "x" * 409_590}),
    put(text={"S": "x" * 409_500}),
    ("PutItem", {"TableName": "One", "Item": {"pk": {"S": "a"}}}),
    ("PutItem", {"TableName": "Missing", "Item": KEY}),
    ("PutItem", {"TableName": "One", "Item": KEY, "ReturnValues": "ALL_NEW"}),
    ("PutItem", {"TableName": "One", "Item": KEY, "Expected": {"pk": {"Exists": False}}}),
    ("PutItem", {"TableName": "One", "Item": KEY, "ConditionExpression": ""}),
    ("PutItem", {"TableName": "One", "Item": KEY, "ConditionExpression": "pk ="}),
    ("PutItem", {"TableName": "One", "Item": KEY, "ConditionExpression": "size = pk"}),
    ("PutItem", {"TableName": "One", "Item": KEY, "ConditionExpression": "#x = pk"}),
    ("DeleteItem", {"TableName": "One", "Key": KEY | {"color": {"S": "red"}}}),
    ("DeleteItem", {"TableName": "One", "Key": {"pk": {"S": "a"}}}),
    ("GetItem", {"TableName": "One", "Key": KEY, "ProjectionExpression": "pk"}),
    ("GetItem", {"TableName": "One", "Key": KEY, "ReturnConsumedCapacity": "TOTAL"}),
    ("BatchGetItem", {"RequestItems": {"One": {"Keys": [KEY, KEY]}}}),
    update("SET amount = :n"),
    update("SET amount = :n", ExpressionAttributeValues={":n": {"N": "1"}, ":m": {"N": "1"}}),
    update("SET sk = :n", ExpressionAttributeValues={":n": {"N": "1"}}),
    update("SET color = :n", ExpressionAttributeValues={":n": {"N": "1"}}),
    update("ADD color :n", ExpressionAttributeValues={":n": {"N": "1"}}),
    update("SET amount = amount + :n", ExpressionAttributeValues={":n": {"N": "1"}}),
    update("WRITE amount"),
    update(""),
    batch(),
    batch({"PutRequest": {"Item": KEY}}, {"DeleteRequest": {"Key": KEY}}),
    batch(*({"DeleteRequest": {"Key": KEY | {"sk": {"N": str(n)}}}} for n in range(26))),
    batch({"PutRequest": {"Item": KEY}}, {"PutRequest": {"Item": {"pk": {"S": "b"}}}}),
    transact(),
    transact(put(), put()),
    transact(put(), put(sk={"N": "1.0"})),
    transact(
        put(),
        (
            "ConditionCheck",
            {"TableName": "One", "Key": KEY, "ConditionExpression": "attribute_exists(pk)"},
        ),
    ),
    transact(put(sk={"N": "2"}), put(color={"S": ""})),
    transact(put(sk={"N": "2"}), update("ADD #n :n")),
]


@pytest.mark.parametrize("number", range(len(UNUSUAL)))
def test_unusual_requests_are_answered_as_by_ministack(cloud: InProcessCloud, number: int) -> None:
    writes = [put(color={"S": "red"}), UNUSUAL[number]]
    expected = results(cloud, cloud.answer_of_ministack, writes)
    assert results(cloud, cloud.answer, writes) == expected


def test_a_transaction_is_made_once_for_its_token(cloud: InProcessCloud) -> None:
    add = update("ADD amount :n", ExpressionAttributeValues={":n": {"N": "1"}})
    request = transact(add)[1] | {"ClientRequestToken": "token"}
    with tables(cloud.answer):
        for ask in (cloud.answer, cloud.answer, cloud.answer_of_ministack):
            assert ask("TransactWriteItems", request) == (200, {})
        other = transact(put())[1] | {"ClientRequestToken": "token"}
        for ask in (cloud.answer, cloud.answer_of_ministack):
            status, answer = ask("TransactWriteItems", other)
            assert status == 400
            assert answer["__type"].endswith("#IdempotentParameterMismatchException")
        status, answer = cloud.answer("GetItem", {"TableName": "One", "Key": KEY})
        assert answer["Item"] == KEY | {"amount": {"N": "1"}}
        again = transact(add)[1] | {"ClientRequestToken": "another"}
        assert cloud.answer_of_ministack("TransactWriteItems", again)[0] == 200
        assert cloud.answer("TransactWriteItems", again)[0] == 200
        status, answer = cloud.answer("GetItem", {"TableName": "One", "Key": KEY})
        assert answer["Item"] == KEY | {"amount": {"N": "2"}}


def test_a_transaction_that_fails_may_be_repeated_with_its_token(cloud: InProcessCloud) -> None:
    exists = {"ConditionExpression": "attribute_exists(pk)"}
    check = {"ConditionCheck": {"TableName": "Two", "Key": KEY} | exists}
    request = {"TransactItems": [{"Put": put()[1]}, check], "ClientRequestToken": "third"}
    with tables(cloud.answer):
        status, answer = cloud.answer("TransactWriteItems", request)
        assert (status, answer["__type"]) == (400, "TransactionCanceledException")
        assert contents(cloud.answer, "One") == []
        cloud.answer("PutItem", {"TableName": "Two", "Item": KEY})
        assert cloud.answer("TransactWriteItems", request) == (200, {})
        assert len(contents(cloud.answer, "One")) == 1
