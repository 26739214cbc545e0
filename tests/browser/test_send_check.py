"""What is sent is tried before: errors at their line, data that is missing, a mail to oneself."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.console import LOOKS, Console
from tests.browser.test_templates import preview
from tests.journey.service import Service, eventually

READERS = "email,name,city\nann@check.example,Ann,Oslo\nben@check.example,Ben,\ncid@check.example,,"


def write(page: Page, html: str) -> None:
    page.get_by_label("From", exact=True).fill("hello@example.test")
    page.get_by_label("Subject").fill("News from {{city}}")
    page.get_by_label("HTML (optional)").fill(html)


def compose(page: Page, html: str) -> None:
    write(page, html)
    page.get_by_label("Recipients", exact=True).fill(READERS)


def test_an_error_is_at_its_line_until_it_is_repaired(console: Console) -> None:
    page = console.open("send")
    field = page.get_by_label("HTML (optional)")
    # While sender and subject are not written yet, only what is wrong is an error
    field.fill("<p>Hello</p>\n<p>{{ name | }}</p>")
    errors = page.get_by_role("list", name="Errors").get_by_role("listitem")
    expect(errors).to_have_count(1)
    compose(page, "<p>Hello</p>\n<p>{{ name | }}</p>")
    expect(errors).to_contain_text("HTML, line 2")
    expect(page.locator(".field", has=field).locator(".problem")).to_contain_text("Line 2: ")
    expect(page.get_by_role("list", name="Still to do")).to_have_text(
        "Correct the errors in the content."
    )
    expect(page.get_by_role("button", name="Send to 3 recipients")).to_be_disabled()
    assert console.violations() == []
    errors.get_by_role("button").click()
    expect(field).to_be_focused()
    assert (
        field.evaluate("field => field.value.slice(0, field.selectionStart).split('\\n').length")
        == 2
    )
    field.fill("<p>Hello</p>\n<p>{{ name }}</p>")
    expect(errors).to_have_count(0)
    expect(page.get_by_role("button", name="Send to 3 recipients")).to_be_enabled()


def test_the_first_recipients_are_previewed_with_their_own_data(
    open_console: Callable[..., Console],
) -> None:
    for theme, size in LOOKS:
        console = open_console(theme=theme, size=size)
        page = console.open("send")
        compose(page, "<p>Hello {{name or 'friend'}} in {{city}} of {{country}}</p>")
        page.get_by_label("Test data").fill('{"country": "Norway"}')
        mail = preview(page)
        expect(mail.get_by_text("Hello Ann in Oslo of Norway")).to_be_visible()
        missing = page.get_by_role("list", name="Missing data").get_by_role("listitem")
        expect(missing).to_have_text(["city: ben@check.example, cid@check.example"])
        page.get_by_label("As it reaches").select_option("cid@check.example")
        expect(mail.get_by_text("Hello friend in of Norway")).to_be_visible()
        assert console.violations() == []
        assert console.overflow() <= 0
        page.get_by_label("Test data").fill("")
        expect(missing.first).to_have_text("country: all 3 recipients")


def test_a_template_is_previewed_as_it_reaches_the_recipients(
    console: Console, service: Service
) -> None:
    template = {
        "id": "tried",
        "published": True,
        "content": {"from": "hello@example.test", "subject": "Hi {{name}}", "text": "To {{name}}"},
    }
    assert service.request("POST", "/api/v1/templates", template).status == 200
    page = console.open("send?kind=template&template=tried")
    page.get_by_label("Recipients", exact=True).fill(READERS)
    expect(page.get_by_text("Hi Ann")).to_be_visible()
    expect(page.get_by_role("list", name="Missing data")).to_have_text("name: cid@check.example")


def test_the_recipients_of_a_list_are_previewed_with_their_own_data(
    console: Console, service: Service
) -> None:
    recipients = [
        {"address": f"{name}@check.example", "substitution_data": data}
        for name, data in (("ann", {"name": "Ann"}), ("ben", {}))
    ]
    body = {"id": "previewed", "name": "Previewed", "recipients": recipients}
    assert service.request("POST", "/api/v1/recipient-lists", body).status == 200
    page = console.open("send?list=previewed")
    write(page, "<p>Hello {{name}} at {{email}}</p>")
    mail = preview(page)
    expect(mail.get_by_text("Hello Ann at ann@check.example")).to_be_visible()
    # Neither has a city, which the subject names
    missing = page.get_by_role("list", name="Missing data").get_by_role("listitem")
    expect(missing).to_have_text(["city: all 2 recipients", "name: ben@check.example"])
    page.get_by_label("As it reaches").select_option("ben@check.example")
    expect(mail.get_by_text("Hello at ben@check.example")).to_be_visible()


def test_a_mail_to_oneself_comes_first_with_the_data_of_a_recipient(
    console: Console, service: Service
) -> None:
    page = console.open("send")
    compose(page, "<p>Hello {{name}}</p>")
    page.get_by_label("As it reaches").select_option("ben@check.example")
    page.get_by_role("button", name="Send to me first").click()
    dialog = page.get_by_role("dialog", name="Send to me first")
    expect(dialog).to_contain_text("with the data of ben@check.example")
    dialog.get_by_label("To").fill("me@first.example")
    assert console.violations() == []
    dialog.get_by_role("button", name="Send", exact=True).click()
    accepted = page.get_by_role("dialog", name="Test accepted")
    expect(accepted).to_contain_text("It is on its way to me@first.example.")
    accepted.get_by_role("button", name="Close").last.click()
    (message,) = service.arrived("me@first.example")
    assert b"Hello Ben" in message
    assert service.mailbox(to="ben@check.example") == []
    # The form is as it was, and the address is remembered
    page.get_by_role("button", name="Send to me first").click()
    expect(dialog.get_by_label("To")).to_have_value("me@first.example")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Send to 3 recipients").click()
    expect(page.get_by_text("3 recipients accepted.")).to_be_visible()
    eventually(lambda: service.mailbox(to="ben@check.example"))


def test_an_ab_test_says_that_it_takes_one_recipient_before_a_file_is_chosen(
    console: Console,
) -> None:
    page = console.open("send?kind=ab_test&list=readers")
    expect(
        page.get_by_text("An A/B test takes one recipient in each transmission:")
    ).to_be_visible()
    expect(page.get_by_role("group", name="Where recipients come from")).to_have_count(0)
    to_do = page.get_by_role("list", name="Still to do")
    page.get_by_label("Recipients", exact=True).fill("ann@check.example")
    expect(to_do).to_have_text("Choose an A/B test.")
    page.get_by_label("Recipients", exact=True).fill(READERS)
    expect(to_do).to_contain_text("An A/B test takes one recipient in each transmission.")
    expect(page.get_by_role("button", name="Send to 3 recipients")).to_be_disabled()
    assert console.violations() == []
