from __future__ import annotations

import random
import string
from dataclasses import replace

import pytest

from chalicelib.core import clock
from chalicelib.tracking import links
from chalicelib.tracking.links import LinkOptions
from chalicelib.tracking.model import Link
from chalicelib.tracking.tokens import LinkPart, MessageTokens
from tests.unit.tracking.examples import BASE, NINE, issuer, message


def link(url: str, **options: object) -> Link | None:
    return links.link(url, LinkOptions(**options))


def tracked_url(target_link: Link, tokens: MessageTokens) -> str:
    return start_of(target_link) + tokens.token_of(LinkPart(target_link))


def start_of(target_link: Link) -> str:
    url = links.tracked(BASE, target_link)
    assert url
    return url.start


@pytest.mark.parametrize(
    "url",
    [
        *("mailto:a@b.example", "tel:+4930", "#top", "/path", "a.example", "ftp://a.example", ""),
        *(
            "javascript:alert(1)//http://a",
            "data:text/html,http://a",
            "https:/a",
            "https:a",
            "http",
        ),
        *("httpss://a", "view-source:https://a.example", "//a.example", "https://", "http://?x"),
        "https://\\a.example",
    ],
)
def test_only_web_links_are_tracked(url: str) -> None:
    assert link(url) is None


@pytest.mark.parametrize(
    "url", ["http://a.example", "HTTPS://a.example/?x#y", "https://[::1]", "http://ü"]
)
def test_the_target_of_a_web_link_is_unchanged(url: str) -> None:
    target_link = link(url)
    assert target_link
    assert target_link.target == url


def test_blanks_around_and_line_breaks_within_a_url_are_removed_as_in_browsers() -> None:
    target_link = link(" \t\x00https://a.ex\r\nample/b\tc d \n")
    assert target_link
    assert target_link.target == "https://a.example/bc d"


def test_a_target_may_have_4096_bytes() -> None:
    assert link("https://a.example/" + "x" * 4078)
    assert link("https://a.example/" + "x" * 4079) is None
    assert link("https://a.example/" + "ü" * 2039)
    assert link("https://a.example/" + "ü" * 2040) is None


def test_a_link_with_clicktrack_0_is_not_tracked() -> None:
    assert link("https://a.example/", tracked=False) is None


def test_links_that_the_mail_client_completes_are_not_tracked_in_amp_only() -> None:
    url = "https://a.example/{{id}}"
    assert links.link(url, LinkOptions(), amp=True) is None
    assert links.link(url, LinkOptions()) == Link(url)


@pytest.mark.parametrize("sub", ["", "ios", "a/b ü"])
def test_tracked_links_are_recognised_at_every_host_and_age(sub: str) -> None:
    url = tracked_url(Link("https://a.example/", sub=sub), issuer())
    assert link(url) is None
    assert link(url.replace(BASE, "http://links.customer.example:8080")) is None
    assert link(url + "?x=1") is None
    with clock.use(lambda: NINE / 1000 + 500 * 86_400):
        assert link(url) is None


@pytest.mark.parametrize("path", ["t/c/abc", "f/ios/abc", "t/c/", "f/x/y.z.w"])
def test_a_url_that_only_looks_tracked_is_tracked(path: str) -> None:
    assert link(f"https://a.example/{path}")


def test_attributes_set_the_options_of_a_link() -> None:
    given_options = {"linkname": "ü" * 40, "unsubscribe": "1", "clicktrack": "0", "sublink": "ios"}
    assert links.read_options(given_options) == LinkOptions("ü" * 31, True, False, "ios")
    assert links.read_options({"linkname": "n", "unsubscribe": "0"}) == LinkOptions("n")
    assert links.read_options({}) == LinkOptions()


@pytest.mark.parametrize(
    ("given_sub", "sub"), [(".", ""), ("..", ""), ("a\ud800", "a?"), ("...", "...")]
)
def test_a_sublink_is_one_path_segment(given_sub: str, sub: str) -> None:
    assert links.read_options({"sublink": given_sub}).sub == sub


@pytest.mark.parametrize("prefix", ["svc", "msys"])
def test_attributes_with_both_prefixes_are_understood(prefix: str) -> None:
    for name in ("linkname", "unsubscribe", "clicktrack", "sublink"):
        assert links.option_of(f"data-{prefix}-{name}") == name
    assert links.option_of(f"data-{prefix}-other") is None
    assert links.option_of("linkname") is None


def test_a_tracked_url_is_never_over_4096_bytes() -> None:
    long = "".join(random.Random(1).choices(string.printable[:94], k=4000))
    recipient = f"{'r' * 64}@{'.'.join(['d' * 60] * 3)}.test"
    message_tokens = MessageTokens(replace(message(recipient=recipient), account_id=2**31))
    fitting = 0
    for length in range(2000, 4000, 50):
        target_link = Link(f"https://a.example/{long[:length]}")
        url = links.tracked(BASE, target_link)
        if url:
            fitting += 1
            assert len(url.start + message_tokens.token_of(url.link)) <= 4096
    assert 10 < fitting < 35
    assert links.tracked(BASE, None) is None


def test_the_path_of_a_sublink_is_encoded() -> None:
    target_link = Link("https://a.example/", sub="a/b ü")
    assert start_of(target_link) == f"{BASE}/f/a%2Fb%20%C3%BC/"
    assert start_of(Link("https://a.example/")) == f"{BASE}/t/c/"
    assert MessageTokens(message()).token_of(LinkPart(target_link)).count(".") == 2
