"""From an empty service to the first click: its example is sent, and the link followed."""

from __future__ import annotations

import shlex
import subprocess

from playwright.sync_api import Page, expect

from tests.browser.console import Console

_LINK = '"html": "<p>It works.</p><a href=\\"https://shop.example/start\\">Start here</a>"'
#: What the recipient does → the event that follows
_ACTIONS = {
    "Open": "First opened",
    "Unsubscribe with one click": "Unsubscribed",
    "Complain": "Complaint",
    "Bounce late": "Bounced later",
}


def test_the_first_message_is_sent_looked_at_and_acted_on(fresh_console: Console) -> None:
    page = fresh_console.open("overview")
    example = page.get_by_label("curl example", exact=True).inner_text()
    command = shlex.split(example.replace("\\\n", "").replace('"text": "It works."', _LINK))
    assert "total_accepted_recipients" in subprocess.check_output(command, text=True)
    expect(page.get_by_role("heading", name="Send the first message")).to_have_count(0)
    page.get_by_role("link", name="Mailbox").click()
    page.get_by_role("link", name="Hello, to you@example.com").click()
    _links_lead_where_they_should(page)
    page.get_by_role("button", name="Click Start here").click()
    timeline = page.get_by_role("tabpanel")
    expect(timeline.get_by_role("link", name="Clicked", exact=True)).to_be_visible()
    for action, event in _ACTIONS.items():
        timeline.get_by_role("button", name=action, exact=True).click()
        expect(timeline.get_by_role("link", name=event, exact=True)).to_be_visible()
    page.get_by_role("tab", name="Checks").click()
    checks = page.get_by_role("list", name="Checks").get_by_role("listitem")
    text_part = checks.filter(has=page.get_by_role("heading", name="Text part"))
    expect(text_part.get_by_text("Improve")).to_be_visible()
    expect(text_part.get_by_text("Add text to the content or the template.")).to_be_visible()


def _links_lead_where_they_should(page: Page) -> None:
    page.get_by_role("tab", name="Links").click()
    links = page.get_by_role("list", name="Links").get_by_role("listitem")
    link = links.filter(has_text="Start here")
    expect(link.get_by_text("Tracked")).to_be_visible()
    expect(link.get_by_role("button", name="https://shop.example/start")).to_be_visible()
    expect(links.filter(has_text="Open pixel").first).to_be_visible()
