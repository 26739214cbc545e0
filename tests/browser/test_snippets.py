"""Write a snippet, use it in a template, see where it is used, and delete it by its name."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.console import NARROW, Console
from tests.browser.test_templates import make, preview, write
from tests.journey.service import Service


def test_a_snippet_is_corrected_imported_by_a_template_and_deleted_by_its_name(
    console: Console, service: Service
) -> None:
    page = console.open("templates")
    page.get_by_role("tab", name="Snippets").click()
    page.get_by_role("button", name="New snippet").first.click()
    dialog = page.get_by_role("dialog", name="New snippet")
    dialog.get_by_label("Name", exact=True).fill("Imprint")
    dialog.get_by_label("Id").fill("imprint")
    assert console.violations() == []
    dialog.get_by_role("button", name="Make snippet").click()
    expect(preview(page).get_by_text("Example Ltd, Oslo")).to_be_visible()

    write(page, "HTML", "<p>{{company}}</p>\n<p>{{if paid}}Thanks</p>")
    page.get_by_role("button", name="HTML, line 2").click()
    expect(page.get_by_role("textbox", name="HTML", exact=True)).to_be_focused()
    # The API refuses the fault as well
    console.expected = ("422 (Unprocessable Entity)",)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".toast.bad")).to_be_visible()
    write(page, "HTML", "<p>{{company}}</p>\n<p>{{if paid}}Thanks{{end}}</p>")
    expect(page.get_by_text("Not in the test data: company")).to_be_visible()
    page.get_by_role("tab", name="Test data").click()
    write(page, "Test data", '{"company": "Bakery", "paid": true}')
    expect(preview(page).get_by_text("Bakery")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Not saved")).to_be_hidden()
    expect(page.get_by_text("No template names it")).to_be_visible()

    make(service, "with-imprint")
    page = console.open("templates/edit/with-imprint")
    write(page, "HTML", '<h1>Hello</h1>{{ render_snippet("imprint") }}')
    page.get_by_role("tab", name="Test data").click()
    write(page, "Test data", '{"company": "Bakery", "paid": true}')
    expect(preview(page).get_by_text("Bakery")).to_be_visible()
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Not saved")).to_be_hidden()

    page = console.open("templates/snippets?q=imprint")
    page.get_by_role("link", name="Imprint", exact=True).click()
    users = page.get_by_role("list", name="Templates that use it")
    expect(users.get_by_role("link", name="with-imprint")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    question = page.get_by_role("dialog", name="Delete Imprint?")
    expect(question).to_contain_text("with-imprint")
    expect(question.get_by_role("button", name="Delete")).to_be_disabled()
    question.get_by_role("textbox").fill("Imprint")
    question.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Templates", level=1)).to_be_visible()
    assert service.request("GET", "/api/labs/snippets/imprint").status == 404


def test_an_empty_part_is_removed_and_a_snippet_is_shared(
    console: Console, service: Service
) -> None:
    path = "/api/labs/snippets/greeting"
    body = {"id": "greeting", "name": "Greeting", "content": {"html": "<p>Hi</p>", "text": "Hi"}}
    assert service.request("POST", "/api/labs/snippets", body).status == 200
    page = console.open("templates/snippets/greeting?part=text")
    write(page, "Text", "")
    page.get_by_role("tab", name="Settings").click()
    page.get_by_label("Share with all subaccounts").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Not saved")).to_be_hidden()
    snippet = service.request("GET", path).json["results"]
    assert snippet["content"] == {"html": "<p>Hi</p>"}
    assert snippet["shared_with_subaccounts"] is True


def test_ids_in_a_table_are_whole_on_a_phone(
    open_console: Callable[..., Console], service: Service
) -> None:
    body = {"id": "legal-notice", "name": "Legal notice", "content": {"text": "Hi"}}
    assert service.request("POST", "/api/labs/snippets", body).status == 200
    page = open_console(size=NARROW).open("templates/snippets?q=legal")
    text = page.get_by_role("cell", name="legal-notice").locator(".clip")
    expect(text).to_be_attached()
    assert text.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
