from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.domain_names import (
    LONGEST,
    BadName,
    canonical,
    in_a_labels,
    is_public_suffix,
    is_within,
    normalize,
    parents,
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
