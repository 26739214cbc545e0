from __future__ import annotations

import pytest

from chalicelib.css_inlining.declarations import Declaration, DeclarationBlock, declarations, merged
from tests.unit.linear_time import assert_linear


def block(text: str, specificity: int = 0, order: int = 0) -> DeclarationBlock:
    return DeclarationBlock((0, 0, specificity), order, declarations(text) or ())


def style(*blocks: DeclarationBlock, own: str = "", elsewhere: str = "") -> str:
    return merged(blocks, own, elsewhere.split())


class TestDeclarations:
    def test_a_declaration_has_a_name_a_value_and_its_importance(self) -> None:
        text = (
            " Color : red ; --My-x:1; mso-hide:all; width:1px ! IMPORTANT;/* c */margin:/*d*/0 1px"
        )
        assert declarations(text) == (
            Declaration("color", "red", False),
            Declaration("--My-x", "1", False),
            Declaration("mso-hide", "all", False),
            Declaration("width", "1px", True),
            Declaration("margin", "0 1px", False),
        )

    def test_a_value_is_one_line(self) -> None:
        (declaration,) = declarations("font:\n  a,\r\n\tb") or ()
        assert declaration.value == "a, b"

    @pytest.mark.parametrize(
        "text",
        ["*zoom:1", "color", "color:", ":red", "a b:c", "color:'x", "x:(", "x:\\", "1a:b", ";"],
    )
    def test_what_is_no_declaration_is_left_out(self, text: str) -> None:
        assert declarations(text) == ()

    def test_a_block_with_rules_in_it_has_no_plain_declarations(self) -> None:
        assert declarations("color:red;&:hover{color:blue}") is None

    @pytest.mark.parametrize(
        "unit", ["a:b;", "a:", "a:b!important", "! ", "\n", " ", "'", "a:(", "--"]
    )
    def test_hostile_blocks_take_linear_time(self, unit: str) -> None:
        assert_linear(declarations, unit * (100_000 // len(unit)))


class TestMerging:
    def test_the_more_specific_and_the_later_rule_win_and_stand_last(self) -> None:
        assert style(block("a:2", 2), block("a:1", 1, order=9)) == "a: 2;"
        assert style(block("a:1"), block("a:2", order=1)) == "a: 2;"
        rules = block("margin:0", 2), block("margin-top:5px", 1, order=1)
        assert style(*rules) == "margin-top: 5px;margin: 0;"
        late = block("margin-top:9px", 0, order=3)
        rules = block("margin-top:1px"), block("margin:0", order=1), late
        assert style(*rules) == "margin: 0;margin-top: 9px;"

    def test_a_rule_may_declare_a_property_twice(self) -> None:
        twice = block("background:#fff;background:linear-gradient(a,b)", 1)
        assert style(block("background:red"), twice).count("background") == 2
        assert style(block("margin:0;padding:0;margin:0")) == "padding: 0;margin: 0;"

    def test_the_attribute_s_own_declarations_win_and_stay_as_they_are(self) -> None:
        assert style(block("a:1;b:2"), own="a:3; *x") == "b: 2;a:3; *x"

    def test_important_declarations_win(self) -> None:
        strong = block("a:1!important")
        assert style(strong, block("a:2", 5), own="a:3") == "a: 2;a:3;a: 1 !important;"[5:]
        assert style(strong, own="a:3!important") == "a:3!important"
        assert style(block("a-b:1!important"), own="a:3!important") == "a:3!important"
        assert style(strong, block("a:4!important", 5)) == "a: 4 !important;"

    def test_an_important_declaration_yields_to_those_that_stay_in_style_sheets(self) -> None:
        strong = block("color:#fff!important;margin:0!important")
        assert style(strong, own="x:y", elsewhere="color") == (
            "x:y;color: #fff;margin: 0 !important;"
        )

    def test_an_attribute_that_is_not_complete_stays_last(self) -> None:
        assert style(block("a:1!important"), own="b:(") == "a: 1 !important;b:("

    def test_values_are_written_for_an_attribute_in_double_quotes(self) -> None:
        rule = block("""a:"x";b:"y'";c:url(d?e&f)""")
        assert style(rule, own="""g:"h&amp;" """) == (
            "a: 'x';b: &quot;y'&quot;;c: url(d?e&amp;f);g:&quot;h&amp;&quot; "
        )

    def test_entities_of_the_attribute_are_read(self) -> None:
        own = "font-family:&quot;a;b&quot;;col&#111;r:red"
        assert style(block("color:blue;x:y"), own=own) == f"x: y;{own}"
