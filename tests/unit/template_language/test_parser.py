from __future__ import annotations

import pytest

from chalicelib.template_language import (
    AMP_HTML,
    HTML,
    TEXT,
    TemplatePart,
    TemplateSyntaxError,
    header,
)
from chalicelib.template_language.compiled import compile_uncached

from .rendering import render, syntax_fault

NESTED = {"a": [{"b": [{"c": ["x", "y"]}]}, {"b": [{"c": ["z"]}]}]}


def test_outer_loops_are_reached_by_the_name_of_their_array() -> None:
    template = (
        "{{each a}}{{each loop_var.b}}{{each loop_var.c}}"
        "{{loop_index}}{{loop_var}}{{#loop_vars.a.b}}{{#loop_vars['b'].c}}{{loop_vars.c}} "
        "{{end}}{{end}}{{end}}"
    )
    assert render(template, NESTED) == "1x12x 2y12y 1z11z "


def test_loop_vars_can_be_indexed_by_a_variable() -> None:
    assert render("{{each a}}{{loop_vars[k]}}{{end}}", {"a": [1, 2], "k": "a"}) == "12"


def test_the_array_of_a_loop_is_named_by_its_last_named_part() -> None:
    data = {"u": {"list": [[1, 2]]}, "k": "list"}
    assert render("{{each u.list[1]}}{{loop_vars.list}}{{end}}", data) == "12"
    assert render("{{each u['list'][1]}}{{loop_vars.list}}{{end}}", data) == "12"
    assert render("{{each u[k][1]}}{{loop_vars.u}}{{end}}", data) == "12"


def test_an_inner_loop_over_the_same_name_hides_the_outer() -> None:
    data = {"a": [{"a": [1, 2]}]}
    assert render("{{each a}}{{each loop_var.a}}{{loop_vars.a}}{{end}}{{end}}", data) == "12"


def test_loop_variables_return_to_the_outer_loop_after_an_inner_one() -> None:
    data = {"a": [["x"], ["y"]]}
    template = "{{each a}}{{each loop_var}}{{loop_var}}{{end}}{{loop_index}}{{end}}"
    assert render(template, data) == "x1y2"


def test_a_loop_sees_data_and_holds_branches() -> None:
    template = "{{each l}}{{if loop_var > m}}{{loop_var}}{{elseif loop_index == 1}}-{{end}}{{end}}"
    assert render(template, {"l": [1, 2, 3], "m": 1}) == "-23"


@pytest.mark.parametrize(
    "name", ["loop", "self", "super", "caller", "missing", "context", "item_1"]
)
def test_names_with_a_meaning_in_jinja2_are_plain_variables(name: str) -> None:
    template = "{{each l}}{{" + name + "}}{{end}}{{" + name + "}}"
    assert render(template, {"l": [1], name: "v"}) == "vv"
    assert render(template, {"l": [1]}) == ""


def test_the_last_branch_may_be_conditional() -> None:
    template = "{{if a == 1}}1{{elseif a == 2}}2{{elseif a == 3}}3{{end}}"
    assert [render(template, {"a": a}) for a in (1, 2, 3, 4)] == ["1", "2", "3", ""]


@pytest.mark.parametrize(
    ("template", "detail"),
    [
        ("{{else}}", "a lone 'else' was detected"),
        ("{{elseif a}}", "a lone 'elseif' was detected"),
        ("{{each l}}{{else}}{{end}}", "a lone 'else' was detected"),
        ("{{if a}}{{else}}{{else}}{{end}}", "a lone 'else' was detected"),
        ("{{if a}}{{else}}{{elseif b}}{{end}}", "a lone 'elseif' was detected"),
        ("{{if a}}{{each l}}{{end}}", "'if' is missing its 'end'"),
        ("{{each l}}", "'each' is missing its 'end'"),
        ("{{if a}}" * 26, "blocks are nested more than 25 deep"),
        ("{{each a}}" * 11, "loops are nested more than 10 deep"),
        ("{{if a}}" + "{{elseif a}}" * 500, "more than 500 branches in one another"),
    ],
)
def test_blocks_that_do_not_match_are_refused(template: str, detail: str) -> None:
    assert syntax_fault(template) == detail


def test_the_deepest_template_compiles_and_renders() -> None:
    opened = "{{each l}}" * 10 + "{{if a}}" * 15
    assert render(opened + "x" + "{{end}}" * 25, {"l": [1], "a": 1}) == "x"


def test_the_longest_choice_compiles_and_renders() -> None:
    choice = "".join(f"{{{{elseif a == {n}}}}}{n}" for n in range(498))
    assert render("{{if a == 'x'}}x" + choice + "{{end}}", {"a": 497}) == "497"


@pytest.mark.parametrize("part", [HTML, AMP_HTML, TEXT, header("Subject")])
def test_each_part_escapes_in_its_own_way(part: TemplatePart) -> None:
    escaped = "&lt;a href=&quot;&#x2F;x&quot;&gt;&amp;&#39;" if part.escapes_html else None
    value = '<a href="/x">&\''
    assert render("{{v}}", {"v": value}, part) == (escaped or value)
    assert render("{{{v}}}", {"v": value}, part) == value


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("a\nb\n{{end}}", 3),
        ("a\r\n{{if a}}\r\n\r\nx", 2),
        ("{{a}}\n{{ b\n c }}", 3),
        ("{{a}}\n\n{{ b", 3),
        ("{{a\n\n}}{{end}}", 3),
        ("<template type='amp-mustache'>{{a\n}}\n</template>{{end}}", 3),
    ],
)
def test_a_syntax_error_has_its_line(template: str, line: int) -> None:
    with pytest.raises(TemplateSyntaxError) as error_info:
        compile_uncached(template, AMP_HTML)
    assert error_info.value.line == line
