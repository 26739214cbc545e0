"""The language by example: one template, its data and its output a case, numbered.

`~` stands for a newline in templates and outputs. A final newline after a loop is not compared.
"""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.template_language import (
    HTML,
    TEXT,
    TemplatePart,
    TemplateSyntaxError,
    compile_part,
    header,
    merge_data,
)

from .rendering import render

SUBJECT = header("Subject")
ADDRESS = {"name": "Al", "email": "a@e.com"}
SNIPPETS = {"f": {"html": "<i>{{n}}</i>", "text": "T"}}

CASES: list[tuple[int, TemplatePart, str, dict[str, Any], str]] = [
    (1, HTML, "Hi {{n}}", {"n": "Ann"}, "Hi Ann"),
    (2, HTML, "Hi {{  n }}.", {"n": "Ann"}, "Hi Ann."),
    (3, HTML, "[{{zz}}]", {}, "[]"),
    (4, HTML, "[{{n}}]", {"n": None}, "[]"),
    (5, HTML, "{{n or 'you'}}", {}, "you"),
    (6, HTML, '{{n or "you"}}', {"n": "Bo"}, "Bo"),
    (7, HTML, "{{a or b or 'c'}}", {"b": "B"}, "B"),
    (8, HTML, "{{n or 'x'}}", {"n": ""}, ""),
    (9, HTML, "{{n or 'x'}}", {"n": 0}, "0"),
    (10, HTML, "{{n or 'x'}}", {"n": False}, "x"),
    (11, HTML, "{{u.city}}", {"u": {"city": "Oslo"}}, "Oslo"),
    (12, HTML, "{{u['city']}}", {"u": {"city": "Oslo"}}, "Oslo"),
    (13, HTML, "{{u[k]}}", {"u": {"city": "Oslo"}, "k": "city"}, "Oslo"),
    (14, HTML, "{{l[1]}}{{l[2]}}", {"l": ["a", "b"]}, "ab"),
    (15, HTML, "[{{l[0]}}]", {"l": ["a"]}, "[]"),
    (16, HTML, "{{l[2].q}}", {"l": [{"q": 1}, {"q": 2}]}, "2"),
    (17, HTML, "{{#l}}", {"l": [7, 8, 9]}, "3"),
    (18, HTML, "{{p-5}}", {"p": 15}, "10"),
    (19, HTML, "{{p*q}}", {"p": 2.5, "q": 4}, "10"),
    (20, HTML, "{{p/4}}", {"p": 10}, "2.5"),
    (21, HTML, "{{p}}", {"p": 5.00}, "5"),
    (22, HTML, "{{p}}", {"p": 39.99}, "39.99"),
    (23, HTML, "{{h}}", {"h": "<i>x</i>"}, "&lt;i&gt;x&lt;&#x2F;i&gt;"),
    (24, HTML, "{{{h}}}", {"h": "<i>x</i>"}, "<i>x</i>"),
    (25, TEXT, "{{h}}", {"h": "<i>x</i>"}, "<i>x</i>"),
    (26, SUBJECT, "{{h}}", {"h": "a/b"}, "a/b"),
    (27, HTML, "{{v}}", {"v": "{{n}}", "n": "q"}, "{{n}}"),
    (28, HTML, "{{if a}}Y{{end}}", {"a": True}, "Y"),
    (29, HTML, "{{if a}}Y{{end}}", {"a": False}, ""),
    (30, HTML, "{{if a}}Y{{end}}", {"a": None}, ""),
    (31, HTML, "{{if a then}}Y{{else}}N{{end}}", {"a": False}, "N"),
    (
        32,
        HTML,
        "{{if a > 30}}old{{elseif a > 10}}mid{{else}}new{{end}}",
        {"a": 20},
        "mid",
    ),
    (33, HTML, "{{if not a}}N{{end}}", {}, "N"),
    (34, HTML, '{{if a == "MD" and b > 1}}Y{{end}}', {"a": "MD", "b": 2}, "Y"),
    (35, HTML, '{{if a != "MD" or b}}Y{{end}}', {"a": "MD", "b": True}, "Y"),
    (36, HTML, "S~{{if a}}~X~{{end}}~E", {"a": True}, "S~X~E"),
    (37, HTML, "S~{{if a}}~X~{{end}}~E", {"a": False}, "S~E"),
    (38, HTML, "{{if a}}~X~{{end}}, Y", {"a": True}, "X, Y"),
    (39, HTML, "{{if a}}~X~{{end}}~Y", {"a": True}, "X~Y"),
    (40, HTML, "{{each l}}~- {{loop_var}}~{{end}}", {"l": ["a", "b"]}, "- a~- b"),
    (
        41,
        HTML,
        "{{each l}}~{{loop_index}}:{{loop_var.n}}~{{end}}",
        {"l": [{"n": "a"}, {"n": "b"}]},
        "1:a~2:b",
    ),
    (42, HTML, "[{{each l}}x{{end}}]", {"l": []}, "[]"),
    (43, HTML, "[{{each l}}x{{end}}]", {"l": None}, "[]"),
    (
        44,
        HTML,
        "{{each o}}~{{loop_vars.o.n}}~{{each loop_vars.o.k}}~ {{loop_vars.k}}~{{end}}~{{end}}",
        {"o": [{"n": "A", "k": ["x", "y"]}, {"n": "B"}]},
        "A~ x~ y~B",
    ),
    (45, HTML, "{{each l}}~  <li>{{loop_var}}</li>~{{end}}", {"l": ["a"]}, "  <li>a</li>"),
    (46, HTML, "{{if not empty(l)}}Y{{else}}N{{end}}", {"l": []}, "N"),
    (47, HTML, "{{opening_double_curly()}}n{{closing_double_curly()}}", {}, "{{n}}"),
    (48, HTML, "{{opening_triple_curly()}}{{closing_single_curly()}}", {}, "{{{}"),
    (
        49,
        HTML,
        '<a href="https://e.com/?u={{u}}">',
        {"u": "Big Sale!"},
        '<a href="https://e.com/?u=Big%20Sale%21">',
    ),
    (50, HTML, '<a href="https://{{{h}}}/x">', {"h": "e.com/a"}, '<a href="https://e.com/a/x">'),
    (
        51,
        HTML,
        "{{render_dynamic_content(dynamic_html.c)}}",
        {"n": "q", "dynamic_html": {"c": "<b>{{n}}</b>"}},
        "<b>q</b>",
    ),
    (
        52,
        TEXT,
        "{{render_dynamic_content(dynamic_plain.c)}}",
        {"n": "q", "dynamic_plain": {"c": "Dear {{n}}"}},
        "Dear q",
    ),
    (
        53,
        HTML,
        "{{each o}}~{{render_dynamic_content(dynamic_html[loop_var])}}~{{end}}",
        {"o": ["p"], "n": 1, "dynamic_html": {"p": "P{{n}}"}},
        "P1",
    ),
    (54, HTML, '{{render_snippet("f")}}', {"n": "q"}, "<i>q</i>"),
    (55, TEXT, "{{render_snippet(id)}}", {"id": "f"}, "T"),
    (56, HTML, "{{address.name}} {{email}}", merge_data(address=ADDRESS), "Al a@e.com"),
    (57, SUBJECT, "Hi {{n}}", {"n": "Zoé"}, "Hi Zoé"),
    (
        62,
        HTML,
        "{{n}}",
        merge_data(transmission_data={"n": "T"}, recipient_data={"n": "R"}, address=ADDRESS),
        "R",
    ),
    (
        63,
        HTML,
        "{{n}}",
        merge_data(transmission_metadata={"n": "M"}, transmission_data={"n": "S"}),
        "S",
    ),
    (
        64,
        HTML,
        "{{n}}",
        merge_data(transmission_data={"n": "S"}, recipient_metadata={"n": "RM"}),
        "RM",
    ),
    (65, HTML, "{{3 > 2}}, {{a}}", {"a": True}, "true, true"),
    (66, HTML, '{{if 1 == "1"}}Y{{end}}', {}, ""),
]
WITH_LENIENT_END = {40, 41, 42, 43, 44, 45, 53}

FAULTS = [
    (58, "{{if a}}x", "'if' is missing its 'end'"),
    (59, "x{{end}}", "a lone 'end' was detected"),
    (60, "{{ n", "substitution statement missing ending '}}'"),
    (61, "{{if a b}}x{{end}}", "syntax error near 'b'"),
]


@pytest.mark.parametrize(
    ("number", "part", "template", "data", "output"), CASES, ids=[str(case[0]) for case in CASES]
)
def test_case_renders_as_documented(
    number: int, part: TemplatePart, template: str, data: dict[str, Any], output: str
) -> None:
    rendered = render(
        template.replace("~", "\n"), data, part, snippets=SNIPPETS.get, dynamic=data
    ).replace("\n", "~")
    if number in WITH_LENIENT_END:
        rendered = rendered.removesuffix("~")
    assert rendered == output


@pytest.mark.spec("7-t24")
@pytest.mark.parametrize(
    ("number", "template", "detail"), FAULTS, ids=[str(case[0]) for case in FAULTS]
)
def test_case_is_refused_as_documented(number: int, template: str, detail: str) -> None:
    with pytest.raises(TemplateSyntaxError) as error_info:
        compile_part(template, HTML)
    assert error_info.value.code == "3000"
    assert error_info.value.detail == detail


def test_every_documented_case_is_tested() -> None:
    assert sorted([case[0] for case in CASES] + [case[0] for case in FAULTS]) == list(range(1, 67))
