"""Make an A/B test, send mail with it until a template wins; schedule a draft and cancel it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.console import Console
from tests.journey.service import Service, eventually

_LINK = '<a href="https://example.com/offer">See the offer</a>'


def publish(service: Service, template_id: str, html: str) -> None:
    content = {"from": "hello@example.test", "subject": "Hello", "html": f"<p>Hello</p>{html}"}
    body = {"id": template_id, "name": template_id, "published": True, "content": content}
    response = service.request("POST", "/api/v1/templates", body)
    assert response.status == 200, response.body


def fill(page: Page, name: str, default: str, variant: str) -> None:
    page.get_by_role("button", name="New A/B test").first.click()
    dialog = page.get_by_role("dialog", name="New A/B test")
    dialog.get_by_label("Name", exact=True).fill(name)
    dialog.get_by_label("Default template", exact=True).select_option(default)
    dialog.get_by_label("Variant 1", exact=True).select_option(variant)


def send(service: Service, numbers: range, test: str = "autumn") -> None:
    for number in numbers:
        recipient = {"address": f"click+{number}@ab.example"}
        body = {"recipients": [recipient], "content": {"ab_test_id": test}}
        response = service.request("POST", "/api/v1/transmissions", body)
        assert response.status == 200, response.body


def accepted(service: Service, test_id: str = "autumn", query: str = "") -> list[int]:
    """Return how many messages of each template are accepted so far."""
    test = service.request("GET", f"/api/v1/ab-test/{test_id}{query}").json["results"]
    return [each["count_accepted"] for each in (test["default_template"], *test["variants"])]


def test_an_ab_test_to_its_winner(fresh_console: Console) -> None:
    service = fresh_console.service
    publish(service, "plain", "")
    publish(service, "offer", _LINK)
    page = fresh_console.open("templates")
    page.get_by_role("tab", name="A/B tests").click()
    expect(page.get_by_text("No A/B test yet")).to_be_visible()
    fill(page, "Autumn", "plain", "offer")
    dialog = page.get_by_role("dialog", name="New A/B test")
    dialog.get_by_label("Shares").select_option("sample_size")
    # Chance gives either template some of the first messages, and uses up neither's share
    for name in ("default template", "variant 1"):
        dialog.get_by_label(f"Messages of {name}").fill("10")
    dialog.get_by_role("switch", name="Schedule it").check()
    dialog.get_by_label("Wait for engagement").fill("0")
    assert fresh_console.violations() == []
    dialog.get_by_role("button", name="Schedule", exact=True).click()
    expect(page.get_by_role("heading", name="Autumn", level=1)).to_be_visible()
    expect(page.get_by_text("Running")).to_be_visible()

    # Only the variant has a link that its readers can click
    send(service, range(16))
    eventually(lambda: sum(accepted(service)) == 16)
    row = page.get_by_role("row").filter(has_text="offer")
    expect(row.get_by_text("100 %", exact=True)).to_be_visible()
    expect(row).to_contain_text("to 100 %")
    # The last message of the sample ends the test
    send(service, range(16, 20))
    expect(page.get_by_text("Winner: offer")).to_be_visible()
    expect(row.get_by_text("Winner")).to_be_visible()
    expect(page.get_by_role("button", name="New version")).to_be_visible()
    assert fresh_console.violations() == []


def test_a_draft_is_changed_scheduled_cancelled_and_deleted(
    console: Console, service: Service
) -> None:
    publish(service, "winter-a", "")
    publish(service, "winter-b", _LINK)
    page = console.open("templates/ab-tests")
    fill(page, "Winter", "winter-a", "winter-b")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_role("heading", name="Winter", level=1)).to_be_visible()
    page.get_by_role("button", name="Change or schedule").click()
    dialog = page.get_by_role("dialog", name="Change A/B test")
    dialog.get_by_label("Shares").select_option("sample_size")
    dialog.get_by_label("Messages of default template").fill("3")
    dialog.get_by_label("Messages of variant 1").fill("4")
    dialog.get_by_role("switch", name="Schedule it").check()
    dialog.get_by_role("button", name="Schedule", exact=True).click()
    expect(dialog).to_be_hidden()
    test = eventually(lambda: service.request("GET", "/api/v1/ab-test/winter").json["results"])
    assert test["total_sample_size"] == 7
    assert test["status"] == "running"

    page.get_by_role("button", name="Cancel test").click()
    question = page.get_by_role("dialog", name="Cancel Winter?")
    question.get_by_role("button", name="Cancel test").click()
    page.get_by_role("button", name="Delete").click()
    question = page.get_by_role("dialog", name="Delete Winter?")
    expect(question.get_by_role("button", name="Delete")).to_be_disabled()
    question.get_by_role("textbox").fill("Winter")
    question.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Templates", level=1)).to_be_visible()
    assert service.request("GET", "/api/v1/ab-test/winter").status == 404


def test_the_results_of_earlier_versions_stay(console: Console, service: Service) -> None:
    publish(service, "spring-a", "")
    publish(service, "spring-b", _LINK)
    page = console.open("templates/ab-tests")
    fill(page, "Spring", "spring-a", "spring-b")
    dialog = page.get_by_role("dialog", name="New A/B test")
    dialog.get_by_role("switch", name="Schedule it").check()
    dialog.get_by_role("button", name="Schedule", exact=True).click()
    # The list, which may show another test that is running, makes room for the test
    expect(page.get_by_role("heading", name="Spring", level=1)).to_be_visible()
    expect(page.get_by_text("Running")).to_be_visible()
    expect(page.get_by_role("combobox", name="Version")).to_have_count(0)
    send(service, range(6), "spring")
    eventually(lambda: sum(accepted(service, "spring")) == 6)
    page.get_by_role("button", name="Cancel test").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel test").click()
    page.get_by_role("button", name="New version").click()
    page.get_by_role("dialog").get_by_role("button", name="Save draft").click()
    rows = page.get_by_role("region", name="Results").get_by_role("row")
    expect(page.get_by_role("combobox", name="Version")).to_have_value("2")
    expect(rows.nth(1).get_by_role("cell").nth(2)).to_have_text("0")

    page.get_by_role("combobox", name="Version").select_option("Version 1")
    expect(page.locator("#main").get_by_text("Cancelled")).to_be_visible()
    counts = accepted(service, "spring", "?version=1")
    assert sum(counts) == 6
    for index, count in enumerate(counts, start=1):
        expect(rows.nth(index).get_by_role("cell").nth(2)).to_have_text(str(count))
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("combobox", name="Version")).to_have_value("1")
    assert console.violations() == []
    console.expected = ("404 (Not Found)",)
    assert service.request("DELETE", "/api/v1/ab-test/spring?version=1").status == 204
    page.reload()
    expect(page.get_by_role("heading", name="This version is not here")).to_be_visible()
    page.get_by_role("combobox", name="Version").select_option("Version 2, the latest")
    expect(page.get_by_role("button", name="Change or schedule")).to_be_visible()


def test_a_rate_has_the_interval_of_wilsons_score(console: Console) -> None:
    page = console.open("templates/ab-tests")
    intervals = page.evaluate(
        """async () => {
          const { wilson } = await import(new URL("core/ab-tests.js", document.baseURI));
          return [wilson(0, 6), wilson(8, 10), wilson(5, 5), wilson(0, 0)];
        }"""
    )
    assert intervals[0] == pytest.approx([0, 0.3903], abs=1e-4)
    assert intervals[1] == pytest.approx([0.4902, 0.9433], abs=1e-4)
    assert intervals[2] == pytest.approx([0.5655, 1], abs=1e-4)
    assert intervals[3] is None


def test_a_key_without_the_grant_is_told_so(
    open_console: Callable[..., Console], service: Service
) -> None:
    body = {"label": "Templates only", "grants": ["templates/view"]}
    response = service.request("POST", "/api/v1/api-keys", body)
    assert response.status == 200, response.body
    console = open_console(key=response.json["results"]["key"])
    page = console.open("templates")
    expect(page.get_by_role("tab", name="Snippets")).to_be_visible()
    expect(page.get_by_role("tab", name="A/B tests")).to_have_count(0)
    for address in ("templates/ab-tests?form=new", "templates/ab-tests/greeting"):
        page = console.open(address)
        expect(page.get_by_text("This key may not see A/B tests")).to_be_visible()
        expect(page.get_by_role("button", name="New A/B test")).to_have_count(0)
