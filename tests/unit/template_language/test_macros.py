from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from chalicelib.template_language import (
    AMP_HTML,
    HTML,
    TEXT,
    Budget,
    TemplatePart,
    TemplateSyntaxError,
    compile_snippet,
    header,
)

from .rendering import render, render_fault, syntax_fault

FOOTER = {"f": {"html": "<b>{{n}}</b>", "amp_html": "<i>{{n}}</i>", "text": "-- {{n}}"}}


@pytest.mark.parametrize(
    ("part", "output"),
    [
        (HTML, "<b>&lt;</b>"),
        (AMP_HTML, "<i>&lt;</i>"),
        (TEXT, "-- <"),
        (header("Subject"), "-- <"),
    ],
)
def test_a_snippet_gives_each_part_its_own_content(part: TemplatePart, output: str) -> None:
    assert render("{{render_snippet('f')}}", {"n": "<"}, part, snippets=FOOTER.get) == output


@pytest.mark.parametrize("braces", [("{{", "}}"), ("{{{", "}}}")])
def test_the_output_of_a_macro_is_not_escaped_again(braces: tuple[str, str]) -> None:
    template = "http://e.com/{}render_snippet('f'){} {}render_snippet('f'){}".format(*braces * 2)
    assert render(template, {"n": "&"}, snippets=FOOTER.get) == (
        "http://e.com/<b>&amp;</b> <b>&amp;</b>"
    )


def test_a_snippet_can_be_called_five_times_and_not_six() -> None:
    call = "{{render_snippet('f')}}"
    assert render(call * 5, {"n": 1}, snippets=FOOTER.get) == "<b>1</b>" * 5
    detail = "render_snippet may be called at most 5 times in a template"
    assert render_fault(call * 6, {"n": 1}, snippets=FOOTER.get) == detail
    loop = "{{each l}}" + call + "{{end}}"
    assert render(loop, {"l": [1] * 5}, snippets=FOOTER.get) == "<b></b>" * 5
    assert render_fault(loop, {"l": [1] * 6}, snippets=FOOTER.get) == detail


def test_calls_from_dynamic_content_count_too() -> None:
    dynamic = {"dynamic_html": {"c": "{{render_snippet('f')}}"}}
    template = "{{render_snippet('f')}}" * 3 + "{{render_dynamic_content(dynamic_html.c)}}" * 3
    detail = (
        "dynamic content 'dynamic_html.c': line 1: "
        "render_snippet may be called at most 5 times in a template"
    )
    assert render_fault(template, snippets=FOOTER.get, dynamic=dynamic) == detail


@pytest.mark.parametrize(
    ("template", "detail"),
    [
        ("{{render_snippet('g')}}", "snippet 'g' does not exist"),
        ("{{render_snippet(id)}}", "substitution value 'id' did not exist or was null"),
        ("{{render_snippet(5)}}", "render_snippet takes the id of a snippet, not a number"),
        ("{{render_snippet('bad')}}", "snippet 'bad': line 2: a lone 'end' was detected"),
        ("{{render_snippet('sum')}}", "snippet 'sum': line 2: attempt to divide by zero"),
        (
            "{{render_snippet('in')}}",
            "snippet 'in': line 1: render_snippet cannot be used in a snippet",
        ),
    ],
)
def test_a_snippet_that_cannot_be_rendered_ends_the_render(template: str, detail: str) -> None:
    snippets = {
        "t": {"text": "t"},
        "bad": {"html": "\n{{end}}"},
        "sum": {"html": "\n{{1/0}}"},
        "in": {"html": "{{render_snippet('t')}}"},
    }
    assert render_fault(template, snippets=snippets.get) == detail


@pytest.mark.parametrize("part", [HTML, AMP_HTML, TEXT, header("Subject")])
def test_a_snippet_without_content_for_the_part_renders_nothing(part: TemplatePart) -> None:
    other = "html" if part.content_key == "text" else "text"
    snippets = {"s": {other: "x"}}
    assert render("[{{render_snippet('s')}}]", part=part, snippets=snippets.get) == "[]"


def test_all_parts_of_a_template_share_the_five_calls() -> None:
    call, budget = "{{render_snippet('f')}}", Budget()
    assert render(call * 3, part=HTML, snippets=FOOTER.get, budget=budget) == "<b></b>" * 3
    assert render(call * 2, part=TEXT, snippets=FOOTER.get, budget=budget) == "-- " * 2
    assert render_fault(call, part=header("Subject"), snippets=FOOTER.get, budget=budget) == (
        "render_snippet may be called at most 5 times in a template"
    )


class TestSnippetsOfTheOwner:
    """A template that the primary account shares may call snippets that it does not share."""

    OWNERS: ClassVar = {"f": {"html": "owner's f"}, "g": {"html": "owner's g"}}
    G_IS_MISSING = "snippet 'g' does not exist"

    def output(self, template: str, data: Any = None, **options: Any) -> str:
        options = {"snippets": FOOTER.get, "owner_snippets": self.OWNERS.get} | options
        return render(template, data, **options)

    def fault(self, template: str, data: Any = None, **options: Any) -> str:
        options = {"snippets": FOOTER.get, "owner_snippets": self.OWNERS.get} | options
        return render_fault(template, data, **options)

    def test_they_are_included_where_the_template_writes_out_the_id(self) -> None:
        assert self.output("{{render_snippet('g')}}") == "owner's g"

    def test_the_sender_s_own_comes_first(self) -> None:
        assert self.output("{{render_snippet('f')}}") == "<b></b>"

    @pytest.mark.parametrize("snippet_id", ["id", "id or 'g'", "'g' and id"])
    def test_the_sender_s_data_cannot_name_them(self, snippet_id: str) -> None:
        template = "{{render_snippet(" + snippet_id + ")}}"
        assert self.fault(template, {"id": "g"}) == self.G_IS_MISSING

    def test_the_sender_s_dynamic_content_cannot_call_them(self) -> None:
        dynamic = {"dynamic_html": {"c": "{{render_snippet('g')}}"}}
        fault = self.fault("{{render_dynamic_content(dynamic_html.c)}}", dynamic=dynamic)
        assert fault.endswith(self.G_IS_MISSING)


def test_without_a_lookup_no_snippet_exists() -> None:
    assert render_fault("{{render_snippet('f')}}") == "snippet 'f' does not exist"


def test_an_exception_of_the_snippet_lookup_reaches_the_caller() -> None:
    def unavailable(snippet_id: str) -> Mapping[str, Any] | None:
        raise ConnectionError(snippet_id)

    with pytest.raises(ConnectionError):
        render("{{render_snippet('f')}}", snippets=unavailable)


@pytest.mark.spec("2.4-t3")
@pytest.mark.parametrize(
    "call",
    ["render_snippet('f')", "render_dynamic_content(dynamic_html.c)", "a or render_snippet(b)"],
)
def test_snippet_content_allows_everything_except_macros_that_include_content(call: str) -> None:
    assert compile_snippet("{{each l}}{{if a}}{{n}}{{end}}{{end}}", HTML)
    with pytest.raises(TemplateSyntaxError, match="cannot be used in a snippet"):
        compile_snippet("{{" + call + "}}", HTML)


def test_fragments_have_the_variables_of_the_loop_around_them() -> None:
    source = (
        "{{loop_index}}{{loop_var}}{{loop_vars.l}}{{each m}}{{loop_var}}{{loop_vars.l}}{{end}},"
    )
    snippets = {"s": {"html": source}}
    template = "{{each l}}{{render_snippet('s')}}{{render_dynamic_content(dynamic_html.s)}}{{end}}"
    dynamic = {"dynamic_html": {"s": source}}
    output = render(template, {"l": ["a", "b"], "m": [1]}, snippets=snippets.get, dynamic=dynamic)
    assert output == "1aa1a,1aa1a,2bb1b,2bb1b,"


def test_a_fragment_s_loops_join_those_around_it_in_loop_vars() -> None:
    snippets = {"s": {"html": "{{each m}}{{loop_vars[k]}}{{loop_vars.m}}{{end}}"}}
    data = {"l": ["a"], "m": [1], "k": "l"}
    assert render("{{each l}}{{render_snippet('s')}}{{end}}", data, snippets=snippets.get) == "a1"


def test_dynamic_content_comes_from_the_transmission_alone() -> None:
    data = {"dynamic_html": {"c": "{{secret}}"}, "secret": "s"}
    template = "{{render_dynamic_content(dynamic_html.c)}}"
    assert render_fault(template, data) == (
        "substitution value 'dynamic_html' did not exist or was null"
    )
    assert render_fault(template, data, dynamic={"dynamic_html": {}}) == (
        "substitution value 'dynamic_html.c' did not exist or was null"
    )
    assert render(template, data, dynamic={"dynamic_html": {"c": "t{{secret}}"}}) == "ts"


@pytest.mark.parametrize("argument", ["c", "'{{n}}'", "loop_var", "dynamic.c", "", "nil"])
def test_only_dynamic_values_can_be_rendered(argument: str) -> None:
    assert syntax_fault("{{render_dynamic_content(" + argument + ")}}") == (
        "render_dynamic_content takes a value of dynamic_amp_html, dynamic_html, dynamic_plain"
    )


@pytest.mark.parametrize("value", [5, True, ["{{n}}"], {"x": "{{n}}"}])
def test_dynamic_content_is_a_string(value: object) -> None:
    detail = "substitution value 'dynamic_html.c' is not a string of content"
    template = "{{render_dynamic_content(dynamic_html.c)}}"
    assert render_fault(template, dynamic={"dynamic_html": {"c": value}}) == detail


def test_dynamic_content_may_include_more_of_it_to_a_limited_depth() -> None:
    pieces = {"a": "a{{render_dynamic_content(dynamic_html.b)}}", "b": "b{{n}}"}
    template = "{{render_dynamic_content(dynamic_html.a)}}"
    assert render(template, {"n": 1}, dynamic={"dynamic_html": pieces}) == "ab1"
    detail = render_fault(template, dynamic={"dynamic_html": {"a": template}})
    assert detail.endswith("dynamic content 'dynamic_html.a' is nested more than 5 deep")


def test_links_in_dynamic_content_encode_their_values() -> None:
    dynamic = {"dynamic_html": {"c": '<a href="http://t.com/?q={{q}}">'}}
    output = render("{{render_dynamic_content(dynamic_html.c)}}", {"q": "a b"}, dynamic=dynamic)
    assert output == '<a href="http://t.com/?q=a%20b">'


@pytest.mark.parametrize("size", ["single", "double", "triple"])
def test_curly_macros_print_braces_at_every_place(size: str) -> None:
    count = {"single": 1, "double": 2, "triple": 3}[size]
    template = "http://e.com/{{opening_SIZE_curly()}}x{{{closing_SIZE_curly()}}}".replace(
        "SIZE", size
    )
    assert render(template) == "http://e.com/" + "{" * count + "x" + "}" * count
    assert render("{{a or opening_SIZE_curly()}}".replace("SIZE", size)) == "{" * count


@pytest.mark.parametrize(
    ("value", "is_empty"),
    [([], True), ({}, True), (None, True), ("", True), ([0], False), (0, False), (False, False)],
)
def test_empty_is_true_for_arrays_without_elements(value: object, is_empty: bool) -> None:
    assert render("{{empty(a)}}", {"a": value}) == str(is_empty).lower()
