"""Find which features of HTML and CSS a message uses."""

from __future__ import annotations

import json

import pytest

from infrastructure.console_vendor.__main__ import VENDOR
from infrastructure.local.messages.feature_names import FEATURES
from infrastructure.local.messages.features import Feature, features_of

POSITIONED = {"css-left-right-top-bottom", "css-unit-calc", "css-unit-percent", "css-unit-rem"}


def names(html: str) -> set[str]:
    return {each.feature for each in features_of(html)}


def css(text: str) -> set[str]:
    """Return what a style sheet uses, without the element that it is in."""
    return names(f"<style>{text}</style>") - {"html-style"}


def declared(text: str) -> set[str]:
    """Return what a ``style`` attribute uses."""
    return names(f'<b style="{text}">')


def test_every_feature_is_one_that_the_table_of_clients_has() -> None:
    support = json.loads((VENDOR / "caniemail.json").read_text())
    assert FEATURES - set(support["features"]) == set()
    lengths = {len(letters) for _, letters in support["features"].values()}
    assert lengths == {len(support["clients"])}
    assert set("".join(letters for _, letters in support["features"].values())) == set("aynu-")


@pytest.mark.parametrize(
    ("html", "feature"),
    [
        ("<VIDEO src='a.mp4'>", "html-video"),
        ("<h3>A</h3>", "html-h1-h6"),
        ("<ol></ol>", "html-lists"),
        ("<section>", "html-semantics"),
        ("<p aria-hidden=true>", "html-aria-hidden"),
        ("<img srcset='a 2x'>", "html-srcset"),
        ("<input>", "html-input-text"),
        ("<input type=Checkbox>", "html-input-checkbox"),
        ("<button type=submit>", "html-button-submit"),
        ("<a href='#top'>", "html-anchor-links"),
        ("<a href='MAILTO:a@b.test'>", "html-mailto-links"),
        ("<meta name=color-scheme content=dark>", "html-meta-color-scheme"),
        ("<!DOCTYPE html>", "html-doctype"),
        ("<!--[if mso]><table><![endif]-->", "html-comments"),
        ("<img src='https://a.test/x/cat.WebP?width=3'>", "image-webp"),
        ("<img src='data:image/svg+xml;base64,AAAA'>", "image-svg"),
        ("<img src='data:image/png;base64,AAAA'>", "image-base64"),
        ("<td background='a.png'>", "image-png"),
    ],
)
def test_html_has_features(html: str, feature: str) -> None:
    assert feature in names(html)


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("border-radius:4px", {"css-border-radius", "css-unit-px"}),
        ("border-top-left-radius:0", {"css-border-radius"}),
        ("MARGIN-LEFT : 1.5EM", {"css-margin", "css-unit-em"}),
        ("margin-inline-start:0", {"css-margin-inline-start-end"}),
        ("display:flex", {"css-display", "css-display-flex"}),
        ("display:block", {"css-display"}),
        ("flex-direction:column", {"css-flex-direction"}),
        ("flex-direction:row", set()),
        ("color:red !important", {"css-important"}),
        ("color:#00ccmm", set()),
        ("color:rgba(0,0,0,.5)", {"css-rgba"}),
        ("top:calc(1% - 2rem)", POSITIONED),
        ("--accent:red;color:var(--accent)", {"css-variables"}),
        ("background:url('a;b{.gif')", {"css-background", "image-gif"}),
        ("font-family:'display: flex', system-ui", {"css-sytem-ui"}),
        ("mso-line-height-rule:exactly", set()),
        ("/* float:left */clear:both", {"css-comments", "css-clear"}),
    ],
)
def test_declarations_have_features(text: str, features: set[str]) -> None:
    assert declared(text) == features


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("a:hover{}", {"css-selector-type", "css-pseudo-class-hover"}),
        (".a::before{}", {"css-selector-class", "css-pseudo-element-before"}),
        ("#a .b{}", {"css-selector-id", "css-selector-class", "css-selector-descendant"}),
        (".a.b{}", {"css-selector-class", "css-selector-chaining"}),
        ("*{}", {"css-selector-universal"}),
        ("[class~='x']{}", {"css-selector-attribute"}),
        ("p,b{}", {"css-selector-type", "css-selector-grouping"}),
        ("p>b{}", {"css-selector-type", "css-selector-child"}),
        ("p + b{}", {"css-selector-type", "css-selector-adjacent-sibling"}),
        ("p ~ b{}", {"css-selector-type", "css-selector-general-sibling"}),
        ("p{b{}}", {"css-selector-type", "css-nesting"}),
        ("@import url(a.css);", {"css-at-import"}),
        ("@font-face{font-weight:400}", {"css-at-font-face"}),
        ("@keyframes a{from{opacity:0}}", {"css-at-keyframes", "css-opacity"}),
        ("@supports (display:grid){}", {"css-at-supports"}),
        ("@media(max-width:9px){.a{}}", {"css-at-media", "css-selector-class"}),
        (
            "@media (prefers-color-scheme: dark){}",
            {"css-at-media", "css-at-media-prefers-color-scheme"},
        ),
    ],
)
def test_style_sheets_have_features(text: str, features: set[str]) -> None:
    assert css(text) == features


def test_uses_are_counted_in_the_order_of_the_first_and_the_first_is_the_example() -> None:
    html = '<p style="float:left"></p><p style="float:right">'
    assert features_of(html) == [
        Feature("html-p", 2, "<p>"),
        Feature("css-float", 2, "float: left"),
    ]


def test_a_message_without_html_uses_nothing() -> None:
    assert features_of(None) == features_of("") == features_of("Hello") == []


@pytest.mark.parametrize(
    "piece",
    ["{", "}", "/*", "url(", "'", '"', "a", ".a", "@media", "p{", "a:", "--", "\0"],
)
def test_hostile_css_takes_no_longer_than_its_length(piece: str) -> None:
    features_of(f"<style>{piece * 100_000}")
    features_of(f'<b style="{piece.replace(chr(34), "") * 100_000}">')
