"""A webhook that points at the inspector: its batches arrive signed, and again after a failure."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.console import Console
from tests.journey.service import Service


def test_batches_arrive_at_the_inspector_signed_and_again_after_a_failure(
    console: Console, service: Service
) -> None:
    page = console.open("inspector")
    page.get_by_role("button", name="Add receiver").first.click()
    dialog = page.get_by_role("dialog", name="Add receiver")
    dialog.get_by_label("Name").fill("orders")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="orders", level=1)).to_be_visible()
    page.get_by_role("button", name="Point a new webhook here").click()
    expect(page.get_by_text("Verifies signatures")).to_be_visible()
    expect(page.get_by_role("link", name="Inspector: orders")).to_be_visible()
    requests = page.get_by_role("list", name="Requests").get_by_role("listitem")
    # The API tests a webhook before it exists, and so before it has a secret
    expect(requests.filter(has_text="Not signed")).to_have_count(1)
    requests.filter(has_text="Not signed").get_by_role("link").click()
    expect(page.get_by_text("This test came before the webhook had a secret")).to_be_visible()
    page.get_by_role("link", name="Close").click()
    page.get_by_role("button", name="Fail once").click()
    expect(page.get_by_text("Answers 500, once")).to_be_visible()
    service.send("buyer@inspected.example")
    expect(requests.filter(has_text="Signature valid").filter(has_text="500").first).to_be_visible()
    expect(requests.filter(has_text="Signature valid").filter(has_text="200").first).to_be_visible()
    assert console.violations() == []
    requests.filter(has_text="500").get_by_role("link").click()
    body = page.get_by_label("Body", exact=True)
    expect(body).to_contain_text("buyer@inspected.example")
    expect(page.get_by_role("cell", name="v1,")).to_be_visible()
