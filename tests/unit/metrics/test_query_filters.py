from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.metrics.model import BY_FILTER_KEY
from chalicelib.metrics.query_filters import SCHEMA, parse
from chalicelib.metrics.schema_check import violations
from tests.unit.refusals import refusal

GOOD: list[Any] = [
    {"groupings": []},
    {"groupings": [{"AND": {"campaigns": {"eq": ["spring"]}}}]},
    {"groupings": [{"OR": {"domains": {"like": ["gma"], "notEq": ["x.test"]}}}]},
    {
        "groupings": [
            {"AND": {"campaigns": {"notLike": ["test"]}, "subaccounts": {"eq": ["0", "7"]}}},
            {"OR": {"campaigns": {"eq": ["a"]}}},
        ]
    },
    {"groupings": [{"AND": {key: {"eq": ["x"]} for key in BY_FILTER_KEY}}]},
]
BAD: list[tuple[Any, str, str]] = [
    ([], "type", ""),
    ({}, "required", ""),
    ({"groupings": {}}, "type", ".groupings"),
    ({"groupings": [], "limit": 1}, "additionalProperties", ""),
    ({"groupings": [{}]}, "minProperties", ".groupings[0]"),
    ({"groupings": ["AND"]}, "type", ".groupings[0]"),
    (
        {"groupings": [{"AND": {"domains": {"eq": ["x"]}}, "OR": {"domains": {"eq": ["x"]}}}]},
        "maxProperties",
        ".groupings[0]",
    ),
    ({"groupings": [{"NOT": {"domains": {"eq": ["x"]}}}]}, "additionalProperties", ".groupings[0]"),
    ({"groupings": [{"AND": {}}]}, "minProperties", ".groupings[0].AND"),
    (
        {"groupings": [{"AND": {"domain": {"eq": ["x"]}}}]},
        "additionalProperties",
        ".groupings[0].AND",
    ),
    ({"groupings": [{"AND": {"domains": {}}}]}, "minProperties", ".groupings[0].AND.domains"),
    ({"groupings": [{"AND": {"domains": ["x"]}}]}, "type", ".groupings[0].AND.domains"),
    (
        {"groupings": [{"AND": {"domains": {"is": ["x"]}}}]},
        "additionalProperties",
        ".groupings[0].AND.domains",
    ),
    ({"groupings": [{"AND": {"domains": {"eq": "x"}}}]}, "type", ".groupings[0].AND.domains.eq"),
    ({"groupings": [{"AND": {"domains": {"eq": []}}}]}, "minItems", ".groupings[0].AND.domains.eq"),
    (
        {"groupings": [{"AND": {"subaccounts": {"eq": [7]}}}]},
        "type",
        ".groupings[0].AND.subaccounts.eq[0]",
    ),
    (
        {"groupings": [{"AND": {"domains": {"like": ["gmail", "gm"]}}}]},
        "minLength",
        ".groupings[0].AND.domains.like[1]",
    ),
    (
        {"groupings": [{"AND": {"domains": {"notLike": ["gm"]}}}]},
        "minLength",
        ".groupings[0].AND.domains.notLike[0]",
    ),
]


def refused_filters(text: str) -> dict[str, Any]:
    error = refusal(parse, text)
    assert error.status == 400
    return error.body()


@pytest.mark.parametrize("data", GOOD, ids=json.dumps)
@pytest.mark.spec("4.11-r1")
@pytest.mark.spec("4.11-r5")
def test_valid_filters_are_read(data: Any) -> None:
    assert len(parse(json.dumps(data)).groups) == len(data["groupings"])
    assert violations(data, SCHEMA) == []


@pytest.mark.parametrize(("data", "keyword", "path"), BAD)
@pytest.mark.spec("4.11-r1")
@pytest.mark.spec("4.11-r3")
@pytest.mark.spec("4.11-r4")
@pytest.mark.spec("4.11-r7")
@pytest.mark.spec("8-t13")
def test_invalid_filters_are_refused_with_the_violation(data: Any, keyword: str, path: str) -> None:
    body = refused_filters(json.dumps(data))
    (errors,) = body["validationErrors"]
    assert (errors["keyword"], errors["dataPath"]) == (keyword, path)
    assert errors["message"]
    assert body["errors"][0]["validationErrors"] == body["validationErrors"]


@pytest.mark.spec("4.11-r7")
def test_every_violation_is_reported() -> None:
    data = {"groupings": [{"AND": {"domains": {"like": ["a", "b"]}}}, {}], "x": 1}
    assert len(refused_filters(json.dumps(data))["validationErrors"]) == 4


@pytest.mark.spec("4.11-r5")
def test_a_filter_key_may_occur_once_in_a_group() -> None:
    filters = '"domains":{"eq":["x"]},"domains":{"eq":["y"]}'
    body = refused_filters('{"groupings":[{"AND":{%s}}]}' % filters)  # noqa: UP031
    assert body["validationErrors"][0]["keyword"] == "uniqueKeys"


@pytest.mark.parametrize("text", ["{", "null", "7", '"x"', "[" * 100_000, "{\x00}"])
@pytest.mark.spec("4.11-r1")
def test_a_text_that_is_not_a_json_object_is_refused(text: str) -> None:
    assert refused_filters(text)["validationErrors"][0]["keyword"] == "type"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["groupings", "AND", "OR", "domains", "campaigns", "eq", "like", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(json_values | st.fixed_dictionaries({"groupings": st.lists(json_values, max_size=3)}))
def test_an_independent_validator_finds_the_same_violations(data: Any) -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    errors = jsonschema.Draft7Validator(SCHEMA).iter_errors(data)
    places = {"".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in e.path) for e in errors}
    assert {each.dataPath for each in violations(data, SCHEMA)} == places
