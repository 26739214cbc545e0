from __future__ import annotations

import pytest

from chalicelib.generation.css import MOST_NESTED, inline_css
from chalicelib.generation.faults import RenderFault
from chalicelib.tracking.links import MARK
from chalicelib.tracking.literal_links import mark

pytestmark = pytest.mark.spec("2.1-t16")


def page(styles: str, inner: str) -> str:
    return f"<html><head><style>{styles}</style></head><body>{inner}</body></html>"


def test_a_style_sheet_becomes_style_attributes() -> None:
    html = inline_css(page("p { color: red } .big { font-size: 2em }", '<p class="big">x</p>'))
    assert '<p class="big" style="' in html
    assert "color: red" in html.replace("color:red", "color: red")
    assert "font-size" in html


def test_the_style_attribute_of_an_element_wins() -> None:
    html = inline_css(page("p { color: red }", '<p style="color: blue">x</p>'))
    style = html.partition('<p style="')[2].partition('"')[0].replace(" ", "")
    assert style.rstrip(";").endswith("color:blue")


def test_rules_for_some_media_stay_in_a_style_element() -> None:
    html = inline_css(page("p{color:red} @media print { p { color: black } }", "<p>x</p>"))
    assert "<style>" in html
    assert "@media print" in html


def test_html_without_styles_keeps_its_content() -> None:
    html = inline_css('<p>é &amp; <a href="https://e.test/?a=1&amp;b=2">x</a></p>')
    assert '<p>é &amp; <a href="https://e.test/?a=1&amp;b=2">x</a></p>' in html


@pytest.mark.parametrize("begin", ["http", "https:", "https://", "https://a.example/b"])
def test_rules_about_the_urls_of_links_hold_for_links_that_are_marked(begin: str) -> None:
    link = '<a href="https://a.example/b">x</a>'
    html = inline_css(mark(page(f'a[href^="{begin}"] {{ color: red }}', link)))
    assert f'<a href="{MARK}https://a.example/b" style="color: red' in html


def test_no_remote_style_sheet_is_fetched() -> None:
    link = '<link rel="stylesheet" href="http://127.0.0.1:9/x.css">'
    html = inline_css(f"<html><head>{link}</head><body><p>x</p></body></html>")
    assert "<p>x</p>" in html


@pytest.mark.parametrize("tag", ["div", "b", "unknown-tag"])
def test_html_that_is_nested_too_deeply_is_a_fault(tag: str) -> None:
    with pytest.raises(RenderFault, match="nested too deeply"):
        inline_css(f"<{tag}>" * 200_000)
    inline_css(f"<{tag}>" * (MOST_NESTED - 1))


def test_many_elements_side_by_side_are_not_deep() -> None:
    inner = "<p>x</p><br><img src='y'>" * 3000
    assert inline_css(page("p{color:red}", inner)).count("<p style=") == 3000


def test_strange_html_is_no_fault() -> None:
    for html in ("", "<", "</p></p>", "<style>p{", "<p", "\x00<p>\x00", "<style>@import 'x';"):
        assert isinstance(inline_css(html), str)
