from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.text_urls import NO_BRACKETS, url_limit, urls
from tests.unit.core.text_url_corpus import corpus
from tests.unit.linear_time import assert_linear


def urls_of(text: str) -> list[str]:
    return [text[url.start : url.end] for url in urls(text)]


@pytest.mark.parametrize(("text", "expected"), corpus())
def test_the_urls_of_a_text_are_those_of_the_corpus(text: str, expected: list[str]) -> None:
    assert urls_of(text) == expected


@given(st.text(alphabet="htps:/.a()[]<>*_~'|&gt;。\n") | st.text())
def test_urls_are_in_order_and_apart(text: str) -> None:
    text = f"https://a.test/{text} https://b.test/{text}"
    position = 0
    for start, end, limit in urls(text):
        assert position <= start < end <= limit
        assert text[start:].lower().startswith("http")
        position = end
    assert urls_of(text)[0].startswith("https://")


@given(st.lists(st.text(alphabet="a()[]{}>* ")))
def test_the_limit_of_a_url_is_the_same_however_its_text_is_divided(texts: list[str]) -> None:
    position, brackets = 0, NO_BRACKETS
    for text in texts:
        limit, brackets = url_limit(text, 0, brackets)
        position += limit
        if limit < len(text):
            break
    assert position == url_limit("".join(texts), 0)[0]


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "http://",
            "http://)",
            "http://[",
            "http://a[[data-",
            "h",
            "://",
            "a+",
            "https://a.b/)) ",
        ),
        *(
            "**https://a.b/**",
            "*https://a.b/c*.",
            "_http://a_ ",
            "'http://a'b",
            "|http://a|",
            "*.",
            "_",
        ),
        *("http://a&gt;", "http://a&amp;", "http://a&a;&a;", "http://a。", "x://", "mailto:"),
        *(
            "http://a*.*.*.",
            "http://a~~b",
            "\n\n*http://a*",
            "http://(",
            "http://a;",
            "“http://a” ",
        ),
    ],
)
def test_hostile_texts_take_linear_time(unit: str) -> None:
    for start in ("", "**https://a.test/", "'https://a.test/", "https://a.test/?q="):
        assert_linear(urls_of, start + unit * (200_000 // len(unit)))
