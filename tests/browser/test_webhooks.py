"""A webhook that fails, is repaired, and gets its batch again."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from tests.browser.console import Console
from tests.http_target import Post, Reply, serving
from tests.journey.service import eventually


def test_a_webhook_that_fails_is_repaired_and_its_batch_redelivered(fresh_console: Console) -> None:
    with serving() as target:
        page = fresh_console.open("webhooks")
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
        fresh_console.service.send("webhook@inbox.example")
        eventually(target.batches)
        page.get_by_role("button", name="Reload").click()
        page.get_by_role("list", name="Batches").get_by_role("link").first.click()
        attempts = page.get_by_role("list", name="Attempts")
        expect(attempts.get_by_text("Status 503").first).to_be_visible()
        expect(attempts.get_by_text("closed for repair").first).to_be_visible()
        expect(page.get_by_label("Payload", exact=True).first).to_contain_text(
            "webhook@inbox.example"
        )
        assert fresh_console.violations() == []
        target.answer = lambda _: Reply(200, b"thanks")
        page.get_by_role("button", name="Redeliver").click()
        expect(attempts.get_by_text("Delivered").first).to_be_visible()
        expect(attempts.get_by_text("thanks").first).to_be_visible()


def test_every_setting_of_a_webhook_is_set_and_refused_at_its_field(
    fresh_console: Console,
) -> None:
    service = fresh_console.service
    for name in ("Bakery", "Office"):
        body = {"name": name, "setup_api_key": False}
        assert service.request("POST", "/api/v1/subaccounts", body).status == 200
    with serving() as target:
        fresh_console.page.reload()  # the subaccounts are read once
        page = fresh_console.open("webhooks")
        page.get_by_role("button", name="Add webhook").first.click()
        dialog = page.get_by_role("dialog", name="Add webhook")
        dialog.get_by_label("Name", exact=True).fill("Orders")
        dialog.get_by_label("Target").fill(target.url)
        dialog.get_by_label("Delivery", exact=True).check()
        dialog.get_by_label("Except subaccounts").fill("1, 1")
        dialog.get_by_label("Authentication").select_option("User name and password")
        add_header(dialog, 1, "Authorization", "Bearer x")
        add_header(dialog, 2, "X-Header-2", "1")
        fresh_console.expected = ("400 (Bad Request)",)
        dialog.get_by_role("button", name="Test and add").click()
        for label, text in (
            ("Except subaccounts", "must not hold duplicates"),
            ("User name", "username must not be empty"),
            ("Name of header 1", "Authorization is set by auth_type basic"),
        ):
            expect(dialog.get_by_label(label)).to_have_attribute("aria-invalid", "true")
            expect(dialog.get_by_text(text)).to_be_visible()
        other = dialog.get_by_label("Name of header 2")
        expect(other).not_to_have_attribute("aria-invalid", "true")
        expect(dialog.get_by_text("Not saved: 3 fields above need a correction.")).to_be_visible()
        assert fresh_console.violations() == []
        dialog.get_by_label("Except subaccounts").fill("1")
        expect(dialog.get_by_text("Now: Bakery.")).to_be_visible()
        dialog.get_by_label("Authentication").select_option("None")
        for number in range(3, 6):
            add_header(dialog, number, f"X-Header-{number}", "1")
        expect(dialog.get_by_role("button", name="Add header")).to_have_count(0)
        dialog.get_by_role("button", name="Remove header 5").click()
        dialog.get_by_label("Token (optional)").fill("letmein")
        target.answer = lambda _: Reply(503, b"closed")
        dialog.get_by_role("button", name="Test and add").click()
        expect(dialog.get_by_text("URL failed: it answered 503")).to_be_visible()
        target.answer = lambda _: Reply()
        dialog.get_by_role("button", name="Test and add").click()
        expect(page.get_by_role("heading", name="Orders", level=1)).to_be_visible()
        post = target.posts[-1]
        assert (post.headers["authorization"], post.headers["x-header-4"]) == ("Bearer x", "1")
        assert "x-header-5" not in post.headers
        assert post.headers["x-svc-webhook-token"] == "letmein"
        settings = page.locator("dl.facts")
        expect(settings).to_contain_text("Bakery")
        expect(settings).to_contain_text("Authorization, X-Header-2")

        page.get_by_role("button", name="Change", exact=True).click()
        dialog = page.get_by_role("dialog", name="Change webhook")
        expect(dialog.get_by_label("Value of header 4")).to_have_value("1")
        dialog.get_by_label("Events of").select_option("Office")
        expect(dialog.get_by_label("Except subaccounts")).to_have_count(0)
        for _ in range(4):
            dialog.get_by_role("button", name="Remove header 1").click()
        dialog.get_by_label("Token (optional)").fill("")
        dialog.get_by_role("button", name="Save").click()
        expect(settings).to_contain_text("Office")
        assert "x-header-4" not in target.posts[-1].headers
        assert "x-svc-webhook-token" not in target.posts[-1].headers


def add_header(dialog: Locator, number: int, name: str, value: str) -> None:
    dialog.get_by_role("button", name="Add header").click()
    dialog.get_by_label(f"Name of header {number}").fill(name)
    dialog.get_by_label(f"Value of header {number}").fill(value)


def test_signing_is_stopped_after_a_question(console: Console) -> None:
    with serving() as target:
        webhook = {"name": "Signed", "target": target.url, "events": ["delivery"]}
        response = console.service.request("POST", "/api/v1/webhooks", webhook)
        path = f"webhooks/{response.json['results']['id']}"
        page = console.open(path)
        expect(page.get_by_role("button", name="Signing secret")).to_be_visible()
        expect(page.get_by_role("button", name="Stop signing")).to_have_count(0)
        page.get_by_role("button", name="Signing secret").click()
        page.get_by_role("dialog", name="Signing secret").get_by_label("Close").click()
        page.get_by_role("button", name="Stop signing").click()
        question = page.get_by_role("dialog", name="Stop signing?")
        question.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("Yes, as Standard Webhooks describes")).to_be_visible()
        page.get_by_role("button", name="Stop signing").click()
        assert console.violations() == []
        question.get_by_role("button", name="Stop signing").click()
        expect(page.get_by_role("button", name="Stop signing")).to_have_count(0)
        assert not console.service.request("GET", f"/api/v1/{path}").json["results"]["signed"]
