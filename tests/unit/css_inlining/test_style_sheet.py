from __future__ import annotations

import pytest

from chalicelib.css_inlining.style_sheet import StyleSheet, important_families
from tests.unit.linear_time import assert_linear

SHEET = """<!-- /* head */
@import url("x;y.css");
p, a:hover { color: red }
@media print { p { color: black } }
h1 { margin: 0 }
p { a { color: red } }
-->"""


def test_rules_have_their_selectors_and_declarations() -> None:
    sheet = StyleSheet(SHEET)
    texts = [[each.text for each in rule.selectors] for rule in sheet.rules]
    assert texts == [[], ["p", "a:hover"], [], ["h1"], [], []]
    assert "".join(rule.text for rule in sheet.rules) == SHEET


def test_what_was_not_inlined_stays_as_it_was() -> None:
    sheet = StyleSheet(SHEET)
    assert sheet.rest([]) == SHEET
    assert sheet.rest([(1, 0), (3, 0)]) == (
        SHEET.replace("\np, a:hover ", "a:hover").replace("\nh1 { margin: 0 }", "")
    )


def test_of_a_sheet_that_was_inlined_nothing_stays() -> None:
    sheet = StyleSheet("<!-- /* x */ p{color:red} -->")
    assert sheet.rest([(0, 0)]) == ""


@pytest.mark.parametrize("css", ["p{color:red", "p{color:red;", "p{color:red}"])
def test_the_end_closes_a_rule(css: str) -> None:
    (rule,) = StyleSheet(css).rules
    assert [each.text for each in rule.selectors] == ["p"]
    assert rule.declarations[0].value == "red"


@pytest.mark.parametrize("css", ["", "p", "{", "}", "@media", "@media{", "p{", "<!--", "/*", "@x;"])
def test_any_sheet_can_be_read(css: str) -> None:
    assert StyleSheet(css).rest([]) in (css, "")


def test_important_properties_are_listed_by_family() -> None:
    css = "@media x{p{color:red!important;margin-top:0 ! important}} a{b:c;-webkit-x:y!important}"
    assert important_families(css) == {"color", "margin", "-webkit-x"}


@pytest.mark.parametrize(
    "unit", ["p{a:b}", "@x;", ";", "p{", "<!--", "/**/", " ", "a,", "}", "!important", "a:! "]
)
def test_hostile_sheets_take_linear_time(unit: str) -> None:
    for read in (StyleSheet, important_families):
        assert_linear(read, unit * (60_000 // len(unit)))
