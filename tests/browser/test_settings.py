"""Make a key with few grants, and see that the console offers only what it may do."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.browser.console import Console


def test_a_key_with_few_grants_is_made_and_deleted(console: Console, browser: Browser) -> None:
    page = console.open("settings/keys")
    page.get_by_role("button", name="New API key").click()
    dialog = page.get_by_role("dialog", name="New API key")
    dialog.get_by_label("Name", exact=True).fill("Reports")
    dialog.get_by_text("Choose one by one").click()
    dialog.get_by_label("Event Webhooks: Read-only").check()
    assert console.violations() == []
    dialog.get_by_role("button", name="Make key").click()
    shown_once = page.get_by_role("dialog", name="The new API key")
    key = shown_once.locator("pre").inner_text()
    assert len(key) == 40
    shown_once.get_by_role("button", name="Close").click()
    few = Console(browser, console.service, key=key)
    expect(few.open("webhooks").get_by_role("heading", name="Webhooks", level=1)).to_be_visible()
    expect(few.page.get_by_role("button", name="Add webhook")).to_have_count(0)
    expect(few.page.get_by_role("link", name="Domains")).to_have_count(0)
    few.open("settings/pools")
    expect(few.page.get_by_text("it lacks the grant ip_pools/view")).to_be_visible()
    few.open("send")
    expect(few.page.get_by_role("heading", name="This key may not see this page")).to_be_visible()
    few.close()
    page.get_by_role("button", name="Delete Reports").click()
    question = page.get_by_role("dialog", name="Delete Reports?")
    question.get_by_role("textbox").fill("Reports")
    question.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("button", name="Delete Reports")).to_be_hidden()
