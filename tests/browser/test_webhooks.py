"""A webhook that fails, is repaired, and gets its batch again."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.console import Console
from tests.http_target import Post, Reply, serving
from tests.journey.service import eventually


def test_a_webhook_that_fails_is_repaired_and_its_batch_redelivered(console: Console) -> None:
    with serving() as target:
        page = console.open("webhooks")
        page.get_by_role("button", name="Add webhook").first.click()
        dialog = page.get_by_role("dialog", name="Add webhook")
        dialog.get_by_label("Name", exact=True).fill("Orders")
        dialog.get_by_label("Target").fill(target.url)
        dialog.get_by_label("Delivery", exact=True).check()
        dialog.get_by_role("button", name="Test and add").click()
        expect(page.get_by_role("heading", name="Orders", level=1)).to_be_visible()

        def refuse(_: Post) -> Reply:
            return Reply(503, b"closed for repair")

        target.answer = refuse
        console.service.send("webhook@inbox.example")
        eventually(target.batches)
        page.get_by_role("button", name="Reload").click()
        page.get_by_role("list", name="Batches").get_by_role("link").first.click()
        attempts = page.get_by_role("list", name="Attempts")
        expect(attempts.get_by_text("Status 503").first).to_be_visible()
        expect(attempts.get_by_text("closed for repair").first).to_be_visible()
        expect(page.get_by_label("Payload", exact=True).first).to_contain_text(
            "webhook@inbox.example"
        )
        assert console.violations() == []
        target.answer = lambda _: Reply(200, b"thanks")
        page.get_by_role("button", name="Redeliver").click()
        expect(attempts.get_by_text("Delivered")).to_be_visible()
        expect(attempts.get_by_text("thanks")).to_be_visible()
