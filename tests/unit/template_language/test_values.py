from __future__ import annotations

from decimal import Decimal

import pytest

from chalicelib.template_language.errors import Fault
from chalicelib.template_language.values import calculate, item, less, number_text, type_name

from .rendering import render, render_fault


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (5.00, "5"),
        (39.99, "39.99"),
        (2.5, "2.5"),
        (0, "0"),
        (-0.0, "0"),
        (-1.5, "-1.5"),
        (0.1 + 0.2, "0.3"),
        (1 / 3, "0.33333333333333"),
        (1e13, "10000000000000"),
        (1e15, "1e+15"),
        (10**14 - 1, "99999999999999"),
        (10**14, "1e+14"),
        (2147483647 * 2147483647, "4.6116860141324e+18"),
        (1e16, "1e+16"),
        (1e-7, "1e-07"),
        (2**53 + 1, "9.007199254741e+15"),
        (10**100, "1e+100"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_have_the_form_of_lua(number: float, text: str) -> None:
    assert number_text(number) == text


def test_a_number_too_long_to_print_is_refused() -> None:
    assert render_fault("{{n}}", {"n": 10**5000}) == "number out of range"


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        ("+", 2**53, 2**53, 2**54),
        ("*", 10**200, 2, 2e200),
        ("-", "5", "0.5", 4.5),
        ("*", "1e3", 2, 2000.0),
        ("/", 7, 2, 3.5),
        ("+", " 1 ", 1, 2.0),
    ],
)
def test_arithmetic_works_on_numbers_and_numerals(
    operator: str, left: object, right: object, result: float
) -> None:
    assert calculate(operator, left, right) == result


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (10**400, 1),
        (1e308, 1e308),
        ("9" * 41, 1),
        ("1_0", 1),
        ("", 1),
        ("nan", 1),
        ("inf", 1),
        ([], 1),
        (Decimal(1), 1),
    ],
)
def test_arithmetic_with_other_values_is_a_fault(left: object, right: object) -> None:
    with pytest.raises(Fault):
        calculate("*", left, right)


def test_integers_cannot_be_multiplied_into_giants() -> None:
    chain = " * ".join(["n"] * 30)
    assert render("{{" + chain + "}}", {"n": 10**9}) == "1e+270"
    assert render_fault("{{" + chain + "}}", {"n": 10**11}) == "number out of range"


def test_booleans_are_not_numbers() -> None:
    assert item(["a", "b"], True) is None
    with pytest.raises(Fault):
        less(True, 2)
    assert type_name(True) == "boolean"


class Foreign:
    """A value that JSON cannot hold; whoever looks at it fails the test."""

    secret = "leaked"

    def __str__(self) -> str:
        raise AssertionError

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: object) -> object:
        raise AssertionError

    def __len__(self) -> int:
        raise AssertionError

    def __bool__(self) -> bool:
        raise AssertionError


@pytest.mark.parametrize(
    "template",
    [
        "{{v}}",
        "{{{v}}}",
        "http://{{v}}",
        "{{v.secret}}",
        "{{v[1]}}",
        "{{#v}}",
        "{{-v}}",
        "{{v + 1}}",
        "{{v < v}}",
        "{{each v}}{{end}}",
        "{{render_snippet(v)}}",
    ],
)
def test_values_that_are_not_json_are_refused_untouched(template: str) -> None:
    assert "foreign" in render_fault(template, {"v": Foreign()})


def test_values_that_are_not_json_can_be_tested_without_touching_them() -> None:
    template = "{{v == v}} {{v == 1}} {{not v}} {{if v}}Y{{end}} {{empty(v)}} {{u[v]}}"
    assert render(template, {"v": Foreign(), "u": {}}) == "true false false Y false "
