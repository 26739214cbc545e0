from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.css_inlining.document import Document
from tests.unit.linear_time import assert_linear


def restyled(html: str, style: str = "a: b;") -> str:
    document = Document(html)
    return document.rewritten(dict.fromkeys(range(len(document.tags)), style), {})


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("<p>", '<p style="a: b;">'),
        ("<P >", '<P style="a: b;" >'),
        ("<br/>", '<br style="a: b;"/>'),
        ("<br />", '<br style="a: b;" />'),
        ('<img src="x"/>', '<img src="x" style="a: b;"/>'),
        ("<a href=x/>", '<a href=x/ style="a: b;">'),
        ("<a href=x>", '<a href=x style="a: b;">'),
        ("<p a style=c:d e>", '<p a style="a: b;" e>'),
        ("<p\nSTYLE = 'c:d'id=x>", '<p style="a: b;" id=x>'),
        ('<p style="c:d"style="e:f"/>', '<p style="a: b;" style="e:f"/>'),
        ("<p style>", '<p style="a: b;">'),
        ("<p data-style='style'>", "<p data-style='style' style=\"a: b;\">"),
        ("<v:rect fill='t'/>", "<v:rect fill='t' style=\"a: b;\"/>"),
    ],
)
def test_a_style_attribute_stands_where_the_old_one_was_or_at_the_end(
    tag: str, expected: str
) -> None:
    assert restyled(f"é{tag}&amp;</p>") == f"é{expected}&amp;</p>"


class Attributes(HTMLParser):
    """The attributes of all start tags, as the standard library reads them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=False)
        self.tags: list[list[tuple[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(attrs)


NAMES = st.sampled_from(["a", "style", "STYLE", "id", "data-style"])
VALUES = st.sampled_from(["", "=x", "='x y'", '="x>y"', "= x", '="/"'])
TAGS = st.lists(st.tuples(st.sampled_from([" ", "\n", " / "]), NAMES, VALUES), max_size=4).map(
    lambda attributes: f"<p{''.join(map(''.join, attributes))}>"
)


@given(TAGS)
def test_all_other_attributes_stay(tag: str) -> None:
    (before,) = Attributes(tag).tags
    (after,) = Attributes(restyled(tag)).tags
    assert dict(reversed(after))["style"] == "a: b;"
    others = [each for each in before if each[0] != "style"]
    assert [each for each in after if each[0] != "style"] == others


@given(TAGS)
def test_numbers_are_the_last_attributes_and_style_attributes_are_absent(tag: str) -> None:
    (before,) = Attributes(tag).tags
    (after,) = Attributes(Document(tag).numbered("n")).tags
    assert after[-1] == ("n", "0")
    first = next((each for each in before if each[0] == "style"), None)
    assert len(after) == len(before) + 1 - (first is not None)


def test_only_elements_that_show_something_have_numbers() -> None:
    html = (
        "<html><head><meta><title>x<p></title><style>p</style></head><!-- <p> --><body><p></html>"
    )
    assert [tag.name for tag in Document(html).tags] == ["html", "body", "p"]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        *(("", True), ('type="text/css"', True), ("type=TEXT/CSS", True), ("media=''", True)),
        *(("media=all", True), ("media='print, Screen'", True), ("media=screen", True)),
        *(("media=print", False), ("media='screen and (max-width:9px)'", False)),
        *(("media='only screen'", False), ("type=text/less", False), ("data-embed", False)),
        *(("data-css-inline=ignore", False), ("data-css-inline=keep", True)),
        *(("media=screen media=print", True), ("media=print media=screen", False)),
    ],
)
def test_style_sheets_for_all_screens_are_to_be_inlined(attributes: str, expected: bool) -> None:
    document = Document(f"<STYLE {attributes}>p{{}}</STYLE >")
    assert bool(document.inlinable()) is expected


@pytest.mark.parametrize(
    ("html", "count"),
    [
        ("<!--[if mso]><style>a{}</style><![endif]-->", 0),
        ("<!--[if !mso]><!--><style>a{}</style><!--<![endif]-->", 0),
        ("<!--[if !mso]>--><style>a{}</style><!--<![endif]-->", 0),
        ("<![if !mso]><style>a{}</style><![endif]>", 0),
        ("<!--[if mso]>x<![endif]--><style>a{}</style>", 1),
        ("<!--[if !mso]><!-->x<!--<![endif]--><style>a{}</style>", 1),
        ("<style>a{}</style><!--[if mso]>x", 1),
    ],
)
def test_style_sheets_within_conditionals_are_not_for_all_programs(html: str, count: int) -> None:
    assert len(Document(html).inlinable()) == count


def test_a_style_element_without_content_is_left_out() -> None:
    document = Document("a<style>b</style >c<style media=x>d</style>e")
    first, second = document.style_elements
    assert document.rewritten({}, {first: "", second: "D"}) == "ac<style media=x>D</style>e"


@given(st.text(alphabet="<>/!-[]= \"'psty\nle"))
def test_any_text_can_be_read(text: str) -> None:
    document = Document(text)
    assert document.rewritten({}, {}) == text
    document.numbered("n")


@pytest.mark.parametrize(
    "unit", ["<p>", "<p style=x>", "<![if", "<style>", "<!--[if]", "<p style", "<", "<p/", "<p a"]
)
def test_hostile_html_takes_linear_time(unit: str) -> None:
    def read(html: str) -> None:
        Document(html).inlinable()
        restyled(html)

    assert_linear(read, unit * (60_000 // len(unit)))
