"""Write a template, correct it, publish it, and send it; what it holds stays inert."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import FrameLocator, Page, expect

from tests.browser.console import Console
from tests.browser.hostile_mail import HOSTILE, REPORTS, does_nothing
from tests.journey.service import Service


def preview(page: Page) -> FrameLocator:
    """The mail is in a frame without scripts, within the frame that gets it."""
    # The last: the former version stays until the next one is loaded
    return page.frame_locator("iframe").frame_locator("iframe").last


def write(page: Page, name: str, text: str) -> None:
    """Replace what an editor holds."""
    page.get_by_role("textbox", name=name, exact=True).focus()
    page.keyboard.press("Control+a")
    if text:
        page.keyboard.insert_text(text)
    else:
        page.keyboard.press("Delete")


def make(service: Service, template_id: str, **content: str) -> None:
    content = {"from": "hello@example.test", "subject": "Hello", "text": "Hello"} | content
    body = {"id": template_id, "name": template_id, "content": content}
    response = service.request("POST", "/api/v1/templates", body)
    assert response.status == 200, response.body


def test_a_template_is_written_corrected_published_and_sent(console: Console) -> None:
    service = console.service
    page = console.open("templates")
    page.get_by_role("button", name="New template").first.click()
    dialog = page.get_by_role("dialog", name="New template")
    dialog.get_by_label("Name", exact=True).fill("Invitation")
    dialog.get_by_label("From").fill("hello@example.test")
    dialog.get_by_role("button", name="Make template").click()
    expect(preview(page).get_by_role("heading", name="Hello, Anna")).to_be_visible()

    write(page, "HTML", "<h1>Dear {{guest}}</h1>\n<p>{{if paid}}Thanks</p>")
    page.get_by_role("button", name="HTML, line 2").click()
    expect(page.get_by_role("textbox", name="HTML", exact=True)).to_be_focused()
    expect(page.get_by_text("The last version without an error")).to_be_visible()
    assert console.violations() == []
    write(page, "HTML", "<h1>Dear {{guest}}</h1>\n<p>{{if paid}}Thanks{{end}}</p>")
    expect(page.get_by_text("Not in the test data: guest")).to_be_visible()
    page.get_by_role("tab", name="Test data").click()
    write(page, "Test data", '{"name": "Anna", "guest": "Berta", "paid": true}')
    expect(preview(page).get_by_role("heading", name="Dear Berta")).to_be_visible()
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Not saved")).to_be_hidden()

    page.get_by_role("button", name="Publish").click()
    dialog = page.get_by_role("dialog", name="Publish Invitation")
    expect(dialog.get_by_role("region", name="Changes of HTML")).to_contain_text("{{guest}}")
    assert console.violations() == []
    dialog.get_by_role("button", name="Publish").click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="Publish")).to_be_disabled()

    page.get_by_role("button", name="Send a test").click()
    dialog = page.get_by_role("dialog", name="Send a test")
    dialog.get_by_label("To", exact=True).fill("berta@template.example")
    dialog.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("dialog", name="Test accepted")).to_be_visible()
    [message] = service.arrived("berta@template.example")
    assert b"Dear Berta" in message
    assert b"Thanks" in message


def test_a_template_is_written_in_mjml(console: Console, service: Service) -> None:
    make(service, "mjml", html="<p>Old</p>")
    page = console.open("templates/edit/mjml")
    page.get_by_role("tab", name="Settings").click()
    page.get_by_label("Written in").select_option("mjml")
    page.get_by_role("dialog").get_by_role("button", name="Replace").click()
    page.get_by_role("tab", name="MJML").click()
    expect(preview(page).get_by_role("link", name="Open")).to_be_visible()
    write(page, "MJML", "<mjml><mj-body>\n<mj-foo>{{name}}</mj-foo></mj-body></mjml>")
    page.get_by_role("button", name="MJML, line 2").click()
    expect(page.get_by_role("textbox", name="MJML", exact=True)).to_be_focused()
    expect(page.get_by_text("there is no element <mj-foo>")).to_be_visible()
    assert console.violations() == []
    column = "<mj-section><mj-column><mj-text>Dear {{name}}</mj-text></mj-column></mj-section>"
    write(page, "MJML", f"<mjml><mj-body>{column}</mj-body></mjml>")
    expect(page.get_by_text("Not in the test data: name")).to_be_visible()
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Not saved")).to_be_hidden()
    content = service.request("GET", "/api/v1/templates/mjml").json["results"]["content"]
    assert column in content["mjml"]
    assert "Dear {{name}}" in content["html"]
    page.get_by_role("tab", name="Settings").click()
    page.get_by_label("Written in").select_option("html")
    page.get_by_role("dialog").get_by_role("button", name="Replace").click()
    page.get_by_role("tab", name="HTML").first.click()
    expect(preview(page).get_by_text("Dear")).to_be_visible()


def test_edits_outlive_another_page_and_a_template_is_deleted_by_its_name(
    console: Console, service: Service
) -> None:
    make(service, "farewell")
    page = console.open("templates?q=farewell")
    page.get_by_role("link", name="farewell", exact=True).click()
    page.get_by_label("Subject").fill("Good bye")
    expect(page.get_by_text("Not saved")).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Subject")).to_have_value("Good bye")
    page.get_by_role("button", name="Delete").click()
    question = page.get_by_role("dialog", name="Delete farewell?")
    expect(question.get_by_role("button", name="Delete")).to_be_disabled()
    question.get_by_role("textbox").fill("farewell")
    question.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Templates", level=1)).to_be_visible()
    assert service.request("GET", "/api/v1/templates/farewell").status == 404


def test_coloured_text_is_replaced_without_a_style_of_the_browser(
    console: Console, service: Service
) -> None:
    """A browser keeps the looks of text that it replaces in a style, which the policy blocks."""
    make(service, "replaced", html='<h1 class="head">Dear {{guest}}</h1>\n<p>{{if paid}}Yes{{end}}')
    console.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = console.open("templates/edit/replaced")
    editor = page.get_by_role("textbox", name="HTML", exact=True)
    lines = editor.locator(".cm-line")
    for text in ("<p>{{first}}</p>\n<b>one</b>", "<p>{{second}}</p>\n<b>two</b>"):
        expect(editor).to_be_visible()
        write(page, "HTML", text)
        expect(lines).to_have_text(text.split("\n"))
    page.evaluate("navigator.clipboard.writeText('<i>{{pasted}}</i>')")
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+v")
    expect(lines).to_have_text(["<i>{{pasted}}</i>"])
    page.keyboard.press("Control+a")
    page.keyboard.type("(")  # what closes brackets still gets the key
    expect(lines).to_have_text(["(<i>{{pasted}}</i>)"])
    page.keyboard.press("Control+a")
    page.keyboard.type("Hi")
    expect(lines).to_have_text(["Hi"])
    page.keyboard.press("Control+z")
    expect(lines).to_have_text(["(<i>{{pasted}}</i>)"])
    assert console.complaints == []


def test_the_preview_of_a_hostile_template_does_nothing(
    open_console: Callable[..., Console], service: Service, visits: tuple[str, list[str]]
) -> None:
    url, paths = visits
    make(service, "hostile", html=HOSTILE.format(url=url))
    console = open_console()
    console.expected = REPORTS
    page = console.open("templates/edit/hostile")
    does_nothing(console, preview(page), paths)
