from __future__ import annotations

import pytest

from chalicelib.css_inlining.selectors import selectors
from tests.unit.linear_time import assert_linear


@pytest.mark.parametrize(
    ("selector", "specificity"),
    [
        ("*", (0, 0, 0)),
        ("li", (0, 0, 1)),
        ("ul li", (0, 0, 2)),
        ("h1 + *[rel=up]", (0, 1, 1)),
        ("ul ol li.red", (0, 1, 3)),
        ("li.red.level", (0, 2, 1)),
        ("#x34y", (1, 0, 0)),
        ("#s12:not(foo)", (1, 0, 1)),
        ("tr:nth-child(2n+1)>td:first-child", (0, 2, 2)),
        (".sm\\:w-1\\/2", (0, 1, 0)),
        ("a[title='x, #y .z']", (0, 1, 1)),
        (".é", (0, 1, 0)),
    ],
)
def test_specificity_is_that_of_the_standard(selector: str, specificity: tuple[int, ...]) -> None:
    (result,) = selectors(selector)
    assert result.matcher
    assert result.specificity == specificity


@pytest.mark.parametrize(
    "selector",
    [
        *("a:hover", "a:link", "a:not(:hover)", "input:checked+p", ":root", "p:empty", "a:is(b)"),
        *("p::before", "p:before", "p::first-line", "div[style*='margin: 16px 0']", "[ Style ]"),
        *("p:not(.a,.b)", "a|b", "&:x", "p /", "}p", "", "p\\", "[x", "p:nth-child(2 of .x)"),
    ],
)
def test_what_depends_on_the_reader_or_is_no_selector_has_no_matcher(selector: str) -> None:
    assert [each.matcher for each in selectors(selector)] in ([""], ["", ""])


def test_a_rule_has_a_selector_for_each_outer_comma() -> None:
    texts = [each.text for each in selectors("a , b:is(c,d),[e=','] /* , */,f")]
    assert texts == ["a", "b:is(c,d)", "[e=',']", "f"]


@pytest.mark.parametrize(
    "unit", ["a", ".a", "#", "[", "['", ":not(", ":nth-child(1", "\\", "a,", " "]
)
def test_hostile_selectors_take_linear_time(unit: str) -> None:
    assert_linear(selectors, unit * (100_000 // len(unit)))
