"""Add a domain, publish its records in the local DNS, and see it become ready."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.console import Console


def test_a_domain_is_added_published_and_verified(fresh_console: Console) -> None:
    page = fresh_console.open("domains")
    page.get_by_role("button", name="Add sending domain").first.click()
    dialog = page.get_by_role("dialog", name="Add sending domain")
    dialog.get_by_label("Domain", exact=True).fill("shop.example.org")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="shop.example.org", level=1)).to_be_visible()
    expect(page.get_by_text("Not verified")).to_be_visible()
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_text("no TXT record")).to_be_visible()
    assert fresh_console.violations() == []
    page.get_by_role("button", name="Publish Signature (DKIM)").click()
    expect(page.get_by_text("Published", exact=True)).to_be_visible()
    expect(page.get_by_text("Ready", exact=True)).to_be_visible()
    fresh_console.open("domains")
    row = page.get_by_role("row", name="shop.example.org")
    expect(row.get_by_text("Ready")).to_be_visible()
