from __future__ import annotations

import html as stdlib_html
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.tracking import tokens
from chalicelib.tracking.model import Link
from chalicelib.tracking.rewrite import LinkRewriter, TrackingOptions, rewriter
from chalicelib.tracking.tokens import MessageTokens
from tests.unit.linear_time import assert_linear
from tests.unit.tracking.examples import (
    BASE,
    CLICKS,
    NOTHING,
    html,
    issuer,
    links,
    message,
    targets,
    undone,
)
from tests.unit.tracking.test_markup import SCRAPS, UNITS

OURS = ("linkname", "unsubscribe", "clicktrack", "sublink")


class Read(HTMLParser):
    """What the standard library reads in markup, with what tracking may change left out."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=False)
        self.events: list[object] = []
        self.hrefs: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("a", "area"):
            self.hrefs += [value or "" for name, value in attrs if name == "href"]
            attrs = [pair for pair in attrs if pair[0] != "href" and "data-svc-" not in pair[0]]
        self.events.append((tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        self.events.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        self.events.append(data)

    def handle_comment(self, data: str) -> None:
        self.events.append(("comment", data))

    def handle_decl(self, decl: str) -> None:
        self.events.append(("declaration", decl))

    def handle_entityref(self, name: str) -> None:
        self.events.append(("entity", name))


NEWSLETTER = """<!DOCTYPE html>
<html><head><title>News &amp; more</title><style>a{color:red}</style></head>
<BODY class="x" >
<!--[if mso]><a href="https://a.example/mso"><![endif]-->
<p>Hi <a class="b" href="https://a.example/1?x=1&amp;y=2" title='a > b'>one</a>,
<A HREF='http://a.example/2' data-svc-linkname="Zwei &amp; mehr">two</A>
<a data-svc-linkname=three href=https://a.example/3/ >three</a>
<map><area shape=rect href="https://a.example/4"/></map>
<a href="mailto:x@a.example">mail</a> <a href="#top">up</a> <a name="top"></a>
<a data-svc-clicktrack="0" href="https://a.example/5">five</a></p>
</BODY>
</html>
"""


@pytest.mark.spec("2.1-t12")
def test_links_of_html_are_tracked_and_everything_else_stays() -> None:
    out = html(NEWSLETTER)
    before, after = Read(NEWSLETTER), Read(out)
    assert after.events == before.events
    assert links(out) == [
        Link("https://a.example/1?x=1&y=2"),
        Link("http://a.example/2", "Zwei & mehr"),
        Link("https://a.example/3/", "three"),
        Link("https://a.example/4"),
    ]
    assert after.hrefs[4:] == before.hrefs[4:]
    plain = NEWSLETTER.replace(' data-svc-linkname="Zwei &amp; mehr"', "")
    plain = plain.replace(" data-svc-linkname=three", "").replace(' data-svc-clicktrack="0"', "")
    assert undone(out, stdlib_html.escape) == plain


@pytest.mark.parametrize("prefix", ["svc", "msys"])
def test_the_attributes_of_a_link_say_how_it_is_tracked(prefix: str) -> None:
    out = html(
        f'<a data-{prefix}-linkname="&quot;N&quot;" href="https://a.example/" '
        f'data-{prefix}-unsubscribe="1" DATA-{prefix.upper()}-SUBLINK=\'ios app\' id="x">'
    )
    assert links(out) == [Link("https://a.example/", '"N"', True, False, "ios app")]
    assert out.startswith(f'<a href="{BASE}/f/ios%20app/')
    assert out.endswith('" id="x">')


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ('<a href="mailto:x" data-svc-linkname="n">', '<a href="mailto:x">'),
        ('<a data-svc-clicktrack="0" href="https://a.example/">', '<a href="https://a.example/">'),
        ("<a data-svc-clicktrack=0>", "<a>"),
        ('<a data-svc-clicktrack="0"id="x">', '<a id="x">'),
        ("<a\n  data-svc-linkname\n  id=x/>", "<a\n  id=x/>"),
        ('<a id="x"data-svc-linkname="n"/>', '<a id="x"/>'),
        ('<p data-svc-linkname="n">', '<p data-svc-linkname="n">'),
    ],
)
def test_our_attributes_are_removed_from_untracked_links(tag: str, expected: str) -> None:
    assert html(tag) == expected
    assert html(tag, NOTHING) == expected


def test_without_click_tracking_only_our_attributes_are_removed() -> None:
    given_markup = '<a data-svc-linkname="n" href="https://a.example/?a&amp;b">x</a>'
    assert html(given_markup, NOTHING) == '<a href="https://a.example/?a&amp;b">x</a>'


def test_of_two_links_in_one_tag_the_first_counts() -> None:
    out = html("<a href='https://a.example/1' href='https://a.example/2'>")
    assert targets(out) == ["https://a.example/1"]
    assert out.endswith(" href='https://a.example/2'>")
    assert (
        html('<a href="" href="https://a.example/2">') == '<a href="" href="https://a.example/2">'
    )


@settings(max_examples=150)
@given(
    path=st.text(alphabet=st.characters(min_codepoint=0x20, exclude_categories=("Cs", "Cc"))),
    quote=st.sampled_from(['"', "'"]),
    numeric=st.booleans(),
)
def test_the_target_equals_the_original_url(path: str, quote: str, numeric: bool) -> None:
    target = f"https://a.example/{path}".rstrip()
    reference_text = (
        "".join(f"&#{ord(c)};" for c in target) if numeric else stdlib_html.escape(target)
    )
    out = html(f"<a href={quote}{reference_text}{quote}>")
    assert targets(out) == [target]
    (after,) = Read(out).hrefs
    assert after.startswith(f"{BASE}/t/c/")


@settings(max_examples=400)
@given(
    st.lists(
        st.sampled_from([*SCRAPS, '<a href="http://a/">', "<a class=x href='http://b/?c' y>"]),
        max_size=25,
    ).map("".join)
)
def test_nothing_but_the_links_of_any_markup_changes(markup: str) -> None:
    out = html(markup)
    assert undone(out) == markup
    assert html(out) == out


def test_links_stay_right_when_one_rewriter_serves_many_messages() -> None:
    shared = LinkRewriter(BASE)
    for index in range(200):
        own = f"<p>Hi {index}</p><a href='https://a.example/{index}'>x</a>{NEWSLETTER}"
        out = shared.html(own, MessageTokens(message(index)), CLICKS)
        assert targets(out)[:2] == [f"https://a.example/{index}", "https://a.example/1?x=1&y=2"]
        kind, _, token = out.split(f"{BASE}/")[1].split("'")[0].rpartition("/")
        assert tokens.read(kind, token)[0] == message(index)
        assert shared.html(own, issuer(), NOTHING).count("https://a.example/") == 6


def test_a_process_has_one_rewriter_for_each_base_and_kind_of_content() -> None:
    assert rewriter(BASE, marked=True) is rewriter(BASE, marked=True)
    assert rewriter(BASE, marked=True) is not rewriter(BASE, marked=False)
    assert rewriter("https://u.example", marked=False).html("<a href='http://x'>", issuer(), CLICKS)


def test_threads_may_share_a_rewriter() -> None:
    shared = LinkRewriter(BASE)

    def one(index: int) -> bool:
        own = f"<a href='http://a/{index % 7}'>{NEWSLETTER}<a href='http://a/{index}'>"
        return undone(shared.html(own, issuer(), CLICKS)) == undone(html(own))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(200)))


@pytest.mark.parametrize("unit", UNITS)
def test_hostile_markup_is_rewritten_in_linear_time(unit: str) -> None:
    assert_linear(lambda text: html(text, TrackingOptions()), unit * (100_000 // len(unit)))


OPENS = TrackingOptions(opens=True, clicks=False, initial_opens=True)


@pytest.mark.spec("2.1-t11")
@pytest.mark.spec("2.1-t13")
def test_pixels_stand_at_both_ends_of_the_body() -> None:
    out = html(NEWSLETTER, OPENS)
    begin, rest = out.split(f'<img src="{BASE}/t/i/')
    middle, end = rest.split(f'<img src="{BASE}/t/o/')
    assert begin.endswith('<BODY class="x" >')
    assert end.endswith('border="0"></BODY>\n</html>\n')
    assert middle.endswith("five</a></p>\n")


def test_each_pixel_has_its_own_option() -> None:
    assert html("<p>", TrackingOptions(True, False, False)).startswith(f'<p><img src="{BASE}/t/o/')
    assert html("<p>", TrackingOptions(False, False, True)).startswith(f'<img src="{BASE}/t/i/')
    assert html("<p>", NOTHING) == "<p>"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "Hi"),
        ("<!doctype html>\n<html>\n<head><style>x</style></head>", "\n<p>Hi</html>"),
        ("<html lang=en>", "<p>Hi"),
    ],
)
def test_markup_without_a_body_gets_its_pixels_around_its_content(before: str, after: str) -> None:
    out = html(before + after, OPENS)
    assert out.startswith(f"{before}<img ")
    assert f">{after}<img " in out
    assert out.endswith(">")


@pytest.mark.parametrize(
    "swallowing",
    [
        "<!-- a comment",
        "<!--[if mso]> <a href='https://a.example'>x</a>",
        "<!doctype",
        "<style> p {",
        "<STYLE type='text/css'> </styl",
        "<style>p {} </head><body><p>Hi</p></body></html>",
        "<script> var",
        "<title>News",
        '<textarea rows="2">a</b>',
        "<a href='https://a.example/",
        '<img alt="a > b',
        "<p",
        "</p",
        "<p\n title=",
    ],
)
@pytest.mark.parametrize(
    "before",
    [
        *("", "<html><body><p>Hi</p>\n", "<a href='https://a.example'>b</a>"),
        "<!doctype html><html><head><title>x</title>",
    ],
)
def test_an_unfinished_element_does_not_swallow_the_pixel(before: str, swallowing: str) -> None:
    out = html(before + swallowing, TrackingOptions())
    assert out.endswith(f' border="0">{swallowing}')
    assert out.count("/t/o/") == out.count("/t/i/") == 1
    loaded = [event for event in Read(out).events if isinstance(event, tuple) and event[0] == "img"]
    assert [dict(attributes)["src"].split("/")[4] for _, attributes in loaded[-2:]] in (
        ["i", "o"],
        ["o", "i"],
    )
    assert len(targets(out)) == before.count("href")


def test_an_unfinished_element_after_the_body_moves_no_pixel() -> None:
    out = html("<body>Hi</body><!-- x", OPENS)
    assert out.endswith('border="0"></body><!-- x')


@pytest.mark.parametrize(
    "markup",
    [
        "<body>a</body>b<body>c</body>d",
        "</body><a href='http://a'><body>",
        "<!-- <body> </body> --><script></body></script>",
        "</body><body></body",
        "",
    ],
)
def test_odd_bodies_get_one_pixel_of_each_kind_and_lose_nothing(markup: str) -> None:
    out = html(markup, OPENS)
    assert (out.count("/t/i/"), out.count("/t/o/")) == (1, 1)
    pixels = [f"<img {piece.split('>')[0]}>" for piece in out.split("<img ")[1:]]
    for pixel in pixels:
        out = out.replace(pixel, "")
    assert out == markup


def test_of_two_bodies_the_first_begins_and_the_last_ends() -> None:
    out = html("<body>a</body>b<body>c</body>d", OPENS)
    assert out.startswith(f'<body><img src="{BASE}/t/i/')
    assert out.endswith('border="0"></body>d')


def test_a_body_tag_in_a_comment_does_not_count() -> None:
    out = html("<body><p></body><!-- </body> -->", OPENS)
    assert out.endswith('border="0"></body><!-- </body> -->')


AMP = """<!doctype html><html ⚡4email><body>
<a href="https://a.example/1">one</a>
<template type="amp-mustache">
<a href="https://a.example/{{id}}">x</a><a href="{{url}}">y</a></template>
</body></html>"""


def test_amp_gets_links_and_pixels_of_its_own() -> None:
    out = LinkRewriter(BASE).amp(AMP, issuer(), TrackingOptions())
    assert links(out) == [Link("https://a.example/1", amp=True)]
    assert f'<body><amp-img src="{BASE}/t/ai/' in out
    assert 'alt="" width="1" height="1"></amp-img></body></html>' in out
    assert f'<amp-img src="{BASE}/t/ao/' in out
    assert '<a href="https://a.example/{{id}}">x</a><a href="{{url}}">y</a></template>' in out


def test_html_and_amp_of_one_message_do_not_mix_their_links() -> None:
    shared = LinkRewriter(BASE)
    tag = '<a href="https://a.example/1">'
    assert not links(shared.html(tag, issuer(), CLICKS))[0].amp
    assert links(shared.amp(tag, issuer(), CLICKS))[0].amp


def test_a_base_with_odd_characters_is_escaped() -> None:
    out = LinkRewriter("https://t.example/a&b").html(
        "<a href='http://x'>", issuer(), TrackingOptions()
    )
    assert out.count("https://t.example/a&amp;b/t/") == 3
