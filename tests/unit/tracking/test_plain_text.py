from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.template_language import TEXT, compile_part
from chalicelib.tracking.literal_links import mark
from chalicelib.tracking.rewrite import LinkRewriter, TrackingOptions
from tests.unit.core.text_url_corpus import corpus
from tests.unit.linear_time import assert_linear
from tests.unit.tracking.examples import BASE, CLICKS, NOTHING, issuer, links, targets, text, undone


@pytest.mark.parametrize(
    ("given_text", "target"),
    [
        ("see https://a.example/b?c=1&d=2#e now", "https://a.example/b?c=1&d=2#e"),
        ("HTTP://A.example", "HTTP://A.example"),
        ("(https://a.example/b).", "https://a.example/b"),
        ("https://a.example/b_(c)", "https://a.example/b_(c)"),
        ("[https://a.example/b]", "https://a.example/b"),
        ("<https://a.example/b>", "https://a.example/b"),
        ('"https://a.example/b"', "https://a.example/b"),
        ("https://a.example/b?!...", "https://a.example/b"),
        ("“https://a.example/b” ‘https", "https://a.example/b"),
        ("«https://a.example/b»…", "https://a.example/b"),
        ("（https://a.example/b）。", "https://a.example/b"),
        ("https://a.example/?b[]=1&b[]=2", "https://a.example/?b[]=1&b[]=2"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("https://a.example/größe/日本", "https://a.example/größe/日本"),
        ("a:https://a.example/b", "https://a.example/b"),
        ("https://a.example/b\r\nnext", "https://a.example/b"),
        ("https://a.example/b[[x]]", "https://a.example/b[[x]]"),
    ],
)
def test_a_url_in_text_is_tracked_without_the_punctuation_around_it(
    given_text: str, target: str
) -> None:
    out = text(given_text)
    assert targets(out) == [target]
    assert undone(out) == given_text


@pytest.mark.parametrize(("content", "urls"), corpus())
def test_the_links_of_a_text_are_those_of_the_corpus_however_it_comes(
    content: str, urls: list[str]
) -> None:
    assert targets(text(content)) == urls
    for source in (content, content.replace("/b", "/{{b}}")):
        rewriter = LinkRewriter(BASE, marked=True)
        chunks = compile_part(mark(source), TEXT).chunks({"b": "b"})
        for rewritten in (
            rewriter.text(str(chunks), issuer(), CLICKS),
            *(str(rewriter.text_chunks(chunks, issuer(), CLICKS)) for _ in range(2)),
        ):
            assert targets(rewritten) == urls
            assert undone(rewritten) == content


@pytest.mark.parametrize(
    "given_text",
    [
        "mailto:a@b.example tel:+4930 www.a.example ftp://a.example //a.example",
        "xhttps://a.example 1http://a.example",
        "https:/a.example http:a",
        "begins with http:// or https://, as in 'https://'",
        f"https://a.example/{'x' * 4096}",
    ],
)
def test_only_web_links_in_text_are_tracked(given_text: str) -> None:
    assert text(given_text) == given_text


@pytest.mark.parametrize("prefix", ["svc", "msys"])
def test_the_option_after_a_url_switches_tracking_off(prefix: str) -> None:
    note = f'[[data-{prefix}-clicktrack="0"]]'
    given_text = f"https://a.example/b{note} https://a.example/c."
    out = text(given_text)
    assert out.startswith("https://a.example/b https://t.example/t/c/")
    assert targets(out) == ["https://a.example/c"]


def test_an_option_that_allows_tracking_is_removed_too() -> None:
    out = text('https://a.example/b[[data-svc-clicktrack="1"]]')
    assert targets(out) == ["https://a.example/b"]
    assert "[[" not in out


def test_without_click_tracking_only_the_options_are_removed() -> None:
    given_text = 'https://a.example/b[[data-svc-clicktrack="0"]] https://a.example/c'
    assert text(given_text, NOTHING) == "https://a.example/b https://a.example/c"


@pytest.mark.parametrize("closing", ["", ")", ").", "**", "'", ")**:"])
def test_the_option_may_follow_what_closes_a_bracket_or_sentence(closing: str) -> None:
    for url in ("https://a.example/b", "**https://a.example/b", "'https://a.example/b"):
        given_text = f'{url}{closing}[[data-svc-clicktrack="0"]] https://c.example/'
        assert undone(text(given_text)) == f"{url}{closing} https://c.example/"
        assert targets(text(given_text)) == ["https://c.example/"]


SIGNED = """\
-----BEGIN PGP SIGNED MESSAGE-----

See https://a.example/1, https://a.example/2[[data-svc-clicktrack="0"]]
-----BEGIN PGP SIGNATURE-----
Comment: https://a.example/3

iHUEARYIAB0=
-----END PGP SIGNATURE-----
"""


@pytest.mark.parametrize("tracked", [CLICKS, NOTHING])
def test_a_signed_text_stays_as_it_is(tracked: TrackingOptions) -> None:
    given_text = f"https://a.example/\n{SIGNED}https://b.example/\n{SIGNED}"
    for out in (text(given_text, tracked), text(mark(given_text), tracked, marked=True)):
        assert undone(out) == given_text
        assert targets(out) == (
            ["https://a.example/", "https://b.example/"] if tracked.clicks else []
        )


@pytest.mark.parametrize(
    "source",
    [
        "https://a.example/\n{{signed}}https://b.example/",
        "https://a.example/\n{{render_dynamic_content(dynamic_plain.signed)}}https://b.example/",
        f"{{{{if x}}}}https://a.example/\n{SIGNED}https://b.example/{{{{end}}}}",
        f"https://a.example/\n{SIGNED.replace('See', '{{see}}')}https://b.example/{{{{nothing}}}}",
    ],
)
def test_a_signed_text_stays_as_it_is_wherever_it_comes_from(source: str) -> None:
    data = {"signed": SIGNED, "see": "See", "x": True}
    dynamic = {"dynamic_plain": {"signed": mark(SIGNED)}}
    rewriter = LinkRewriter(BASE, marked=True)
    chunks = compile_part(mark(source), TEXT).chunks(data, dynamic=dynamic)
    out = str(rewriter.text_chunks(chunks, issuer(), CLICKS))
    assert undone(out) == f"https://a.example/\n{SIGNED}https://b.example/"
    assert targets(out) == ["https://a.example/", "https://b.example/"]


def test_links_of_text_have_no_name() -> None:
    (link,) = links(text("https://a.example/"))
    assert link.name == ""


def test_a_tracked_url_is_not_tracked_again() -> None:
    once = text("https://a.example/b, https://a.example/c")
    assert text(once) == once


def test_a_rewriter_gives_each_message_its_own_links() -> None:
    rewriter = LinkRewriter(BASE)
    assert rewriter.text("http://a.example", issuer(), CLICKS) == rewriter.text(
        "http://a.example", issuer(), CLICKS
    )
    assert rewriter.text("http://a.example", issuer(), NOTHING) == "http://a.example"


@settings(max_examples=300)
@given(st.text(alphabet="htps:/.a ()[]{}<>\"'!?,;\nd-=0é") | st.text())
def test_nothing_but_urls_changes(given_text: str) -> None:
    given_text = f"https://a.example/{given_text}"
    assert undone(text(given_text)) == given_text.replace('[[data-svc-clicktrack="0"]]', "")


def test_an_option_that_is_far_too_long_is_text() -> None:
    option = f"[[data-svc-clicktrack='{'0' * 100}']]"
    assert undone(text(f"https://a.example/{option}")) == f"https://a.example/{option}"


def test_hostile_text_takes_linear_time() -> None:
    units = ("http://", "http://)", "http://[", "http://a[[data-", "h", ")", "https://a.b/)) ")
    marks = ("-----BEGIN A-----\n", "http://a)[[data-")
    options = [
        f"http://a[[data-svc-clicktrack={end}" for end in ("", "'", '"', "0", "]", "'0]", "'0']")
    ]
    for unit in (*units, *marks, *options):
        assert_linear(text, unit * (200_000 // len(unit)))
    assert_linear(text, "https://a.example/" + ")" * 64_000)
