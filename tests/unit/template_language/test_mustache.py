from __future__ import annotations

import pytest

from chalicelib.template_language import AMP_HTML, HTML, TemplateSyntaxError, compile_part

from .rendering import render


def inside(tags: str) -> str:
    return f'<template type="amp-mustache">{tags}</template>'


@pytest.mark.parametrize(
    "tags",
    [
        "{{name}}",
        "{{#items}}{{price}}{{/items}}{{^items}}none{{/items}}",
        "{{{raw}}}",
        "{{> p}}",
        "{{! note }}",
        "{{if a}}",
        "{{",
        "{{{ never closed }}",
        "{{elseif}}",
    ],
)
def test_tags_of_mustache_templates_survive(tags: str) -> None:
    assert render(inside(tags) + "", {"name": "x"}, AMP_HTML) == inside(tags)


@pytest.mark.parametrize(
    "opening",
    [
        '<template type="amp-mustache">',
        "<template type='amp-mustache' id=x>",
        "<TEMPLATE id=x TYPE=AMP-Mustache>",
        '<template\n type = "amp-mustache">',
    ],
)
def test_only_the_inside_of_a_mustache_template_is_special(opening: str) -> None:
    template = "{{n}}" + opening + "{{n}}</template>{{n}}"
    assert render(template, {"n": 1}, AMP_HTML) == "1" + opening + "{{n}}</template>1"


@pytest.mark.parametrize("opening", ["<template>", '<template type="text">', "<templates>", "<p>"])
def test_other_elements_are_not(opening: str) -> None:
    assert render(opening + "{{n}}</template>", {"n": 1}, AMP_HTML) == opening + "1</template>"


@pytest.mark.parametrize(
    ("tags", "output"),
    [
        ("{{sparkpost_name}}", "S"),
        ("{{svc_name}}", "N"),
        ("{{opening_double_curly()}}x{{closing_double_curly()}}", "{{x}}"),
        ("{{each svc_list}}{{loop_var}}{{x}}{{end}}", "1{{x}}2{{x}}"),
        ("{{if svc_name}}{{a}}{{else}}{{b}}{{end}}", "{{a}}"),
    ],
)
def test_tags_that_are_clearly_ours_run(tags: str, output: str) -> None:
    data = {"sparkpost_name": "S", "svc_name": "N", "svc_list": [1, 2]}
    assert render(inside(tags), data, AMP_HTML) == inside(output)


def test_an_end_is_ours_even_where_its_if_is_not() -> None:
    with pytest.raises(TemplateSyntaxError, match="a lone 'end' was detected"):
        compile_part(inside("{{if a}}{{end}}"), AMP_HTML)


def test_a_template_without_an_end_runs_to_the_end_of_the_part() -> None:
    assert render("<template type=amp-mustache>{{n}}", {"n": 1}, AMP_HTML).endswith("{{n}}")


def test_a_part_with_mustache_alone_is_static() -> None:
    assert compile_part(inside("{{n}}"), AMP_HTML).is_static


def test_html_parts_have_no_mustache_templates() -> None:
    assert render(inside("{{n}}"), {"n": 1}, HTML) == inside("1")
