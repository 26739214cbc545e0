from __future__ import annotations

from typing import Any, Literal

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core.errors import ApiError, ServiceError
from chalicelib.core.fields import Body, boolean, integer


class Address(Body):
    email: str
    name: str | None = None


class Recipient(Body):
    address: str | Address
    tags: list[str] = pydantic.Field(default_factory=list)


class Example(Body):
    name: str = pydantic.Field(max_length=8, min_length=1)
    sender: Address = pydantic.Field(alias="from")
    recipients: list[Recipient] = pydantic.Field(default_factory=list, max_length=3)
    count: int | None = None
    rate: float = 0.0
    flag: bool = False
    mode: Literal["open", "closed"] = "open"
    data: dict[str, Any] = pydantic.Field(default_factory=dict)

    @pydantic.field_validator("data")
    @classmethod
    def _known(cls, data: dict[str, Any]) -> dict[str, Any]:
        if "bad" in data:
            raise ValueError("data.bad cannot be used")
        if "clash" in data:
            raise ApiError(409, "resource conflict", code="1602")
        return data


_GOOD: dict[str, Any] = {"name": "n", "from": {"email": "a@x.test"}}


def _errors(data: Any) -> list[tuple[str, str]]:
    with pytest.raises(ServiceError) as error_info:
        Example.parse(data)
    assert error_info.value.status == 422
    return [(error["code"], error["description"]) for error in error_info.value.errors]


def _with(**changes: Any) -> dict[str, Any]:
    return {**_GOOD, **changes}


def test_a_valid_body_becomes_its_model() -> None:
    parsed = Example.parse(_with(recipients=[{"address": "b@x.test"}], count=3, rate=1))
    assert (parsed.sender.email, parsed.count, parsed.rate) == ("a@x.test", 3, 1.0)
    assert parsed.recipients[0].address == "b@x.test"


@pytest.mark.spec("1-r5")
@pytest.mark.spec("1-r2")
def test_unexpected_fields_are_ignored_and_names_are_case_sensitive() -> None:
    assert Example.parse(_with(color="red", Count=5)).count is None


@pytest.mark.spec("7-t16")
def test_missing_fields_are_named_by_their_path() -> None:
    with pytest.raises(ServiceError) as error_info:
        Example.parse({"from": {}})
    assert error_info.value.errors == [
        {
            "message": "required field is missing",
            "description": f"{name} is a required field",
            "code": "1400",
        }
        for name in ("name", "from.email")
    ]


@pytest.mark.spec("7-t10")
@pytest.mark.parametrize(
    ("field", "value", "given_type", "needed"),
    [
        ("name", 1, "number", "'string'"),
        ("count", "1", "string", "'number'"),
        ("count", True, "boolean", "'number'"),
        ("count", 1.0, "number", "'integer'"),
        ("rate", "1", "string", "'number'"),
        ("flag", 1, "number", "'boolean'"),
        ("flag", "true", "string", "'boolean'"),
        ("recipients", {}, "object", "'array'"),
        ("data", [], "array", "'object'"),
        ("from", "a@x.test", "string", "'object'"),
    ],
)
def test_wrong_types_are_named_in_json_terms(
    field: str, value: Any, given_type: str, needed: str
) -> None:
    text = f"field '{field}' is of type '{given_type}', but needs to be of type {needed}"
    assert _errors(_with(**{field: value})) == [("1300", text)]


def test_null_counts_as_absent() -> None:
    names = ("recipients", "count", "rate", "flag", "mode", "data")
    assert (
        Example.parse(_with(**dict.fromkeys(names))).model_dump()
        == Example.parse(_GOOD).model_dump()
    )
    assert _errors(_with(name=None)) == [("1400", "name is a required field")]
    assert _errors(_with(**{"from": {"email": None}})) == [
        ("1400", "from.email is a required field")
    ]


def test_a_field_that_can_hold_null_tells_it_from_absence() -> None:
    assert Example.parse(_with(count=None)).is_null("count")
    assert not Example.parse(_GOOD).is_null("count")
    assert not Example.parse(_with(rate=None)).is_null("rate")


def test_a_null_in_an_array_is_no_field() -> None:
    text = "field 'recipients[0].tags[0]' is of type 'null', but needs to be of type 'string'"
    recipients = [{"address": "b@x.test", "tags": [None]}]
    assert _errors(_with(recipients=recipients)) == [("1300", text)]


@pytest.mark.parametrize("body", [[], "x", 1, None, True])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    ((code, text),) = _errors(body)
    assert code == "1300"
    assert text.startswith("the request body is of type")


def test_all_violations_are_listed_and_missing_fields_come_first() -> None:
    errors = _errors({"from": {"email": 1}, "count": "x", "recipients": [{}, {"address": "a"}]})
    assert errors == [
        ("1400", "name is a required field"),
        ("1400", "recipients[0].address is a required field"),
        ("1300", "field 'from.email' is of type 'number', but needs to be of type 'string'"),
        ("1300", "field 'count' is of type 'string', but needs to be of type 'number'"),
    ]


@pytest.mark.parametrize(
    ("address", "error"),
    [
        (
            1,
            (
                "1300",
                "field 'recipients[0].address' is of type 'number', but needs to be of type "
                "'string' or 'object'",
            ),
        ),
        ({}, ("1400", "recipients[0].address.email is a required field")),
        (
            {"email": []},
            (
                "1300",
                "field 'recipients[0].address.email' is of type 'array', but needs to be of type "
                "'string'",
            ),
        ),
    ],
)
def test_a_field_of_several_forms_gives_one_error(address: Any, error: tuple[str, str]) -> None:
    assert _errors(_with(recipients=[{"address": address}])) == [error]


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("name", "123456789", "field 'name' has length '9', which is over the max length '8'"),
        ("name", "", "field 'name' has length '0', which is under the min length '1'"),
        (
            "recipients",
            [{"address": "a"}] * 4,
            "field 'recipients' has length '4', which is over the max length '3'",
        ),
        ("mode", "ajar", "field 'mode' needs to be 'open' or 'closed'"),
        ("data", {"bad": 1}, "data.bad cannot be used"),
    ],
)
def test_other_rules_name_the_field(field: str, value: Any, text: str) -> None:
    assert _errors(_with(**{field: value})) == [("1300", text)]


def test_a_validator_may_refuse_with_an_error_of_its_own() -> None:
    with pytest.raises(ServiceError) as error_info:
        Example.parse(_with(data={"clash": 1}))
    assert error_info.value.status == 409


def test_the_list_of_violations_is_bounded() -> None:
    class Wide(Body):
        items: list[str]

    def count(size: int) -> int:
        with pytest.raises(ServiceError) as error_info:
            Wide.parse({"items": [1] * size})
        return len(error_info.value.errors)

    assert (count(5), count(500), count(50_000)) == (5, 100, 1)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "from", "email", "recipients", "address", "tags", "data", "str", "mode"]
            ),
            inner,
            max_size=4,
        )
    ),
)


@settings(max_examples=150)
@given(_json)
def test_any_body_is_accepted_or_refused_with_reasons(body: Any) -> None:
    refusals = []
    try:
        Example.parse(body)
    except ServiceError as error:
        refusals.append(error)
    for refusal in refusals:
        assert refusal.errors
        assert all(entry["description"] for entry in refusal.errors)


def _refused(read: Any, *arguments: Any) -> str:
    with pytest.raises(ServiceError) as error_info:
        read(*arguments)
    assert error_info.value.status == 400
    assert error_info.value.errors[0]["code"] == "1200"
    return error_info.value.errors[0]["description"]


@pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False)])
def test_a_boolean_is_true_or_false(text: str, value: bool) -> None:
    assert boolean({"draft": text}, "draft") is value


def test_an_absent_boolean_is_its_default() -> None:
    assert boolean({}, "draft") is None
    assert boolean({}, "draft", True) is True


@pytest.mark.spec("7-t15")
@pytest.mark.parametrize("text", ["", "True", "1", "yes", "true "])
def test_a_wrong_boolean_is_refused_with_the_parameters_name(text: str) -> None:
    assert "draft" in _refused(boolean, {"draft": text}, "draft")


@pytest.mark.parametrize(("text", "value"), [("1", 1), ("007", 7), ("10000", 10000), ("-5", -5)])
def test_an_integer_is_read(text: str, value: int) -> None:
    assert integer({"per_page": text}, "per_page", 25, -5, 10000) == value


def test_an_absent_integer_is_its_default() -> None:
    assert integer({}, "per_page", 25, 1, 100) == 25
    assert integer({}, "per_page", None, 1, 100) is None


@pytest.mark.spec("7-t15")
@pytest.mark.parametrize("text", ["", "0", "101", "1.0", "1e1", " 1", "+1", "x", "٣", "9" * 5000])
def test_a_wrong_integer_is_refused_with_name_and_range(text: str) -> None:
    errors = _refused(integer, {"per_page": text}, "per_page", 25, 1, 100)
    assert errors == "per_page must be an integer from 1 to 100"
