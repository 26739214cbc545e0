"""All errors of a part with their places, and the variables and snippets that it names."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings

from chalicelib.template_language import (
    AMP_HTML,
    HTML,
    TEXT,
    Place,
    TemplatePart,
    TemplateSyntaxError,
    analyse,
)
from chalicelib.template_language.analysis import MOST_ERRORS
from chalicelib.template_language.compiled import compile_uncached
from tests.unit.template_language.test_fuzz import PARTS, TEMPLATES

MISSING_END = "substitution statement missing ending"


def errors(source: str) -> list[tuple[int, int, str, str]]:
    """Return line, column, the text at the place, and the detail of each error."""
    lines = source.split("\n")
    result = []
    for located in analyse(source, HTML).errors:
        assert located.place is not None
        line, column, length = located.place
        rest = "\n".join(lines[line - 1 :])[column - 1 :]
        assert located.error.line == line
        result.append((line, column, rest[:length], located.error.detail))
    return result


def detail_of_compiling(source: str, part: TemplatePart) -> str:
    """Return the detail of the error that compiling ends with, if it does."""
    try:
        compile_uncached(source, part)
    except TemplateSyntaxError as error:
        return error.detail
    return ""


def test_every_error_is_reported_at_its_place() -> None:
    source = "Hi {{ a b }},\n{{each l}}\n  {{ x + }}\n{{end}} {{ 1.2.3 }}{{ fine }} {{ nope() }}"
    assert errors(source) == [
        (1, 9, "b", "syntax error near 'b'"),
        (3, 10, "}}", "syntax error near '}}'"),
        (4, 15, ".3", "syntax error near '.3'"),
        (4, 34, "nope", "macro 'nope' does not exist"),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # A bad condition still opens its block
        ("{{if a b}}x{{else}}y{{end}}", [(1, 8, "b", "syntax error near 'b'")]),
        ("{{if ?}}x{{else}}y{{end}}", [(1, 6, "?", "syntax error near '?'")]),
        ("{{each l l}}{{loop_var}}{{end}}", [(1, 10, "l", "syntax error near 'l'")]),
        ("{{if a}}x{{elseif ?}}y{{else z}}{{end !}}", [
            (1, 19, "?", "syntax error near '?'"),
            (1, 30, "z", "syntax error near 'z'"),
            (1, 39, "!", "syntax error near '!'"),
        ]),
        # Braces that do not close, alone or before others
        ("{{ a {{b}} {{ c", [
            (1, 1, "{{", f"{MISSING_END} '}}}}'"),
            (1, 12, "{{", f"{MISSING_END} '}}}}'"),
        ]),
        ("{{{ a }} {{end}}", [
            (1, 1, "{{{", f"{MISSING_END} '}}}}}}'"),
            (1, 10, "{{end}}", "a lone 'end' was detected"),
        ]),
        # Every block that is not closed
        ("{{if a}}\n{{each l}}", [
            (1, 1, "{{if a}}", "'if' is missing its 'end'"),
            (2, 1, "{{each l}}", "'each' is missing its 'end'"),
        ]),
        ("{{else}}{{end}}", [
            (1, 1, "{{else}}", "a lone 'else' was detected"),
            (1, 9, "{{end}}", "a lone 'end' was detected"),
        ]),
        # Columns count characters, not bytes
        ("\U0001f600é {{ ? }}", [(1, 7, "?", "syntax error near '?'")]),
        ("{{ a\n\n  ? }}", [(3, 3, "?", "syntax error near '?'")]),
    ],
)  # fmt: skip
def test_an_error_causes_no_others(source: str, expected: list[tuple[int, int, str, str]]) -> None:
    assert errors(source) == expected


def test_a_snippet_may_not_include_other_content() -> None:
    source = "{{ render_snippet('a') }}"
    assert analyse(source, HTML).errors == []
    (located,) = analyse(source, HTML, snippet=True).errors
    assert located.error.detail == "render_snippet cannot be used in a snippet"
    assert located.place == (1, 4, len("render_snippet"))


def test_the_number_of_errors_is_limited() -> None:
    for source in ("{{?}}" * 5000, "{{if a}}" * 5000, "{{else}}" * 5000, "{{ a " * 5000):
        assert len(analyse(source, HTML).errors) == MOST_ERRORS


def test_hostile_sources_take_no_longer_than_fine_ones() -> None:
    def seconds(source: str) -> float:
        started = time.process_time()
        analyse(source, TEXT)
        return time.process_time() - started

    fine = seconds("{{ a.b }} x\n" * 5000)
    hostile = ["{{ ' " * 20_000, "{{?" * 30_000, "{{if a}}{{else}}" * 5000, "{{(" * 30_000]
    assert max(map(seconds, hostile)) < 5 * fine + 0.2


def test_too_many_substitutions_are_an_error_with_a_place() -> None:
    (located,) = analyse("{{a}}" * 40_000, TEXT).errors
    assert located.error.detail == "the template has too many substitutions"
    assert located.place is not None


@settings(max_examples=300, deadline=None)
@given(TEMPLATES, PARTS)
def test_the_error_that_compiling_ends_with_is_among_them(source: str, part: TemplatePart) -> None:
    analysis = analyse(source, part)
    described = {located.error.detail for located in analysis.errors}
    detail = detail_of_compiling(source, part)
    assert detail in described if detail else not described


def test_the_first_place_of_each_variable_is_noted() -> None:
    source = (
        "{{ user.name }}{{ user['name'] }}\n{{if not user.names[1].first}}{{ x['a b'] }}{{end}}"
        "{{each items}}{{ loop_var.price }}{{ loop_index }}{{ loop_vars.items }}{{ y[k].z }}{{end}}"
        "{{ render_dynamic_content(dynamic_html.banner) }}"
    )
    analysis = analyse(source, HTML)
    lines = source.split("\n")

    def text_at(place: Place) -> str:
        return lines[place.line - 1][place.column - 1 :][: place.length]

    assert [(each.name, text_at(each.place)) for each in analysis.variables] == [
        ("user.name", "user"),
        ("user.names[1].first", "user"),
        ("x['a b']", "x"),
        ("items", "items"),
        ("k", "k"),
        ("y", "y"),
        ("dynamic_html.banner", "dynamic_html"),
    ]
    assert analysis.variables[0].place == (1, 4, 4)


def test_data_has_a_variable_if_its_value_is_not_null() -> None:
    source = "{{a}}{{b.c}}{{l[1]}}{{l[3].x}}{{l[0]}}{{n}}{{f}}{{s.t}}"
    data = {"a": "", "b": {"c": 0}, "l": [1, 2, {"x": 1}], "n": None, "f": False, "s": "text"}
    variables = {each.name: each.is_in(data) for each in analyse(source, HTML).variables}
    assert [name for name, present in variables.items() if not present] == ["l[0]", "n", "s.t"]


def test_snippets_that_are_named_literally_are_noted() -> None:
    source = "{{ render_snippet('a') }}{{ render_snippet(b) }}\n{{{ render_snippet(\"c\") }}}"
    snippets = analyse(source, AMP_HTML).snippets
    assert snippets == {"a": (1, 19, 3), "c": (2, 20, 3)}


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ("{{a}}", "a"),
        ("{{a or 'x'}}", ""),
        ("{{a or b or c}}", "c"),
        ("{{(a or b) or 'x'}}", ""),
        ("{{a or b.c + 1}}", "b.c"),
        ("{{a == b or c}} {{d}}", "c d"),
        ("{{a and 'x'}}", ""),
        ("{{a or 'x'}} {{a}}", "a"),
        ("{{if a}}{{a}}{{a.b}}{{c}}{{end}}", "c"),
        ("{{if a}}{{end}}{{a}}", "a"),
        ("{{if a}}{{elseif b > 1}}{{a}}{{b}}{{else}}{{c}}{{end}}{{b}}", "b c"),
        ("{{if a}}{{if not b}}{{b}}{{c}}{{end}}{{a}}{{end}}", "c"),
        ("{{if empty(l)}}{{else}}{{each l}}{{loop_var}}{{end}}{{end}}", ""),
        ("{{if a.b}}{{a.c}}{{a.b}}{{end}}", "a.c"),
        ("{{each l}}{{if loop_var.x}}{{y}}{{end}}{{end}}", "l y"),
    ],
)
def test_a_variable_is_optional_if_the_template_copes_without_it(source: str, needed: str) -> None:
    names = [each.name for each in analyse(source, HTML).variables if not each.is_optional]
    assert sorted(names) == needed.split()


def test_errors_of_blocks_leave_no_test_open() -> None:
    for source in ("{{end}}{{if a}}", "{{else}}{{elseif b}}{{a}}", "{{if }}{{end}}{{end}}{{a}}"):
        assert analyse(source, HTML).errors
