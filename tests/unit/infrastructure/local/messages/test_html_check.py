"""The HTML check tells how well mail clients show a message, with Mailpit's score."""

from __future__ import annotations

import time

import pytest

from infrastructure.local.messages.client_support import (
    families_by_platform,
    feature_support,
    platforms_by_family,
)
from infrastructure.local.messages.html_check import HtmlCheck, html_check
from infrastructure.local.messages.html_uses import SCRIPT, TESTED


def found_in(html: str) -> dict[str, int]:
    return {each.feature.slug: each.uses for each in html_check(html).warnings}


@pytest.mark.parametrize(
    ("html", "features"),
    [
        ('<p style="transform: rotate(2deg)">x</p>', {"css-transform": 1}),
        ('<p style="color:green;TRANSFORM :rotate(2deg)">x</p>', {"css-transform": 1}),
        ('<p style="text-transform: none; text-transform: uppercase">x', {"css-text-transform": 1}),
        ('<p style="no-transform: x">x</p>', {}),
        ('<p style="color: red!important">x</p>', {"css-important": 1}),
        ('<p style="display : flex ;">x</p>', {"css-display": 1, "css-display-flex": 1}),
        ('<p style="display: flexing">x</p>', {"css-display": 1}),
        ('<p style="width: calc(1px + 2px)">x</p>', {"css-width": 1, "css-unit-calc": 1}),
        ('<p style="color:rgba(1,2,3,0)">x</p>', {"css-rgba": 1}),
        ('<p style="padding-inline-start: 5rem; margin-inline-end: 1.5rem">x</p>',
         {"css-padding-inline-start-end": 1, "css-margin-inline-start-end": 1, "css-unit-rem": 2}),
        ('<td border="2" background="x"></td><td BORDER="3"></td>',
         {"css-border": 1, "css-background": 1}),
        ('<p border-x="2">x</p>', {}),
        ('<a href="#top">x</a><a href="https://a.test#x">y</a>', {"html-anchor-links": 1}),
        ('<img src="https://a.test/x.WEBP?y=1"><img src="data:image/png;base64,AA">',
         {"image-webp": 1, "image-base64": 1}),
        ("<script>x</script><script type='application/ld+json'>{}</script>", {SCRIPT: 1}),
        ('<input><input type="checkbox" required><button type="submit">x</button>',
         {"html-input-text": 1, "html-input-checkbox": 1, "html-required": 1,
          "html-button-submit": 1}),
        ('<div style="content: \'; transform: x\'">x</div>', {}),
    ],
)  # fmt: skip
def test_features_are_found_in_elements(html: str, features: dict[str, int]) -> None:
    assert found_in(html) == features


def test_a_style_sheet_counts_for_each_element_that_it_applies_to() -> None:
    style = "<style>.a, p { opacity: 0.5 } a:hover { color: red } @media (width<9px) {p {gap: 1px}}"
    html = f"<body>{style}</style><p>x</p><p>y</p><div class='a'>z</div><b>-</b></body>"
    assert found_in(html) == {
        "css-opacity": 3,
        "css-pseudo-class-hover": 1,
        "css-at-media": 1,
        "html-style": 1,
        "html-body": 1,
    }


def test_what_is_important_in_a_style_sheet_counts_where_it_applies() -> None:
    style = "<style>p { gap: 1px !important } .a { opacity: 1 } i { gap: 2px !important }</style>"
    html = f"{style}<p style='gap: 3px'>x</p><p class='a'>y</p>"
    assert found_in(html) == {
        "html-style": 1,
        "css-important": 2,
        "css-gap": 2,
        "css-opacity": 1,
    }


@pytest.mark.parametrize(
    ("html", "nodes"),
    [
        ("<p>a <b>b</b></p>", 2),
        # Of a document without a body, what is in the head does not count
        ("<title>t</title><style>p{}</style><p>a</p>", 1),
        ("<html><head><meta><title>t</title></head><body><p>a</p></body></html>", 3),
        # Browsers put a tbody around rows
        ("<table><tr><td>a</td></tr><tr><td>b</td></tr></table>", 6),
        ("<table><tbody><tr><td>a</td></tr></tbody></table>", 4),
        ("<table><tr><td><table><tr><td>a</td></tr></table></td></tr></table>", 8),
    ],
)
def test_elements_are_counted(html: str, nodes: int) -> None:
    assert html_check(html).nodes == nodes


def shares(slug: str) -> list[float]:
    feature = feature_support(slug)
    assert feature is not None
    supports = [each.support for each in feature.results]
    return [100 * supports.count(each) / len(supports) for each in ("yes", "partial", "no")]


def test_the_score_loses_what_the_worst_feature_is_not_supported() -> None:
    check = html_check('<p style="transform: x">a</p><p style="opacity: 1">b</p><i>c</i><i>d</i>')
    transform, opacity = shares("css-transform"), shares("css-opacity")
    # Each is on one of four elements
    unsupported = max(transform[2], opacity[2]) / 4
    partial = max(transform[1], opacity[1]) / 4
    assert check.total.unsupported == pytest.approx(unsupported, abs=1e-4)
    assert check.total.partial == pytest.approx(partial, abs=1e-4)
    assert check.total.supported == pytest.approx(100 - unsupported - partial, abs=1e-4)
    weights = [each.weight(check.nodes) for each in check.warnings]
    assert weights == sorted(weights, reverse=True)


def test_a_script_is_supported_nowhere() -> None:
    check = html_check("<p>a</p><script>b</script>")
    assert (check.total.supported, check.total.unsupported) == (50.0, 50.0)


def test_a_plain_message_is_supported_by_all() -> None:
    check = html_check("<p>Hello <b>Ann</b></p>")
    assert (check.total.supported, check.warnings) == (100.0, [])
    assert check.tests == len(TESTED)


def test_a_feature_comes_with_what_each_client_does() -> None:
    feature = feature_support("css-transform")
    assert feature is not None
    assert feature.url == "https://www.caniemail.com/features/css-transform/"
    assert "<code>matrix</code>" in feature.description
    result = next(each for each in feature.results if each.name == "Outlook Windows (2019)")
    assert (result.family, result.platform, result.support) == ("outlook", "windows", "no")
    # Two versions of one client are two results
    assert [e.version for e in feature.results if (e.family, e.platform) == ("outlook", "macos")]
    notes = {each.note for each in feature.results} - {""}
    assert notes <= set(feature.notes)


def test_a_support_with_a_note_counts_as_partial() -> None:
    for slug in sorted(TESTED):
        for result in feature.results if (feature := feature_support(slug)) else []:
            assert result.support in ("yes", "partial", "no")
            assert not result.note or result.support == "partial"


def test_every_tested_feature_but_two_is_one_of_caniemail() -> None:
    # The first one is Mailpit's own, and the second one is not in the data
    assert {each for each in TESTED if feature_support(each) is None} == {SCRIPT, "image-ppm"}


def test_clients_are_listed_by_platform_and_by_family() -> None:
    assert {"Gmail", "Outlook"} <= set(families_by_platform()["ios"])
    assert "iOS" in platforms_by_family()["Gmail"]


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 20_000,
        "<p style='" + "transform:" * 30_000 + "'>",
        "<style>" + "a{" * 20_000,
        "<style>" + ".a .b *:not(.c) p{color:red}" * 1_000 + "</style>" + "<div class=a>" * 1_000,
        "<table><tr>" * 20_000,
        "<a href='" + "[" * 100_000,
    ],
)
def test_hostile_html_takes_a_moment(html: str) -> None:
    began = time.monotonic()
    assert isinstance(html_check(html), HtmlCheck)
    assert time.monotonic() - began < 20
