"""Rewriting chunks gives the same text as rewriting their joined text."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chalicelib.template_language import AMP_HTML, HTML, TEXT, TemplatePart, compile_part
from chalicelib.template_language.chunks import Chunks
from chalicelib.tracking import markup_chunks
from chalicelib.tracking.links import MARK
from chalicelib.tracking.literal_links import mark
from chalicelib.tracking.rewrite import LinkRewriter, TrackingOptions
from tests.unit.tracking.examples import BASE, issuer
from tests.unit.tracking.test_markup import SCRAPS

PLACES = [
    '<a href="https://a.example/?r=',
    '<a title="',
    "<a href='http://a.example/",
    "<a href=https://a.example/",
    '<a href="https://a.example/?a&amp',
    '<a href="https://a.example/t/',
    '<a href="https://',
    '<a data-svc-linkname="',
    '<a data-svc-clicktrack="0" href="https://a.example/',
    '<a data-svc-clicktrack="0" href="https://a.example/x">',
    '" data-svc-sublink="app">',
    '&amp;x=">',
    '/">',
    '">',
    "'>",
    " ",
    "<title>",
    "</title>",
    "</titl",
    "<!-- ",
    "-->",
    "--",
    "<img width=",
    "<style>a{background:url(https://a.example/b)}",
    "</style >",
    "<body>",
    "</body>",
    "text https://a.example/plain. ",
    "\n",
]
VALUES = [
    *("", "7", "ann", "e>", "-", "--", ">", "<", '"', "'", "a b", "&amp;", "&#39;", "/", "t", "f"),
    *("é", "%20", "=", "https://b.example/", '<a href="https://c.example/">', MARK, "[", "<b>"),
    *("tle>", " ", "lt;", '"><a href="', "\ufdd0", "x" * 5000),
]
literals = st.sampled_from([mark(each) for each in [*PLACES, *SCRAPS]])
parts = st.lists(
    st.tuples(st.booleans(), st.one_of(literals, st.sampled_from(VALUES))), max_size=14
)
ALL = TrackingOptions()


def chunks_of(pieces: list[tuple[bool, str]]) -> Chunks:
    """Return chunks of (is literal, text)."""
    texts = [text for _, text in pieces]
    return Chunks(texts, frozenset(text for is_literal, text in pieces if is_literal))


@settings(max_examples=500)
@given(parts)
@example([(True, mark('<a href="https://a.example/?r=')), (False, "7"), (True, '&amp;x=1">')])
@example([(True, "</titl"), (False, ""), (True, "e>")])
def test_markup_in_chunks_is_rewritten_like_the_joined_text(pieces: list[tuple[bool, str]]) -> None:
    chunks = chunks_of(pieces)
    rewriter = LinkRewriter(BASE, marked=True)
    for _ in range(2):  # with an empty cache and with a full one
        assert str(rewriter.html_chunks(chunks, issuer(), ALL)) == rewriter.html(
            str(chunks), issuer(), ALL
        )
        assert str(rewriter.amp_chunks(chunks, issuer(), ALL)) == rewriter.amp(
            str(chunks), issuer(), ALL
        )


TEXTS = [
    *(
        "https://a.example/?r=",
        "Hello ",
        ", see (https://a.example/x).",
        "\n",
        " https://a.example/",
    ),
    *("/b) ", ". ", '[[data-svc-clicktrack="0"]]', "[", "[data-", "http", "://x", ")", "https://"),
    *("https://a.example/login?next=https://b.example/", "?u=https://b.example/c", "app://x?u="),
    *("](", "[link](https://a.example/", "**", "*", "_", "~~", "'", "https://a.example/x_", "|"),
    *("\n-----BEGIN PGP SIGNED MESSAGE-----\n", "\n-----END PGP SIGNATURE-----", "&gt;", "。", "+"),
    *(
        "https://a.example/(",
        "https://a.example/**b**, 'https://c.example/d'.",
        "<https://d.example>",
    ),
]


@settings(max_examples=500)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just(True), st.sampled_from([mark(each) for each in TEXTS])),
            st.tuples(st.just(False), st.sampled_from([*VALUES, *TEXTS])),
        ),
        max_size=10,
    )
)
def test_plain_text_in_chunks_is_rewritten_like_the_joined_text(
    pieces: list[tuple[bool, str]],
) -> None:
    chunks = chunks_of(pieces)
    rewriter = LinkRewriter(BASE, marked=True)
    for _ in range(2):
        assert str(rewriter.text_chunks(chunks, issuer(), ALL)) == rewriter.text(
            str(chunks), issuer(), ALL
        )


TEMPLATE = """<html><head><title>For {{name}}</title><style>p { color: {{color}} }</style></head>
<body class="{{color}}"><!-- {{id}} -->
{{each items}}<p title="{{name}}">{{loop_var.name}}
<a class="b" href="https://shop.example/{{id}}?item={{loop_var.id}}&amp;x=1">Look</a>
<a href="https://shop.example/same">Same</a> <a href="{{url}}">own</a></p>{{end}}
{{if vip}}<a data-svc-linkname="VIP" href="https://shop.example/vip/{{id}}">VIP</a>{{end}}{{{more}}}
<img width={{id}} src="https://shop.example/i.png?{{id}}"></body></html>
"""


def rendered(template: str, part: TemplatePart, data: dict[str, Any]) -> Chunks:
    return compile_part(mark(template), part).chunks(data)


DATA = {
    "name": "O'Brien & <Söhne>",
    "color": "red",
    "id": 4711,
    "url": "https://b.example/",
    "vip": True,
    "more": '<a href="https://d.example/">more</a>',
    "items": [{"name": "chair", "id": "a/b c"}, {"name": "lamp", "id": 2}],
}


@pytest.mark.parametrize("part", [HTML, AMP_HTML, TEXT])
@pytest.mark.parametrize(
    "change", [{}, {"vip": False}, {"color": ""}, {"id": "</p>"}, {"more": ""}]
)
def test_a_rendered_template_is_rewritten_like_its_text(
    part: TemplatePart, change: dict[str, Any]
) -> None:
    chunks = rendered(TEMPLATE, part, DATA | change)
    rewriter, tokens = LinkRewriter(BASE, marked=True), issuer()
    at_once, in_chunks = {
        HTML: (rewriter.html, rewriter.html_chunks),
        AMP_HTML: (rewriter.amp, rewriter.amp_chunks),
        TEXT: (rewriter.text, rewriter.text_chunks),
    }[part]
    assert str(in_chunks(chunks, tokens, ALL)) == at_once(str(chunks), tokens, ALL)


def test_an_ordinary_template_is_never_read_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rewriter = LinkRewriter(BASE, marked=True)
    monkeypatch.setattr(rewriter, "_rewritten", None)
    for number in range(3):
        chunks = rendered(TEMPLATE, HTML, DATA | {"id": number})
        assert str(rewriter.html_chunks(chunks, issuer(), ALL)).count(f"{BASE}/t/c/") == 5


def test_literal_chunks_are_analysed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rewriter, analysed = LinkRewriter(BASE, marked=True), []
    original = markup_chunks._finished_tags
    monkeypatch.setattr(
        markup_chunks, "_finished_tags", lambda text: (analysed.append(text), original(text))[1]
    )
    rewriter.html_chunks(rendered(TEMPLATE, HTML, DATA | {"more": ""}), issuer(), ALL)
    first = len(analysed)
    for number in range(20):
        data = DATA | {"more": "", "id": number, "name": f"Ann {number}"}
        rewriter.html_chunks(rendered(TEMPLATE, HTML, data), issuer(), ALL)
    assert len(analysed) == first > 0


def test_what_is_remembered_has_a_limit() -> None:
    rewriter = LinkRewriter(BASE, marked=True)
    for number in range(5000):
        chunks = Chunks([f"<p>{number}</p>", "<a title='"], frozenset(["<a title='"]))
        rewriter.html_chunks(chunks, issuer(), ALL)
    assert rewriter._html_chunks._count <= markup_chunks._TRANSITIONS


def test_what_was_forgotten_is_gone_without_a_search_for_cycles() -> None:
    rewriter = LinkRewriter(BASE, marked=True)
    gc.collect()
    gc.disable()
    try:
        for number in range(2 * markup_chunks._TRANSITIONS):
            texts = [f"<p>{number}</p>", "<a title='", "x", "'>"]
            rewriter.html_chunks(Chunks(texts, frozenset(texts[1:2])), issuer(), ALL)
        living = sum(isinstance(each, markup_chunks.Transition) for each in gc.get_objects())
    finally:
        gc.enable()
    assert living <= markup_chunks._TRANSITIONS + 1


#: Literals, each followed by the values of three messages
value_places = st.lists(
    st.tuples(literals, st.one_of(st.none(), st.lists(st.sampled_from(VALUES), min_size=3))),
    max_size=10,
)
LINK = mark('<p><a href="https://a.example/?r=')


@settings(max_examples=500)
@given(value_places)
@example([(LINK, ["ann", "bob", "a b"]), ('">', None), ("</a>", ["x", "<b>", "y"])])
@example([(LINK, ["ann", "x" * 600, "x" * 5000]), ('">', None)])
@example([(LINK, ["ann", "", "/t/"]), ('"><body>', None), ("</body>", ["x", "", "y"])])
def test_messages_with_the_same_literals_are_rewritten_like_their_text(
    places: list[tuple[str, list[str] | None]],
) -> None:
    rewriter = LinkRewriter(BASE, marked=True)
    for number in range(3):
        pieces = [
            piece
            for literal, values in places
            for piece in ((True, literal), *([] if values is None else [(False, values[number])]))
        ]
        chunks = chunks_of(pieces)
        assert str(rewriter.html_chunks(chunks, issuer(), ALL)) == rewriter.html(
            str(chunks), issuer(), ALL
        )
