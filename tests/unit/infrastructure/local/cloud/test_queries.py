"""Compare queries of the local cloud with those of moto, and with MiniStack's own handler."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from decimal import Decimal
from itertools import groupby
from typing import Any, NamedTuple

import pytest
from boto3.dynamodb.conditions import Attr, ConditionExpressionBuilder, Key
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws

from tests.unit.infrastructure.local.cloud.in_process import (
    InProcessCloud,
    as_text,
    in_process_cloud,
    moto_answer,
    normalized,
)

TABLE = "Table"
KINDS = ("S", "N", "B")
PROJECTIONS: tuple[Any, ...] = (
    {"ProjectionType": "ALL"},
    {"ProjectionType": "KEYS_ONLY"},
    {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["color", "amount"]},
)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessCloud]:
    with mock_aws(), in_process_cloud(tmp_path_factory.mktemp("queries") / "cloud") as cloud:
        yield cloud


# Few characters make texts that begin alike; half of them are outside the BMP or next to it
TEXTS = st.text(alphabet="abü\uffff\U0001f600", min_size=1, max_size=3) | st.text(min_size=1)
NUMBERS = st.one_of(
    st.integers(-9, 9).map(Decimal),
    st.integers(-99, 99).map(lambda number: Decimal(number) / 8),
    st.integers(10**37, 10**38 - 1).map(Decimal),
    st.integers(-(10**36), 10**36).map(lambda number: Decimal(number).scaleb(-17)),
)
BYTES = st.lists(st.sampled_from([0, 97, 0x7F, 0xFF]), min_size=1, max_size=3).map(bytes)


def plain(number: Decimal) -> str:
    """Return a number as DynamoDB returns it."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


S = st.builds(lambda text: {"S": text}, TEXTS)
N = st.builds(lambda number: {"N": plain(number)}, NUMBERS)
B = st.builds(lambda content: {"B": b64encode(content).decode()}, BYTES)
VALUES = {"S": S, "N": N, "B": B}
# Many items have the same key of an index
FEW = {"S": {"S": "a"}, "N": {"N": "-5"}, "B": {"B": "YQ=="}}
PARTITIONS = st.sampled_from(["a", "\U0001f600"]).map(lambda text: {"S": text})
ATTRIBUTES: Any = st.recursive(
    st.one_of(S, N, B, st.just({"NULL": True}), st.booleans().map(lambda flag: {"BOOL": flag})),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: {"L": each}),
        st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2).map(
            lambda each: {"M": each}
        ),
        st.sets(TEXTS, min_size=1, max_size=3).map(lambda each: {"SS": sorted(each)}),
        st.sets(NUMBERS, min_size=1, max_size=3).map(lambda each: {"NS": sorted(map(plain, each))}),
    ),
    max_leaves=4,
)


class Schema(NamedTuple):
    """The kinds of the sort keys of a table, its GSI and its LSI, where they have one."""

    sort: str
    of_global: str
    of_local: str
    projection: Any

    @property
    def keys(self) -> dict[str, tuple[str, str]]:
        """The names of the partition key and the sort key by the index's name."""
        keys = {"": ("pk", "sk" if self.sort else "")}
        keys["global"] = ("team", "due" if self.of_global else "")
        return keys | ({"local": ("pk", "grade")} if self.of_local else {})

    def kind(self, name: str) -> str:
        return {"sk": self.sort, "due": self.of_global, "grade": self.of_local}.get(name, "S")

    def creation(self) -> Any:
        names = {name for pair in self.keys.values() for name in pair if name}
        request: Any = {
            "TableName": TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": self.kind(name)} for name in sorted(names)
            ],
            "KeySchema": key_schema(self.keys[""]),
        }
        for name, kind in (
            ("global", "GlobalSecondaryIndexes"),
            ("local", "LocalSecondaryIndexes"),
        ):
            if name in self.keys:
                schema = key_schema(self.keys[name])
                request[kind] = [
                    {"IndexName": name, "KeySchema": schema, "Projection": self.projection}
                ]
        return request


def key_schema(names: tuple[str, str]) -> Any:
    pairs = zip(names, ("HASH", "RANGE"), strict=True)
    return [{"AttributeName": name, "KeyType": kind} for name, kind in pairs if name]


@st.composite
def schemas(draw: Any) -> Schema:
    sort = draw(st.sampled_from(["", *KINDS]))
    of_local = draw(st.sampled_from(["", *KINDS])) if sort else ""
    of_global = draw(st.sampled_from(["", *KINDS]))
    return Schema(sort, of_global, of_local, draw(st.sampled_from(PROJECTIONS)))


def items(schema: Schema) -> Any:
    """Return a strategy for items: all have the table's keys, some those of the indexes."""
    keys: dict[str, Any] = {"pk": PARTITIONS} | ({"sk": VALUES[schema.sort]} if schema.sort else {})
    others: dict[str, Any] = {"team": PARTITIONS, "color": S, "amount": N, "other": ATTRIBUTES}
    for name, kind in (("due", schema.of_global), ("grade", schema.of_local)):
        others |= {name: st.just(FEW[kind]) | VALUES[kind]} if kind else {}
    return st.lists(st.fixed_dictionaries(keys, optional=others), max_size=12)


OPERATORS = ("eq", "lt", "lte", "gt", "gte", "between", "begins_with")
SIGNS = {"eq": "=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}


class Query(NamedTuple):
    """A query, which may be written in several forms."""

    index: str
    partition: Any
    operator: str
    bounds: list[Any]
    others: dict[str, Any]

    def condition(self, names: tuple[str, str]) -> str:
        """Return the condition on the sort key in its plain form."""
        match self.operator:
            case "between":
                return f"{names[1]} BETWEEN :low AND :high"
            case "begins_with":
                return f"begins_with({names[1]}, :low)"
        return f"{names[1]} {SIGNS[self.operator]} :low"

    def plain(self, schema: Schema) -> Any:
        """Return the request in its plain form."""
        return self._request("{} AND {}", schema.keys[self.index], {})

    def in_form(self, form: str, schema: Schema) -> Any:
        """Return the request in another form."""
        names = schema.keys[self.index]
        if form == "boto3":
            return self._of_boto3(names)
        if form == "aliased":
            aliases = {f"#{number}": name for number, name in enumerate(names) if name}
            return self._request("{} AND {}", ("#0", "#1"), aliases)
        return self._request(form, names, {})

    def _request(self, form: str, names: tuple[str, str], aliases: Any) -> Any:
        condition = f"{names[0]} = :partition"
        if self.operator:
            condition = form.format(condition, self.condition(names))
        else:
            aliases = {name: each for name, each in aliases.items() if name != "#1"}
        values = {":partition": self.partition}
        values |= dict(zip((":low", ":high"), self.bounds, strict=False))
        return self._completed(condition, aliases, values)

    def _of_boto3(self, names: tuple[str, str]) -> Any:
        condition: Any = Key(names[0]).eq(self.partition)
        if self.operator:
            condition &= getattr(Key(names[1]), self.operator)(*self.bounds)
        built = ConditionExpressionBuilder().build_expression(condition, is_key_condition=True)
        return self._completed(
            built.condition_expression,
            built.attribute_name_placeholders,
            built.attribute_value_placeholders,
        )

    def _completed(self, condition: str, names: Any, values: Any) -> Any:
        request = {"TableName": TABLE, "KeyConditionExpression": condition, **self.others}
        request |= {"IndexName": self.index} if self.index else {}
        names = names | request.get("ExpressionAttributeNames", {})
        request |= {"ExpressionAttributeNames": names} if names else {}
        values = values | request.get("ExpressionAttributeValues", {})
        return request | {"ExpressionAttributeValues": values}


FORMS = (
    *("{} AND {}", "{1} and {0}", "({} AND {})", "({}) AND ({})", "(({0}) AND {1})"),
    *(" {1}  AND({0}) ", "aliased", "boto3"),
)


def filters() -> Any:
    """Return a strategy for filters on what every projection but that of the keys has."""
    color, amount = Attr("color"), Attr("amount")
    simple = st.one_of(
        S.map(color.lt),
        S.map(color.contains),
        S.map(color.begins_with),
        N.map(amount.gte),
        N.map(amount.ne),
        st.just(color.exists()),
        st.just(amount.not_exists()),
        st.tuples(N, N).map(amount.is_in),
    )
    pairs = st.tuples(simple, simple)
    return st.one_of(
        simple, pairs.map(lambda two: two[0] | ~two[1]), pairs.map(lambda two: two[0] & two[1])
    )


def filter_parameters(condition: Any) -> Any:
    builder = ConditionExpressionBuilder()
    builder._name_placeholder, builder._value_placeholder = "f", "f"
    built = builder.build_expression(condition)
    return {
        "FilterExpression": built.condition_expression,
        "ExpressionAttributeNames": built.attribute_name_placeholders,
        "ExpressionAttributeValues": built.attribute_value_placeholders,
    }


@st.composite
def queries(draw: Any, schema: Schema, existing: list[Any]) -> Query:
    index = draw(st.sampled_from(sorted(schema.keys)))
    name, sort = schema.keys[index]
    # Mostly a partition that has something, and bounds that are there
    partitions = [item[name] for item in existing if name in item and (not sort or sort in item)]
    partition = draw(st.sampled_from(partitions) if partitions else PARTITIONS)
    operator, bounds = "", []
    if sort:
        kind = schema.kind(sort)
        usable = [each for each in OPERATORS if kind != "N" or each != "begins_with"]
        operator = draw(st.sampled_from(["", *usable]))
        values = [item[sort] for item in existing if sort in item and item.get(name) == partition]
        value = st.one_of(st.sampled_from(values), VALUES[kind]) if values else VALUES[kind]
        bounds = [draw(value) for _ in range({"": 0, "between": 2}.get(operator, 1))]
        bounds.sort(key=comparable)
    others: dict[str, Any] = {}
    if draw(st.booleans()):
        others["ScanIndexForward"] = draw(st.booleans())
    if draw(st.integers(0, 3)) == 0 and (not index or schema.projection is not PROJECTIONS[1]):
        others |= filter_parameters(draw(filters()))
    shape = draw(st.sampled_from(["", "", "count", "projection"]))
    if shape == "count":
        others["Select"] = "COUNT"
    elif shape == "projection":
        others["ProjectionExpression"] = (
            "pk, color" if schema.projection is PROJECTIONS[0] else "pk"
        )
    return Query(index, partition, operator, bounds, others)


def comparable(value: Any) -> Any:
    ((kind, content),) = value.items()
    if kind == "N":
        return Decimal(content)
    return b64decode(content) if kind == "B" else content.encode()


def pages(cloud: InProcessCloud, request: Any, action: str = "Query") -> list[Any]:
    """Return all pages of a query or scan, following each page's key to the next."""
    result: list[Any] = []
    while not result or "LastEvaluatedKey" in result[-1]:
        start = {"ExclusiveStartKey": result[-1]["LastEvaluatedKey"]} if result else {}
        status, page = cloud.answer(action, request | start)
        assert status == 200, page
        result.append(page)
        assert len(result) < 50
    return result


def in_order(items: list[Any], sort: str) -> Any:
    """Return items in their order, and those with equal sort keys of an index in any."""
    groups = groupby(items, lambda item: as_text(item.get(sort)))
    return [(key, sorted(map(as_text, group))) for key, group in groups]


@contextmanager
def filled_table(cloud: InProcessCloud, data: Any) -> Iterator[tuple[Schema, list[Any]]]:
    """Have a table with some items in both clouds."""
    schema = data.draw(schemas())
    for ask in (cloud.answer, moto_answer):
        assert ask("CreateTable", schema.creation())[0] == 200
    try:
        existing = data.draw(items(schema))
        for item in existing:
            for ask in (cloud.answer, moto_answer):
                assert ask("PutItem", {"TableName": TABLE, "Item": item})[0] == 200
        yield schema, existing
    finally:
        for ask in (cloud.answer, moto_answer):
            assert ask("DeleteTable", {"TableName": TABLE})[0] == 200


@settings(max_examples=150)
@given(data=st.data())
def test_queries_answer_as_those_of_moto(cloud: InProcessCloud, data: Any) -> None:
    with filled_table(cloud, data) as (schema, existing):
        for query in data.draw(st.lists(queries(schema, existing), min_size=3, max_size=6)):
            limit = data.draw(st.none() | st.integers(1, 5))
            check(cloud, schema, query, limit, data.draw(st.sampled_from(FORMS)))


def check(cloud: InProcessCloud, schema: Schema, query: Query, limit: Any, form: str) -> None:
    status, expected = moto_answer("Query", query.plain(schema))
    assert status == 200, expected
    request = query.in_form(form, schema) | ({"Limit": limit} if limit else {})
    answers = pages(cloud, request)
    assert sum(page["Count"] for page in answers) == expected["Count"]
    assert sum(page["ScannedCount"] for page in answers) == expected["ScannedCount"]
    if limit:
        assert {page["ScannedCount"] for page in answers[:-1]} <= {limit}
    if "Select" in query.others:
        assert not any("Items" in page for page in answers)
        return
    returned = [item for page in answers for item in page["Items"]]
    # An index has items with equal sort keys; moto has them in the order in which they were put
    sort = schema.keys[query.index][1] if query.index else ""
    if "ProjectionExpression" in query.others:
        sort = ""
    assert in_order(returned, sort) == in_order(expected["Items"], sort)


@settings(max_examples=50)
@given(data=st.data())
def test_scans_read_each_item_once_as_those_of_ministack(cloud: InProcessCloud, data: Any) -> None:
    with filled_table(cloud, data) as (_, _existing):
        projection = data.draw(st.sampled_from([{}, {"ProjectionExpression": "pk, color"}]))
        request = {"TableName": TABLE, **projection}
        status, expected = cloud.answer_of_ministack("Scan", request)
        assert status == 200, expected
        limit = data.draw(st.none() | st.integers(1, 5))
        answers = pages(cloud, request | ({"Limit": limit} if limit else {}), "Scan")
        items = [item for page in answers for item in page["Items"]]
        assert sorted(map(as_text, items)) == sorted(map(as_text, expected["Items"]))
        assert sum(page["ScannedCount"] for page in answers) == len(items)


def other_kind(request: Any) -> None:
    values = request["ExpressionAttributeValues"]
    name = max(values)
    values[name] = {"N": "1"} if "S" in values[name] else {"S": "a"}


def other_kind_in_the_filter(request: Any) -> None:
    for name in request["ExpressionAttributeValues"]:
        if name.startswith(":f"):
            request["ExpressionAttributeValues"][name] = {"BOOL": True}


def unused_value(request: Any) -> None:
    request["ExpressionAttributeValues"][":unused"] = {"S": "a"}


def unused_name(request: Any) -> None:
    request["ExpressionAttributeNames"] = {"#unused": "color"}


def missing_value(request: Any) -> None:
    request["ExpressionAttributeValues"].popitem()


def filter_of_a_key(request: Any) -> None:
    request["FilterExpression"] = "pk = :partition"


def bounds_in_the_wrong_order(request: Any) -> None:
    values = request["ExpressionAttributeValues"]
    if ":high" in values:
        values[":low"], values[":high"] = values[":high"], values[":low"]


def change_start(request: Any, name: str, value: Any) -> None:
    request["ExclusiveStartKey"] = request.get("ExclusiveStartKey", {}) | {name: value}


FAULTS: tuple[Callable[[Any], Any], ...] = (
    other_kind,
    other_kind_in_the_filter,
    unused_value,
    unused_name,
    missing_value,
    filter_of_a_key,
    bounds_in_the_wrong_order,
    lambda request: request.pop("ExpressionAttributeValues"),
    lambda request: request.update(IndexName="missing"),
    lambda request: request.update(TableName="missing"),
    lambda request: request.update(ConsistentRead=True),
    lambda request: request.update(Limit=0),
    lambda request: request.update(Limit="1"),
    lambda request: request.update(Select="SOMETHING"),
    lambda request: request.update(Select="SPECIFIC_ATTRIBUTES"),
    lambda request: request.update(Select="ALL_PROJECTED_ATTRIBUTES"),
    lambda request: request.update(Select="ALL_ATTRIBUTES"),
    lambda request: request.update(ReturnConsumedCapacity="INDEXES"),
    lambda request: request.update(ReturnConsumedCapacity="SOME"),
    lambda request: request.update(ProjectionExpression="pk, pk"),
    lambda request: request.update(ProjectionExpression="color.inner, amount[0]"),
    lambda request: request.update(ProjectionExpression=""),
    lambda request: request.update(FilterExpression=""),
    lambda request: request.update(FilterExpression="color ="),
    lambda request: request.update(AttributesToGet=["pk"]),
    lambda request: request.update(KeyConditionExpression="pk > :partition"),
    lambda request: request.update(KeyConditionExpression="pk = :partition AND pk = :partition"),
    lambda request: request.update(KeyConditionExpression="pk = :partition OR sk = :low"),
    lambda request: request.update(KeyConditionExpression="pk = :partition AND color = :low"),
    lambda request: request.update(KeyConditionExpression="((pk = :partition)"),
    lambda request: request.update(KeyConditionExpression="pk = :partition)"),
    lambda request: change_start(request, "pk", {"S": "ü"}),
    lambda request: change_start(request, "pk", {"S": "missing"}),
    lambda request: change_start(request, "sk", {"S": "a"}),
    lambda request: change_start(request, "team", {"S": "ü"}),
    lambda request: change_start(request, "due", {"N": "5"}),
    lambda request: change_start(request, "other", {"N": "5"}),
)


@settings(max_examples=100)
@given(data=st.data())
def test_queries_of_every_kind_are_answered_or_refused_as_by_ministack(
    cloud: InProcessCloud, data: Any
) -> None:
    with filled_table(cloud, data) as (schema, existing):
        for query in data.draw(st.lists(queries(schema, existing), min_size=3, max_size=6)):
            request = deepcopy(query.in_form(data.draw(st.sampled_from(FORMS[:-2])), schema))
            request |= {"Limit": 1, "ReturnConsumedCapacity": "TOTAL"}
            status, page = cloud.answer("Query", request)
            assert status == 200
            if "LastEvaluatedKey" in page:
                request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
            data.draw(st.sampled_from(FAULTS))(request)
            status, answer = cloud.answer("Query", request)
            own_status, own_answer = cloud.answer_of_ministack("Query", request)
            assert status == own_status, (request, own_answer)
            assert answer.get("__type") == own_answer.get("__type")
            if not query.index:
                assert normalized(answer) == normalized(own_answer)


@pytest.mark.parametrize(
    "bound", ["sk > :low", "sk BETWEEN :low AND :high", "begins_with(sk, :low)"]
)
@pytest.mark.parametrize("start", ["a", "b", "d"])
def test_a_start_outside_the_range_is_refused(
    cloud: InProcessCloud, bound: str, start: str
) -> None:
    schema = Schema("S", "", "", PROJECTIONS[0])
    cloud.answer("CreateTable", schema.creation())
    values = {":pk": {"S": "p"}, ":low": {"S": "b"}, ":high": {"S": "c"}}
    if ":high" not in bound:
        del values[":high"]
    request = {
        "TableName": TABLE,
        "KeyConditionExpression": f"pk = :pk AND {bound}",
        "ExpressionAttributeValues": values,
        "ExclusiveStartKey": {"pk": {"S": "p"}, "sk": {"S": start}},
    }
    answer = cloud.answer("Query", request)
    assert answer == cloud.answer_of_ministack("Query", request)
    is_within = start == ("d" if ">" in bound else "b")
    assert answer[0] == (200 if is_within else 400)
    cloud.answer("DeleteTable", {"TableName": TABLE})
