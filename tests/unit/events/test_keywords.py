from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chalicelib.events.keywords import matcher

TEXTS = st.text(alphabet="aB é-_ .", max_size=12)


@pytest.mark.spec("4.10-t1")
@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("spring", "spring-sale"),
        ("sale", "spring-sale"),
        ("sale", "spring_sale 2026"),
        ("SPRING", "Spring Sale"),
        ("spring-sale", "spring-sale"),
        ("spring sale", "the_spring-sale_of_2026"),
        ("5.1.1", "550 5.1.1 unknown user"),
        ("straße", "STRASSE 7"),
    ],
)
def test_whole_words_are_found(keyword: str, text: str) -> None:
    assert matcher([keyword])(text)


@pytest.mark.spec("4.10-t1")
@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("spri", "spring-sale"),
        ("pring", "spring-sale"),
        ("ng-sa", "spring-sale"),
        ("spring", "springsale"),
        ("sale spring", "spring-sale"),
        ("spring 2026", "spring-sale-2026"),
        ("5", "550 5.1.1 unknown user"),
        ("hello", "hello, Ann"),
        ("-", "spring-sale"),
        ("spring", ""),
    ],
)
def test_parts_of_words_and_words_in_another_order_are_not_found(keyword: str, text: str) -> None:
    assert not matcher([keyword])(text)


@pytest.mark.spec("4.10-t1")
def test_dots_end_words_in_domains_only() -> None:
    assert matcher(["example"], domain=True)("mail.example.test")
    assert matcher(["example.test"], domain=True)("mail.example.test")
    assert matcher(["my"], domain=True)("my-host.test")
    assert not matcher(["exam"], domain=True)("mail.example.test")
    assert not matcher(["mail.test"], domain=True)("mail.example.test")
    assert not matcher(["example"])("mail.example.test")


def test_one_of_several_keywords_is_enough_and_a_missing_text_matches_none() -> None:
    matches = matcher(["a", "c d"])
    assert [matches(text) for text in ("a", "b", "c", "b-c-d", None)] == [
        True,
        False,
        False,
        True,
        False,
    ]


@given(TEXTS, TEXTS, st.booleans())
@hypothesis_settings(max_examples=300)
def test_keywords_are_the_words_of_the_text_one_after_another(
    keyword: str, text: str, domain: bool
) -> None:
    def words(of: str) -> list[str]:
        for end in "-_." if domain else "-_":
            of = of.replace(end, " ")
        return of.lower().split()

    pattern, inner = words(keyword), words(text)
    expected = any(inner[i : i + len(pattern)] == pattern for i in range(len(inner))) and bool(
        pattern
    )
    assert matcher([keyword], domain=domain)(text) == expected


@pytest.mark.parametrize("domain", ["bücher.test", "xn--bcher-kva.test", "mail.bu\u0308cher.test"])
@pytest.mark.parametrize("keyword", ["BÜCHER", "bücher\u3002test", "xn--bcher-kva", "bu\u0308cher"])
def test_words_of_a_domain_are_found_in_every_spelling(keyword: str, domain: str) -> None:
    assert matcher([keyword], domain=True)(domain)


def test_domains_that_only_look_alike_are_others() -> None:
    assert not matcher(["strasse.test"], domain=True)("xn--strae-oqa.test")
    assert not matcher(["bcher"], domain=True)("xn--bcher-kva.test")
