"""Mail of several programs is in inboxes of its own, each of which is read and emptied alone."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from infrastructure.local.mailbox.trace import Trace
from tests.browser.caught_mail import catch
from tests.browser.console import Console
from tests.journey.service import Service


def test_an_inbox_is_chosen_followed_searched_and_emptied(
    console: Console, service: Service
) -> None:
    shop = Trace("a@shop.example", ("ann@in.example",), inbox="shop-test", login="shop-test")
    for number in (1, 2):
        catch(service, shop, f"Subject: Order {number}", "To: ann@in.example")
    catch(service, Trace("", ("bob@in.example",), inbox="blog-test"), "Subject: A comment")
    page = console.open("mailbox")
    choice = page.get_by_label("Inbox", exact=True)
    choice.select_option("shop-test: 2 messages, 2 unread")
    expect(page).to_have_url(re.compile(r"mailbox\?inbox=shop-test$"))
    foot = page.locator(".grid-foot")
    expect(foot).to_have_text("2 messages, 2 unread")
    # New mail of this inbox appears, that of others does not
    catch(service, Trace("", ("bob@in.example",), inbox="blog-test"), "Subject: Another comment")
    several = Trace(
        "a@shop.example",
        ("ann@in.example", "cat@in.example", "audit@shop.example"),
        inbox="shop-test",
        login="shop-test",
        tags=("order",),
    )
    to = "To: Ann <ann@in.example>, dora@elsewhere.example"
    latest = catch(service, several, "Subject: Order 3", to, "Cc: cat@in.example")
    expect(foot).to_have_text("3 messages, 3 unread")
    expect(page.get_by_text("Another comment")).to_have_count(0)
    page.reload()
    expect(choice).to_have_value("shop-test")
    page.get_by_role("link", name="Unread: Order 3, to ann@in.example, cat@in.example").click()
    facts = page.locator(".message-head")
    for field, value in (
        ("To", "ann@in.example"),
        ("To", "dora@elsewhere.example"),  # not a recipient of this message
        ("Cc", "cat@in.example"),
        ("Bcc", "audit@shop.example"),
        ("Logged in as", "shop-test"),
        ("Tags", "order"),
    ):
        expect(facts.locator(f"dt:text-is('{field}') + dd")).to_contain_text(value)
    expect(foot).to_have_text("3 messages, 2 unread")
    assert console.violations() == []
    # A search stays in the inbox
    page.get_by_label("Search mail").fill('subject:"Order 1"')
    expect(foot).to_have_text("1 found")
    page.get_by_label("Search mail").fill("comment")
    expect(page.get_by_role("heading", name="No message matches")).to_be_visible()
    page.get_by_label("Search mail").fill("")
    expect(foot).to_have_text("3 messages, 2 unread")
    page.get_by_role("button", name="Mark all as read").click()
    expect(foot).to_have_text("3 messages")
    page.get_by_role("button", name="Delete all").click()
    question = page.get_by_role("dialog", name="Delete all mail shown?")
    text = "3 messages in the inbox “shop-test” are deleted. Other mail stays."
    expect(question).to_contain_text(text)
    question.get_by_role("button", name="Delete all").click()
    expect(page.get_by_role("heading", name="This inbox is empty")).to_be_visible()
    assert {each["inbox"] for each in service.mailbox(to="*@in.example")} == {"blog-test"}
    choice.select_option("blog-test: 2 messages, 2 unread")
    expect(foot).to_have_text("2 messages, 2 unread")
    assert latest not in {each["id"] for each in service.mailbox()}
    service.request("DELETE", "/local/mailbox?inbox=blog-test")
