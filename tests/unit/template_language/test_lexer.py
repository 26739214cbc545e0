from __future__ import annotations

import pytest

from .rendering import render, syntax_fault

MISSING = "substitution statement missing ending '}}'"


@pytest.mark.parametrize(
    "template",
    ["{{", "{{ ", "{{ n", "{{n}", "Hi {{ n, welcome to {{ company }}", "{{ n </p> it's", "{{'a"],
)
def test_unclosed_braces_are_reported_as_such(template: str) -> None:
    assert syntax_fault(template) == MISSING


def test_triple_braces_close_with_three() -> None:
    assert syntax_fault("{{{n}}") == "substitution statement missing ending '}}}'"
    assert syntax_fault("{{{n}} {{{m}}}") == "substitution statement missing ending '}}}'"
    assert render("{{n}}}", {"n": "x"}) == "x}"


@pytest.mark.parametrize("text", ["}}", "{a}", "a{b:c}}", "}}}", "{ {a} }", "@media x{y{z:1}}"])
def test_other_braces_are_text(text: str) -> None:
    assert render(text + "{{n}}", {"n": "x"}) == text + "x"


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("'}}'", "}}"),
        ('"{{"', "{{"),
        (r"'a\'b'", "a'b"),
        (r"'a\\'", "a\\"),
        (r"'a\nb'", "a\nb"),
        ("'é€😀'", "é€😀"),
        ("'<b>'", "<b>"),
        ("12", "12"),
        ("1.50", "1.5"),
        ("1e3", "1000"),
        ("0xFf", "255"),
    ],
)
def test_literals_have_their_values(literal: str, value: str) -> None:
    assert render("{{{" + literal + "}}}") == value


def test_an_expression_may_run_over_lines() -> None:
    assert render("{{ a\r\n\tor\n 'x' }}") == "x"


def test_a_tag_of_any_length_ends_in_an_error() -> None:
    assert syntax_fault("{{" + "a " * 5000 + "}}") == "the expression is too long"
