from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.errors import ServiceError
from chalicelib.core.params import Params
from tests.unit.refusals import refusal_errors


def faults(params: Params) -> list[dict[str, Any]]:
    status, errors = refusal_errors(params.check)
    assert status == 400
    return errors


def test_fields_of_the_right_type_are_returned() -> None:
    params = Params({"a": "text", "b": True, "c": ["x", "y"], "d": {"e": False}, "f": "one"})
    assert params.text("a", most=4, required=True) == "text"
    assert params.flag("b") is True
    assert params.texts("c", most=2, required=True) == ["x", "y"]
    assert params.inner("d").flag("e") is False
    assert params.choice("f", ("one", "two")) == "one"
    params.check()


def test_absent_and_null_fields_are_none() -> None:
    params = Params({"a": None})
    for name in ("a", "missing"):
        assert params.text(name, most=4) is None
        assert params.flag(name) is None
        assert params.texts(name, most=2) is None
        assert params.choice(name, ("one",)) is None
        assert params.inner(name).flag("x") is None
    params.check()


def test_every_fault_names_its_parameter_and_its_value() -> None:
    params = Params({"a": 1, "b": "yes", "c": ["x", 2], "d": [], "f": [], "g": "  ", "h": "long"})
    params.text("a", most=4)
    params.flag("b")
    params.texts("c", most=9)
    params.inner("d").flag("e")
    params.choice("f", ("one", "two"))
    params.text("g", most=9)
    params.text("h", most=3)
    params.text("i", most=3, required=True)
    params.texts("f", most=3, required=True)
    assert faults(params) == [
        {"message": "a must be a string", "param": "a", "value": 1},
        {"message": "b must be a boolean", "param": "b", "value": "yes"},
        {"message": "c must be an array of strings", "param": "c", "value": ["x", 2]},
        {"message": "d must be an object", "param": "d", "value": []},
        {"message": "f must be one of: one, two", "param": "f", "value": []},
        {"message": "g must not be empty", "param": "g", "value": "  "},
        {"message": "h must have at most 3 characters", "param": "h", "value": "long"},
        {"message": "i is a required field", "param": "i", "value": None},
        {"message": "f must not be empty", "param": "f", "value": []},
    ]


@pytest.mark.parametrize("value", ["x" * 10_000, ["x" * 10_000], {"x" * 10_000: 1}, [[1] * 9_999]])
def test_an_error_shows_the_beginning_of_a_long_value(value: Any) -> None:
    params = Params({"a": value})
    params.text("a", most=10)
    assert len(faults(params)[0]["value"]) == 300


def test_blank_text_is_accepted_where_it_has_a_meaning() -> None:
    assert Params({"a": ""}).text("a", most=1, blank=True) == ""


@pytest.mark.parametrize("body", [None, [], "text", 1])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    with pytest.raises(ServiceError) as error:
        Params(body)
    assert error.value.status == 422
