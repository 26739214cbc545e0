from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.tracking.links import LinkOptions, link
from chalicelib.tracking.locations import location
from tests.unit.tracking.examples import html, targets

# The grammar of RFC 3986, appendix A
_ESCAPE = "%[0-9A-Fa-f]{2}"
_NAME = rf"(?:[A-Za-z0-9._~!$&'()*+,;=-]|{_ESCAPE})"
_PATH = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|{_ESCAPE})"
URI = re.compile(
    rf"https?://(?:(?:{_NAME}|:)*@)?(?:\[[0-9A-Fa-f:.]+\]|{_NAME}*)(?::[0-9]*)?"
    rf"(?:/{_PATH}*)*(?:\?(?:{_PATH}|[/?])*)?(?:\#(?:{_PATH}|[/?])*)?",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    "target",
    [
        "https://a.example",
        "HTTPS://A.example/?b=%20c&d=1#e",
        "https://a.example/?q=%e2%98%83&r=%2F;s='(1)*,!$'+t:@/?u",
        "http://user:name@a.example:8080/~b/c;d=e//f/../g",  # pragma: allowlist secret
        "http://[2001:db8::1]:8080/x",
        "https://a.example:/",
        "https://@a.example/",
        "https://xn--bcher-kva.example/#/route?x=/y",
        "https://a.example/login?next=https://a.example/account",
    ],
)
def test_a_uri_is_its_own_location(target: str) -> None:
    assert location(target) == target


@pytest.mark.parametrize(
    ("target", "uri"),
    [
        (
            "https://a.example/a b|c\"<>{}^`\\'",
            "https://a.example/a%20b%7Cc%22%3C%3E%7B%7D%5E%60%5C'",
        ),
        ("https://a.example/?b[]=1&b[x]=2", "https://a.example/?b%5B%5D=1&b%5Bx%5D=2"),
        ("https://a.example/#a#b", "https://a.example/#a%23b"),
        (
            "https://a.example/100%?x=%zz&y=%4&z=%41%",
            "https://a.example/100%25?x=%25zz&y=%254&z=%41%25",
        ),
        ("https://a.example/\r\n\0\x7f\x85", "https://a.example/%0D%0A%00%7F%C2%85"),
        ("https://a.example/\ud800", "https://a.example/%EF%BF%BD"),
        (
            "https://bücher.example/größe?ß#ü",
            "https://xn--bcher-kva.example/gr%C3%B6%C3%9Fe?%C3%9F#%C3%BC",
        ),
        (
            "https://u:ü@bücher.example:8080",
            "https://u:%C3%BC@xn--bcher-kva.example:8080",  # pragma: allowlist secret
        ),
        ("https://i❤.example/", "https://xn--i-7iq.example/"),
        ("https://b%C3%BCcher.example/", "https://b%C3%BCcher.example/"),
        ("https://\u200b/x", "https://%E2%80%8B/x"),
        ("https://a.example:8x/", "https://a.example%3A8x/"),
        ("https://[::1/x", "https://%5B%3A%3A1/x"),
        ("https://a@b@c.example/", "https://a%40b@c.example/"),
        ("https://", "https://"),
        ("a b", "a%20b"),
    ],
)
def test_what_no_uri_may_hold_is_written_as_escapes(target: str, uri: str) -> None:
    assert location(target) == uri


def test_a_backslash_ends_the_host_as_in_browsers() -> None:
    assert location("https://a.example\\@evil.example/") == "https://a.example/@evil.example/"
    assert location("https://a.example?\\@evil.example/") == "https://a.example?%5C@evil.example/"


@given(
    st.text()
    | st.text(alphabet='a%4[]:@/?#\\ "<é\ud800\r')
    | st.text(alphabet=st.characters(min_codepoint=0x21, max_codepoint=0x7E))
)
def test_the_location_of_any_target_is_a_uri(rest: str) -> None:
    assert URI.fullmatch(location(f"http://{rest}"))


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",)).filter(lambda c: c not in "#%")))
def test_a_location_says_what_its_target_says(rest: str) -> None:
    assert unquote(location(f"https://a.example/{rest}")) == f"https://a.example/{rest}"


@given(st.text(alphabet="a%4[]:@/?#\\ é"))
def test_a_location_is_its_own_location(rest: str) -> None:
    uri = location(f"http://{rest}")
    assert location(uri) == uri


@pytest.mark.parametrize(
    ("href", "uri"),
    [
        ("https://a.example/r?key=1&amp;e=5&lt;6", "https://a.example/r?key=1&e=5%3C6"),
        ("https://a.example/?a=1&copy=2&amp;lt;&reg;", "https://a.example/?a=1&copy=2&lt;%C2%AE"),
        ("https://a.example/?q=&quot;hi&quot;&#x26;x", "https://a.example/?q=%22hi%22&x"),
        (" https://a.example/a\n/b c ", "https://a.example/a/b%20c"),
    ],
)
def test_the_references_of_html_are_decoded_once(href: str, uri: str) -> None:
    (target,) = targets(html(f'<a href="{href}">'))
    assert location(target) == uri


def test_a_url_whose_host_only_browsers_find_is_not_tracked() -> None:
    assert link("https://\\a.example", LinkOptions()) is None
