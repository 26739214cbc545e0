"""List the links of a message with what they lead to."""

from __future__ import annotations

import dataclasses

import pytest

from chalicelib.core import clock, ids
from chalicelib.tracking import tokens
from chalicelib.tracking.model import CLICK, INITIAL_OPEN, LIST_UNSUBSCRIBE, Link, Message
from chalicelib.tracking.tokens import LinkPart, MessageTokens
from infrastructure.local.messages.links import MessageLink, is_pixel, links_of
from infrastructure.local.messages.parts import StoredMessage

SUBJECT = Message(
    account_id=1,
    subaccount_id=None,
    message_id=ids.message_id("217344600000123456", 0),
    first_index=0,
    recipient="ann@inbox.test",
    expires=tokens.last_day(clock.now_ms()),
)
ISSUER = MessageTokens(SUBJECT)
BASE = "http://track.example.test:8080"
SHOP_LINK = LinkPart(Link("https://example.com/shop?a=1", "Shop"))
APP_LINK = LinkPart(Link("https://example.com/app", sub="my app"))
LEAVE_LINK = LinkPart(Link("https://example.com/bye", unsubscribes=True))
SHOP = f"{BASE}/{CLICK}/{ISSUER.token_of(SHOP_LINK)}"
APP = f"{BASE}/f/my%20app/{ISSUER.token_of(APP_LINK)}"
LEAVE = f"{BASE}/{CLICK}/{ISSUER.token_of(LEAVE_LINK)}"
PIXEL = f"{BASE}/{INITIAL_OPEN}/{ISSUER.token(INITIAL_OPEN)}"
ONE_CLICK = f"{BASE}/prefix/{LIST_UNSUBSCRIBE}/{ISSUER.token(LIST_UNSUBSCRIBE)}"


def links(html: str, head: str = "") -> list[MessageLink]:
    content = f"{head}Content-Type: text/html; charset=utf-8\r\n\r\n{html}"
    return links_of(StoredMessage(content.encode()))


def test_a_tracked_link_is_shown_with_its_target() -> None:
    (link,) = links(f'<a href="{SHOP}">To the <b>shop</b></a>')
    assert link == MessageLink(
        url=SHOP,
        part="html",
        text="To the shop",
        kind="click",
        tracked=True,
        target="https://example.com/shop?a=1",
        name="Shop",
    )


def test_links_of_every_kind_are_recognized() -> None:
    message_links = links(
        f'<a href="{APP}">App</a><a href="{LEAVE}">Leave</a><a href="https://b.test">Plain</a>'
        '<a href="mailto:x@a.test">Mail</a>'
        f'<img src="{PIXEL}"><img src="https://b.test/i" alt="I">',
        f"List-Unsubscribe: <{ONE_CLICK}>, <mailto:u@a.test>\r\n",
    )
    assert [(link.part, link.kind, link.target) for link in message_links] == [
        ("html", "click", "https://example.com/app"),
        ("html", "unsubscribe", "https://example.com/bye"),
        ("html", "link", None),
        ("html", "mailto", None),
        ("html", "open", None),
        ("html", "image", None),
        ("header", "unsubscribe", None),
        ("header", "mailto", None),
    ]


@pytest.mark.parametrize(
    "url", [SHOP[:-1] + "~", SHOP.replace("/t/c/", "/t/o/"), "http://[", "/t/c/x"]
)
def test_a_forged_url_is_not_ours(url: str) -> None:
    (link,) = links(f'<a href="{url}">x</a>')
    assert (link.kind, link.tracked) == ("link", False)


def test_a_link_that_has_expired_is_still_ours() -> None:
    issuer = MessageTokens(dataclasses.replace(SUBJECT, expires=1))
    url = f"{BASE}/{CLICK}/{issuer.token_of(LinkPart(Link('https://example.com')))}"
    (link,) = links(f'<a href="{url}">x</a>')
    assert (link.kind, link.tracked, link.target) == ("click", True, None)


def test_links_in_plain_text_are_listed() -> None:
    (link,) = links_of(StoredMessage(f"\r\nSee <{SHOP}>".encode()))
    assert (link.part, link.target) == ("text", "https://example.com/shop?a=1")


def test_pixels_are_told_from_images() -> None:
    assert is_pixel(PIXEL)
    assert not is_pixel(SHOP)
    assert not is_pixel("https://b.test/image")


def test_links_in_text_are_those_that_readers_see() -> None:
    content = f"Content-Type: text/plain; charset=utf-8\r\n\r\n**{SHOP}**, [b](https://b.test/)."
    message_links = links_of(StoredMessage(content.encode()))
    assert [link.url for link in message_links] == [SHOP, "https://b.test/"]
    assert message_links[0].target == "https://example.com/shop?a=1"
