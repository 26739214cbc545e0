"""Templates and data made to cost: all end soon, in output or in an error that says why."""

from __future__ import annotations

from time import thread_time
from typing import Any

import pytest

from chalicelib.template_language import Budget, TemplateError, TemplateRenderError, compile_part
from chalicelib.template_language.parts import HTML, TemplatePart

from .rendering import render, render_fault, syntax_fault

TOO_MANY_STEPS = "the template takes too many steps"
TOO_LONG = "the output is too long"
TOO_SLOW = "the template takes too long"
WIDE = {"l": list(range(1000)), "s": "x" * 1000}


def test_loops_in_loops_run_out_of_steps() -> None:
    nested = "{{each l}}" * 4 + "{{end}}" * 4
    assert render_fault(nested, WIDE) == TOO_MANY_STEPS


@pytest.mark.parametrize("turn", ["{{s}}", "{{{s}}}", "http://{{s}}", "x" * 1000])
def test_output_in_loops_runs_out_of_characters(turn: str) -> None:
    template = "{{each l}}{{each l}}" + turn + " {{end}}{{end}}"
    assert render_fault(template, WIDE) == TOO_LONG


def test_the_text_of_a_branch_is_charged_when_it_is_taken() -> None:
    template = "{{each l}}{{if t}}" + "x" * 1000 + "{{else}}y{{end}}{{end}}"
    budget = Budget(characters=100_000)
    assert render(template, {**WIDE, "t": False}, budget=budget) == "y" * 1000
    assert render_fault(template, {**WIDE, "t": True}, budget=budget) == TOO_LONG


def test_the_steps_of_a_branch_are_charged_when_it_is_taken() -> None:
    template = "{{each l}}{{if t}}" + "{{n}}" * 100 + "{{else}}y{{end}}{{end}}"
    budget = Budget(steps=100_000)
    assert render(template, {**WIDE, "t": False}, budget=budget) == "y" * 1000
    assert render_fault(template, {**WIDE, "t": True}, budget=budget) == TOO_MANY_STEPS


def test_values_outside_loops_are_charged_too() -> None:
    template = "{{s}}" * 1000
    assert len(render(template, WIDE)) == 1_000_000
    assert render_fault(template, WIDE, budget=Budget(characters=999_999)) == TOO_LONG


def test_output_of_exactly_the_allowed_length_is_allowed() -> None:
    snippets = {"s": {"html": "{{n}}y"}}
    template = "{{each l}}{{loop_var}}x{{if n}}{{render_snippet('s')}}{{end}}{{end}}"
    data = {"l": ["a", "b"], "n": "c"}
    assert render(template, data, snippets=snippets.get, budget=Budget(characters=8)) == "axcybxcy"
    options: dict[str, Any] = {"snippets": snippets.get, "budget": Budget(characters=7)}
    assert render_fault(template, data, **options) == TOO_LONG


def test_time_runs_out() -> None:
    nested = "{{each l}}" * 4 + "{{if loop_var > 2}}{{end}}" + "{{end}}" * 4
    budget = Budget(steps=10**12, characters=10**12, seconds=0.05)
    started = thread_time()
    assert render_fault(nested, WIDE, budget=budget) == TOO_SLOW
    assert thread_time() - started < 1


def test_a_budget_can_be_shared_by_parts() -> None:
    budget = Budget(characters=10)
    part = compile_part("{{s}}", HTML)
    part.render({"s": "123456"}, budget=budget)
    with pytest.raises(TemplateRenderError, match=TOO_LONG):
        part.render({"s": "123456"}, budget=budget)


def test_each_part_has_the_full_time() -> None:
    budget = Budget(seconds=0)
    with pytest.raises(TemplateRenderError, match=TOO_SLOW):
        render("{{each l}}" * 2 + "{{end}}" * 2, WIDE, budget=budget)
    budget.seconds = 5
    assert render("{{each l}}" * 2 + "{{end}}" * 2, WIDE, budget=budget) == ""


def test_many_pieces_of_dynamic_content_run_out_of_time_or_steps() -> None:
    pieces = {f"k{n}": f"{{{{n}}}}{n}" for n in range(3000)}
    data = {"l": list(pieces), "n": 1}
    template = "{{each l}}{{render_dynamic_content(dynamic_html[loop_var])}}{{end}}"
    options: dict[str, Any] = {"dynamic": {"dynamic_html": pieces}, "budget": Budget(seconds=0.1)}
    assert render_fault(template, data, **options).endswith(TOO_SLOW)


def test_dynamic_content_that_multiplies_itself_ends() -> None:
    call = "{{render_dynamic_content(dynamic_html['NEXT'])}}"
    pieces = {str(n): call.replace("NEXT", str(n + 1)) * 30 for n in range(9)}
    template = "{{render_dynamic_content(dynamic_html['0'])}}"
    assert "nested more than 5 deep" in render_fault(template, dynamic={"dynamic_html": pieces})


def test_dynamic_content_that_multiplies_loops_ends() -> None:
    inner = "{{each l}}{{each l}}{{s}}{{end}}{{end}}"
    template = "{{each l}}{{render_dynamic_content(dynamic_html.c)}}{{end}}"
    assert render_fault(template, WIDE, dynamic={"dynamic_html": {"c": inner}}).endswith(TOO_LONG)


def test_deep_data_is_walked_only_as_far_as_the_template_goes() -> None:
    deep: Any = "end"
    for _ in range(100_000):
        deep = {"d": deep}
    assert render("{{v.d.d.d.x}}", {"v": deep}) == ""
    assert render_fault("{{v}}", {"v": deep}) == "attempt to print an object"
    assert render("{{v == v}}", {"v": deep}) == "true"
    wrapped: Any = [deep]
    assert render("{{each w}}{{loop_var.d.d == 1}}{{end}}", {"w": wrapped}) == "false"


def test_wide_data_costs_only_what_is_read() -> None:
    wide = {f"k{n}": n for n in range(200_000)}
    started = thread_time()
    assert render("{{v.k7}}{{k9}}", {"v": wide, **wide}) == "79"
    assert thread_time() - started < 0.2


MEGABYTE = 1024 * 1024
HOSTILE = {
    "open braces": "{{" * (MEGABYTE // 2),
    "open expressions": "{{a " * (MEGABYTE // 4),
    "open strings": "{{'a" * (MEGABYTE // 4),
    "one open string": '{{"' + "a" * MEGABYTE,
    "escapes": "{{'" + "\\" * MEGABYTE,
    "digits": "{{" + "9" * MEGABYTE + "}}",
    "hexadecimal": "{{0x" + "f" * MEGABYTE + "}}",
    "exponent": "{{1e" + "9" * MEGABYTE + "}}",
    "dots": "{{" + "." * MEGABYTE + "}}",
    "brackets": "{{" + "(" * MEGABYTE + "}}",
    "blanks in a tag": "{{" + " " * MEGABYTE,
    "blank lines": "{{if a}}" + " \n" * (MEGABYTE // 2) + "{{end}}",
    "blanks": "{{if a}}" + " " * MEGABYTE + "{{end}}x",
    "links": "http://" * (MEGABYTE // 7) + "{{a}}",
    "short links": 'http://"' * (MEGABYTE // 8) + "{{a}}",
    "elements": "<template " * (MEGABYTE // 10) + "{{a}}",
    "attributes": "<template" + " type " * (MEGABYTE // 6) + ">{{a}}",
    "mustache": '<template type="amp-mustache">{{a}}' * (MEGABYTE // 35),
    "open mustache": '<template type="amp-mustache">' + "{{a " * (MEGABYTE // 4),
    "triple mustache": '<template type="amp-mustache">' + "{{{a}}" * (MEGABYTE // 6),
    "tags": "{{a}}" * (MEGABYTE // 5),
    "statements": "{{if a}}{{end}}" * (MEGABYTE // 15),
    "a long name": "{{" + "a" * MEGABYTE + " > 1}}",
    "a long path": "{{" + "a." * 400 + "a" * MEGABYTE + "}}",
    "alternatives": "{{" + " or ".join(["a"] * 490) + "}}",
    "braces as text": "}" * MEGABYTE + "{" + "{{a}}",
}


@pytest.mark.parametrize("part", [HTML, TemplatePart("amp_html")], ids=["html", "amp_html"])
@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE.keys())
def test_compiling_takes_time_in_proportion_to_the_source(source: str, part: TemplatePart) -> None:
    started = thread_time()
    message = ""
    try:
        compile_part(source, part).render({"a": 1})
    except TemplateError as error:
        message = str(error)
    assert len(message) < 300
    assert thread_time() - started < 3


def test_a_source_may_fill_a_message() -> None:
    half = "x" * (10 * MEGABYTE)
    assert render(half + "{{a}}" + half, {"a": 1}) == half + "1" + half


def test_too_many_tags_are_refused() -> None:
    assert syntax_fault("{{a}}" * 20_000) == "the template has too many substitutions"
