"""Blanks around statements; `~` stands for a newline."""

from __future__ import annotations

import pytest

from .rendering import render


def show(template: str, newline: str = "\n", **data: object) -> str:
    return render(template.replace("~", newline), data).replace(newline, "~")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("{{if a}}  \t~X~{{end}} ~Y", "X~Y"),
        ("S~  {{if a}}~    X~  {{end}}~E", "S~    X~E"),
        ("S~{{if a}}{{if a}}~X~{{end}} {{end}}~E", "S~X~E"),
        ("S~ {{if a}} {{if a}} ~X~ {{end}} {{end}} ~E", "S~X~E"),
        ("{{if a}}~~X~{{end}}", "~X~"),
        ("S {{if a}}X{{end}}~E", "S XE"),
        ("S {{if a}} X {{end}} E", "S  X  E"),
        ("X{{if a}}{{end}}  ", "X"),
        ("{{if f}}~N~{{else}}~Y~{{end}}~E", "Y~E"),
        ("{{a}}  ~ {{a}}~", "1  ~ 1~"),
        ("~{{a}}~~{{a}}", "~1~~1"),
        ("S~{{if a}}X{{end}}, E", "S~X, E"),
        ("S~{{if f}}X{{end}}E", "S~E"),
    ],
)
def test_statements_remove_blanks_around_them_and_expressions_do_not(
    template: str, output: str, newline: str
) -> None:
    assert show(template, newline, a=1, f=False) == output


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("template", "output"),
    [
        ("{{each l}}~- {{loop_var}}~{{end}}, E", "- a~- b, E"),
        ("{{each l}}~- {{loop_var}}~  {{end}}{{a}}", "- a~- b1"),
        ("{{if a}}~{{if a}}~X~{{end}}~{{end}}, E", "X, E"),
        ("{{each l}}~{{if f}}~N~{{end}}~Y~{{end}}.", "Y~Y."),
        ("{{if a}}~{{if a}}~X~{{end}}{{end}}, E", "X, E"),
        ("S~{{if f}}~X~{{end}}, E", "S, E"),
        ("{{if f}}~X~{{end}}, E", ", E"),
        ("{{if a}}~X~{{end}}{{if f}}N{{end}}~E", "X~E"),
        ("{{if a}}~X~{{end}} {{a}}", "X 1"),
    ],
)
def test_text_after_an_end_that_begins_a_line_joins_the_line_before(
    template: str, output: str, newline: str
) -> None:
    assert show(template, newline, a=1, f=False, l=["a", "b"]) == output


def test_a_value_that_spells_the_mark_for_joining_is_only_a_value() -> None:
    assert show("{{if a}}~{{v}}~{{end}}x{{v}}", a=1, v="join") == "joinxjoin"
