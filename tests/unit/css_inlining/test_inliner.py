from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.css_inlining.inliner import inline, inlined
from chalicelib.tracking.links import MARK
from chalicelib.tracking.literal_links import mark

pytestmark = pytest.mark.spec("2.1-t16")


def page(styles: str, inner: str) -> str:
    return f"<html><head><style>{styles}</style></head><body>{inner}</body></html>"


def element(styles: str, inner: str) -> str:
    """Return what the body of a page holds after inlining."""
    match = re.search(r"<body[^>]*>(.*)</body>", inlined(page(styles, inner)), re.DOTALL)
    assert match
    return match[1]


def test_a_style_sheet_becomes_style_attributes() -> None:
    html = inlined(page("p { color: red } .big { font-size: 2em }", '<p class="big">x</p>'))
    assert html == (
        '<html><head></head><body><p class="big" style="color: red;font-size: 2em;">x</p>'
        "</body></html>"
    )


def test_the_style_attribute_of_an_element_wins() -> None:
    assert element("p { color: red; margin: 0 }", '<p style="color: blue">x</p>') == (
        '<p style="margin: 0;color: blue">x</p>'
    )


@pytest.mark.parametrize(
    "rule",
    [
        "a:hover{color:red}",
        "a:not(:hover){color:red}",
        ".x::before{content:'a'}",
        "p::first-line{color:red}",
        "[data-ogsc] .x{color:#fff}",
        "[data-ogsb] .x{color:#fff}",
        ".ExternalClass{width:100%}",
        ".ExternalClass *{line-height:100%}",
        "#outlook a{padding:0}",
        "u+.body .x{color:red}",
        "u + #body a{color:inherit}",
        "#MessageViewBody a{color:inherit}",
        "a[x-apple-data-detectors]{color:inherit!important}",
        "div[style*='margin: 16px 0']{margin:0!important}",
        '[class~="x_c"]{color:red}',
        "*[class=gmail-fix]{display:none!important}",
        "@media (max-width:600px){.x{width:100%!important}}",
        "@media screen{.x{color:red}}",
        "@media print{.x{display:none}}",
        "@media (prefers-color-scheme:dark){.x{color:#fff!important}}",
        "@font-face{font-family:X;src:url(x.woff)}",
        "@import url('https://fonts.example/css?family=X;Y');",
        "@keyframes k{from{color:red}to{color:blue}}",
        "@supports (display:grid){.x{color:red}}",
        ":root{color-scheme:light dark}",
        "v\\:*,o\\:*{behavior:url(#default#VML)}",
    ],
)
def test_rules_that_cannot_be_inlined_stay_as_they_are(rule: str) -> None:
    inner = '<p class="x">x</p><a href="https://example.test/">l</a>'
    html = page(f"p{{margin:0}}{rule}i{{color:red}}", inner)
    assert inlined(html) == html.replace("p{margin:0}", "").replace(
        '<p class="x">', '<p class="x" style="margin: 0;">'
    )
    assert inlined(page(rule, inner)) == page(rule, inner)


def test_a_rule_stays_for_those_of_its_selectors_that_matched_nothing() -> None:
    html = inlined(page("p, a:hover ,\n.ExternalClass p{color:red}", "<p>x</p>"))
    assert html == page("a:hover,.ExternalClass p{color:red}", '<p style="color: red;">x</p>')


def test_a_style_sheet_for_print_is_not_for_screens() -> None:
    html = '<style media="print">p{display:none}</style><style media=screen>p{a:b}</style><p>x</p>'
    assert inlined(html) == ('<style media="print">p{display:none}</style><p style="a: b;">x</p>')


IDIOMS = {
    "a public DOCTYPE": '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"\n'
    ' "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">',
    "namespaces": '<HTML xmlns="http://www.w3.org/1999/xhtml" '
    'xmlns:v="urn:schemas-microsoft-com:vml">',
    "an XML declaration": '<?xml version="1.0"?>',
    "Office settings": "<!--[if gte mso 9]><xml>\n<o:OfficeDocumentSettings><o:AllowPNG/>"
    "</o:OfficeDocumentSettings></xml><![endif]-->",
    "a hidden conditional": "<!--[if mso | IE]><table><tr><td><![endif]-->",
    "a revealed conditional": "<!--[if !mso]><!--><b>others</b><!--<![endif]-->",
    "a conditional of one sign less": "<!--[if !mso]>--><b>others</b><!--<![endif]-->",
    "an old conditional": "<![if !mso]><b>others</b><![endif]>",
    "VML": '<v:roundrect href="https://e.test" arcsize="8%"><w:anchorlock/><center>x</center>'
    "</v:roundrect>",
    "an Office paragraph": "<o:p>&nbsp;</o:p>",
    "entities": "&eacute;&copy;&nbsp;&#8203;&zwnj;&lt;é \u00a0&amp;amp;&unknown;&amp",
    "upper case": "<TABLE BORDER=0><TR><TD NOWRAP>x</TD></TR></TABLE>",
    "blanks": "\r\n\t <b>x</b>\n\n",
    "a template's leftovers": "{{ if x < 5 }}<b>{{x}}</b>{{end}} %recipient.name% *|FNAME|*",
    "quotes": "<img src='a.png' alt=x title=\"&quot;y&quot;\">",
    "mis-nesting": "<b><i>x</b></i><table><div>y</div></table></span>",
    "a preheader": '<div style="display:none;max-height:0px">&#847;&zwnj;&nbsp;</div>',
    "a link to a style sheet": '<link href="https://fonts.example/css" rel="stylesheet">',
    "what is after the end": "</body>\n</html>\n<!-- end -->\n",
    "AMP": '<html ⚡4email data-css-strict><script async src="https://cdn.example/v0.js"></script>',
}


@pytest.mark.parametrize("idiom", IDIOMS.values(), ids=IDIOMS)
def test_all_else_stays_as_it_is(idiom: str) -> None:
    html = f"{idiom}<style>p{{color:red}}</style>\n{idiom}<p>x</p>{idiom}"
    assert inlined(html) == f'{idiom}\n{idiom}<p style="color: red;">x</p>{idiom}'


def test_html_without_style_sheets_is_not_touched() -> None:
    for html in (
        "",
        "<p>é &amp; <a href=x>y</a>",
        "<style></style><p style=a:b>",
        "<!doctype html>",
    ):
        assert inlined(html) == html


def test_elements_are_found_by_what_they_are_and_not_by_how_that_is_written() -> None:
    inner = '<p class="a:b w-1/2">x</p><TD ID="x">x</TD><i id=x>y</i>' + "<b>z</b>" * 200
    styles = ".a\\:b{a:1}.w-1\\/2{b:2}TD{c:3}#x{d:4}[title='p,b']{e:5}"
    html = element(styles, f"<table><tr>{inner}</table><u title='p,b'>")
    assert html.count("a: 1;b: 2;") == 1
    assert html.count("c: 3;d: 4;") == 1
    assert html.count('<i id=x style="d: 4;">') == 1
    assert html.count("e: 5;") == 1


def test_specificity_decides_and_then_the_order() -> None:
    styles = "p.x{color:blue}p{color:red}#y{margin:0}.x{margin:1px;padding:1px}p{padding:2px}"
    assert element(styles, '<p class="x" id="y">') == (
        '<p class="x" id="y" style="padding: 1px;color: blue;margin: 0;">'
    )


def test_style_sheets_are_in_the_order_of_the_document() -> None:
    html = inlined("<style>p{a:1;b:1}</style><p>x</p><style>p{a:2}</style>")
    assert html == '<p style="b: 1;a: 2;">x</p>'


def test_important_rules_win_where_they_are_inlined_and_where_they_stay() -> None:
    dark = "@media (prefers-color-scheme:dark){.x{color:#fff!important}}"
    html = inlined(page(f".x{{color:#000!important;margin:0!important}}{dark}", "<p class=x>"))
    assert html == page(dark, '<p class=x style="color: #000;margin: 0 !important;">')


def test_elements_and_style_sheets_may_be_left_alone() -> None:
    html = "<style data-css-inline=keep>p{a:b}</style><p>x</p><p data-css-inline=ignore>y</p>"
    assert inlined(html) == html.replace("<p>", '<p style="a: b;">')


def test_elements_that_show_nothing_get_no_style() -> None:
    html = inlined("<html><head><style>*{margin:0}</style><title>x</title></head><body><p></html>")
    assert html.count("style") == 3
    assert "<title>" in html


@pytest.mark.parametrize("begin", ["http", "https:", "https://", "https://a.example/b"])
def test_rules_about_the_urls_of_links_hold_for_links_that_are_marked(begin: str) -> None:
    link = '<a href="https://a.example/b">x</a>'
    html = inlined(mark(page(f'a[href^="{begin}"] {{ color: red }}', link)))
    assert f'<a href="{MARK}https://a.example/b" style="color: red' in html


@pytest.mark.parametrize(
    "html",
    ["<", "</p></p>", "<style>p{", "<p", "\x00<p>\x00", "<style>@import 'x';", "<style>p{a:b}<p"],
)
def test_strange_html_stays(html: str) -> None:
    assert inlined(html) == html


def test_half_a_surrogate_pair_stays() -> None:
    html = "<style>p{content:'\ud800'}</style><p>\ud800</p>"
    data = inline(html.encode("utf-8", "surrogatepass"))
    assert data.decode("utf-8", "surrogatepass") == ("<p style=\"content: '\ud800';\">\ud800</p>")


def test_attributes_that_look_like_ours_forge_nothing() -> None:
    inner = '<p data-n0="1" style="--0: 0;">x</p><p title=\' data-n="0" style="--1: 0;"\'>'
    assert element("i{a:b}", inner) == inner


PIECES = st.sampled_from(
    [
        *("<p>", "<p class=x>", "<b>", "</b>", "<p style='a:1'>", "<![if x]>", "<!--", "-->"),
        *("<table>", "</table>", "<TD>", "x", " ", "<style>p,b{a:2}</style>", "<svg>", "<br/>"),
        *("&eacute;", "<i a=b"),
    ]
)


@given(st.lists(PIECES, max_size=30))
def test_nothing_but_styles_changes(pieces: list[str]) -> None:
    def stripped(html: str) -> str:
        html = re.sub(r"<style>.*?(</style>|$)", "", html)
        return re.sub(r""" style=("[^"]*"|'[^']*')""", "", html)

    html = "<style>p{a:1}.x{b:2}td,b:hover{c:3}</style>" + "".join(pieces)
    assert stripped(inlined(html)) == stripped(html)
