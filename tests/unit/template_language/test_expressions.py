from __future__ import annotations

from typing import Any

import pytest

from chalicelib.template_language.words import KEYWORDS

from .rendering import render, render_fault, syntax_fault


@pytest.mark.parametrize(
    ("expression", "output"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 4 - 3", "3"),
        ("12 / 4 / 3", "1"),
        ("2 * 3 + 4 * 5", "26"),
        ("-2 * 3", "-6"),
        ("- - 2", "2"),
        ("5 - -2", "7"),
        ("1 + 1 == 2", "true"),
        ("1 < 2 == true", "true"),
        ("not 1 == 2", "false"),
        ("not (1 == 2)", "true"),
        ("not nil and 5", "5"),
        ("nil and 1 or 2", "2"),
        ("1 or 2 and 3", "1"),
        ("false or nil", ""),
        ("nil or false", "false"),
        ("0 and 'yes'", "yes"),
        ("'' and 'yes'", "yes"),
        ("not 0", "false"),
        ("#l + 1", "4"),
        ("#'é€😀'", "3"),
        ("#o", "0"),
        ("#l == 3 and 'three'", "three"),
        ("0x10 + .5 + 1e1", "26.5"),
        ("'1' + 1", "2"),
        ("1 == 1.0", "true"),
        ("'a' < 'b'", "true"),
        ("2 <= 2", "true"),
        ("3 >= 4", "false"),
        ("1 != '1'", "true"),
        ("nil == false", "false"),
        ("true == 1", "false"),
        ("l == l", "true"),
        ("missing == nil", "true"),
        ("missing != nil", "false"),
        ("0.1 + 0.2", "0.3"),
        ("'it''s'", None),
        (r"'it\'s' == " '"it\'s"', "true"),
    ],
)
def test_operators_have_the_precedence_and_results_of_lua(
    expression: str, output: str | None
) -> None:
    template = "{{{ " + expression + " }}}"
    if output is None:
        syntax_fault(template)
    else:
        assert render(template, {"l": [1, 2, 3], "o": {"k": 1}}) == output


def test_and_and_or_evaluate_only_what_they_need() -> None:
    assert render("{{a and a > 3}}", {}) == ""
    assert render("{{1 or 1 / 0}}", {}) == "1"
    assert render("{{false and 1 / 0}}", {}) == "false"


def test_a_long_chain_of_alternatives_is_no_deeper_than_a_short_one() -> None:
    states = " or ".join(f's == "S{n}"' for n in range(120))
    assert render("{{if " + states + "}}yes{{end}}", {"s": "S119"}) == "yes"
    assert render("{{if " + states + "}}yes{{end}}", {"s": "S120"}) == ""
    chain = " or ".join(f"v{n}" for n in range(400))
    assert render("{{" + chain + "}}", {"v399": "last"}) == "last"


@pytest.mark.parametrize(
    ("path", "output"),
    [
        ("u.tags[2]", "b"),
        ('u["tags"][1]', "a"),
        ("u.tags[#u.tags]", "b"),
        ("u.tags[1 + 1]", "b"),
        ("u.tags[1.5]", ""),
        ("u.tags['1']", ""),
        ("u.tags[true]", ""),
        ("u.tags[-1]", ""),
        ("u.tags[3]", ""),
        ("u[u.key]", "deep"),
        ("u[missing]", ""),
        ("u[u.tags]", ""),
        ("u[1]", ""),
        ("(missing or u).name", "deep"),
        ("(u)['name']", "deep"),
        ("u . name", "deep"),
        ("missing.a.b[1].c", ""),
        ("u['end']", "E"),
    ],
)
def test_paths_reach_items_and_nothing_else(path: str, output: str) -> None:
    data = {"u": {"tags": ["a", "b"], "key": "name", "name": "deep", "end": "E"}}
    assert render("{{" + path + "}}", data) == output


@pytest.mark.parametrize(
    ("template", "near"),
    [
        ("{{}}", "}}"),
        ("{{ }}", "}}"),
        ("{{a b}}", "b"),
        ("{{a.}}", "}}"),
        ("{{a.1}}", ".1"),
        ("{{a[}}", "}}"),
        ("{{a[1}}", "}}"),
        ("{{(a}}", "}}"),
        ("{{a)}}", ")"),
        ("{{a +}}", "}}"),
        ("{{* a}}", "*"),
        ("{{a = b}}", "="),
        ("{{a & b}}", "&"),
        ("{{a ~= b}}", "~"),
        ("{{a.end}}", "end"),
        ("{{for}}", "for"),
        ("{{a or while}}", "while"),
        ("{{empty(l).x}}", "."),
        ("{{empty(l, l)}}", ","),
        ("{{opening_double_curly(1)}}", "1"),
        ("{{'abc}}", "'"),
        ("{{1e999}}", "1e999"),
        ("{{" + "9" * 50 + "}}", "9" * 50),
        ("{{" + "9" * 70 + "}}", "9" * 60 + "..."),
        ("{{if}}x{{end}}", "}}"),
        ("{{if a then b}}x{{end}}", "b"),
        ("{{if a}}x{{else if b}}y{{end}}", "if"),
        ("{{if a}}x{{end if}}", "if"),
        ("{{each l do}}x{{end}}", "do"),
        ("{{each l then}}x{{end}}", "then"),
        ("{{then}}", "then"),
    ],
)
def test_an_unexpected_token_is_named(template: str, near: str) -> None:
    assert syntax_fault(template) == f"syntax error near '{near}'"


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_a_keyword_is_never_a_variable(word: str) -> None:
    data = {word: "data"}
    template = "{{ " + word + " }}"
    if word in ("true", "false", "nil"):
        assert render(template, data) == {"nil": ""}.get(word, word)
    else:
        syntax_fault(template)


@pytest.mark.parametrize(
    ("template", "data", "detail"),
    [
        ("{{a > 3}}", {}, "substitution value 'a' did not exist or was null"),
        ("{{u.n + 1}}", {"u": {}}, "substitution value 'u.n' did not exist or was null"),
        ("{{-l[4]}}", {"l": []}, "substitution value 'l[4]' did not exist or was null"),
        ("{{#u['x'].y}}", {"u": {}}, "substitution value 'u['x'].y' did not exist or was null"),
        ("{{(nil or nil) + 1}}", {}, "attempt to perform arithmetic on a nil value"),
        ("{{a + 1}}", {"a": "x"}, "attempt to perform arithmetic on a string value"),
        ("{{a + 1}}", {"a": "\u0661"}, "attempt to perform arithmetic on a string value"),
        ("{{a + 1}}", {"a": True}, "attempt to perform arithmetic on a boolean value"),
        ("{{a < 1}}", {"a": "x"}, "attempt to compare string with number"),
        ("{{a < b}}", {"a": [], "b": []}, "attempt to compare array with array"),
        ("{{#a}}", {"a": 5}, "attempt to get length of a number value"),
        ("{{a.x}}", {"a": 5}, "attempt to index field 'x' (a number value)"),
        ("{{a[1]}}", {"a": "s"}, "attempt to index field '?' (a string value)"),
        ("{{a / 0}}", {"a": 5}, "attempt to divide by zero"),
        ("{{a}}", {"a": {}}, "attempt to print an object"),
        ("{{a}}", {"a": []}, "attempt to print an array"),
        ("{{each a}}x{{end}}", {"a": "s"}, "attempt to loop over a string value"),
    ],
)
def test_an_operation_that_a_value_does_not_support_is_named(
    template: str, data: dict[str, Any], detail: str
) -> None:
    assert render_fault(template, data) == detail


def test_a_macro_that_does_not_exist_is_refused() -> None:
    assert syntax_fault("{{upper(a)}}") == "macro 'upper' does not exist"


def test_the_name_of_a_macro_is_a_variable_without_brackets() -> None:
    assert render("{{empty}}", {"empty": "full"}) == "full"


@pytest.mark.parametrize("deep", ["(" * 15 + "a" + ")" * 15, "not " * 15 + "a", "a" + ".b" * 50])
def test_reasonable_nesting_is_allowed(deep: str) -> None:
    render("{{" + deep + "}}", {})


@pytest.mark.parametrize(
    "deep",
    [
        "(" * 100 + "a" + ")" * 100,
        "not " * 100 + "a",
        "-" * 100 + "a",
        "a" + "[a" * 100 + "]" * 100,
        "empty(" * 100 + "a" + ")" * 100,
        "a" + ".b" * 200,
        "+".join(["a"] * 200),
        "a" + " == a" * 200,
    ],
)
def test_unreasonable_nesting_is_refused(deep: str) -> None:
    assert syntax_fault("{{" + deep + "}}") == "the expression is too deeply nested"
