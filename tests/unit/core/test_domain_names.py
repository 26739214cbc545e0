from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.domain_names import (
    LONGEST,
    BadName,
    canonical,
    in_a_labels,
    in_u_labels,
    is_public_suffix,
    is_within,
    mapped,
    normalize,
    parents,
    spelling,
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("example.com", "example.com"),
        ("Mail.EXAMPLE.com", "mail.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("straße.de", "xn--strae-oqa.de"),
        ("ｅｘａｍｐｌｅ。com", "example.com"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("1.2.3.4.com", "1.2.3.4.com"),
    ],
)
def test_a_name_has_one_spelling(text: str, name: str) -> None:
    assert canonical(text) == normalize(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Under_Score.com", "Under_Score.com"),
        ("straße.de", "xn--strae-oqa.de"),
        ("i❤.example", "xn--i-7iq.example"),
        ("é" * 70 + ".com", None),
        ("\ud800.com", None),
    ],
)
def test_a_name_has_one_ascii_form_or_none(text: str, name: str | None) -> None:
    assert in_a_labels(text) == name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("localhost", "no dot"),
        ("", "no dot"),
        ("a..com", "too short"),
        (".example.com", "too short"),
        ("example.com.", "too short"),
        ("exam ple.com", "invalid characters"),
        ("under_score.com", "invalid characters"),
        ("-a.com", "invalid characters"),
        ("a-.com", "invalid characters"),
        ("a.com\n", "invalid characters"),
        ("*.com", "invalid characters"),
        ("192.0.2.1", "a number"),
        ("x" * 64 + ".com", "more than 63"),
        (".".join(["x" * 50] * 6), "more than 253"),
        ("é" * 70 + ".com", "internationalised"),
        ("a\u0301\u200d.com", "internationalised"),
        ("\ud800.com", "internationalised"),
    ],
)
def test_a_text_that_is_no_host_name_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BadName, match=reason):
        canonical(text)


@given(st.text(max_size=300))
def test_any_text_has_a_short_ascii_spelling_or_none(text: str) -> None:
    name = normalize(text)
    assert name is None or (name.isascii() and len(name) <= LONGEST)


@pytest.mark.parametrize(
    ("name", "above"),
    [
        ("example.com", ()),
        ("a.example.com", ("example.com",)),
        ("a.b.example.co.uk", ("b.example.co.uk", "example.co.uk")),
        ("a.someone.github.io", ("someone.github.io",)),
        ("someone.github.io", ()),
        ("a.unlisted.test", ("unlisted.test",)),
        ("a.xn--55qx5d.cn", ()),
        ("", ()),
        ("...", ()),
        ("a...", ()),
        ("a..example.com", ("example.com",)),
        ("a.b..", ()),
    ],
)
def test_parents_end_below_the_public_suffix(name: str, above: tuple[str, ...]) -> None:
    assert parents(name) == above


@pytest.mark.parametrize(
    ("name", "is_suffix"),
    [
        ("co.uk", True),
        ("github.io", True),
        ("xn--55qx5d.cn", True),
        ("anything.ck", True),
        ("www.ck", False),
        ("example.com", False),
        ("example.test", False),
    ],
)
def test_public_suffixes_are_known(name: str, is_suffix: bool) -> None:
    assert is_public_suffix(name) is is_suffix


def test_a_name_is_within_itself_and_its_parents_only() -> None:
    assert is_within("example.com", "example.com")
    assert is_within("a.b.example.com", "example.com")
    assert not is_within("badexample.com", "example.com")
    assert not is_within("example.com", "a.example.com")


@pytest.mark.parametrize(
    "text",
    [
        "bücher.example",
        "BÜCHER.Example",
        "bu\u0308cher.example",
        "\uff42ücher.example",
        "bücher\u3002example",
        "bücher\uff0eexample",
        "XN--Bcher-KVA.example",
    ],
)
def test_a_name_is_spelled_in_one_way_however_it_was_typed(text: str) -> None:
    assert spelling(text) == "xn--bcher-kva.example"
    assert in_u_labels(spelling(text)) == "bücher.example"


def test_a_sharp_s_is_not_two_letters() -> None:
    assert spelling("STRASSE.test") == "strasse.test"
    assert spelling("straße.test") == "xn--strae-oqa.test"


@pytest.mark.parametrize("label", ["xn--", "xn--a", "xn--\x00", "xn--99999999", "xn--Bcher-kva"])
def test_a_label_that_is_no_a_label_is_shown_as_it_is(label: str) -> None:
    assert in_u_labels(f"{label}.test") == f"{label}.test"


@given(st.text(max_size=60))
def test_the_spelling_of_a_spelling_is_the_same(text: str) -> None:
    once = spelling(text)
    assert spelling(once) == once
    assert spelling(in_u_labels(once)) == once


@given(st.text("aüßéİ-.\u3002", min_size=1, max_size=20))
def test_composed_and_decomposed_names_have_one_spelling(text: str) -> None:
    assert spelling(unicodedata.normalize("NFD", text)) == spelling(
        unicodedata.normalize("NFC", text)
    )


def test_a_part_of_a_name_is_mapped_as_the_name_is() -> None:
    assert mapped("BÜC") == mapped("bu\u0308c") == mapped("\uff22ÜC") == "büc"
    assert mapped("ER\u3002Te") == "er.te"
    assert mapped("XN--B") == "xn--b"
