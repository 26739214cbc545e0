"""What the API says about a mistake is shown in words for people, with its own words at hand."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.console import Console
from tests.journey.service import Service

_FORMAT = "invalid data format/type"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            (
                _FORMAT,
                "field 'options.ip_pool' is of type 'number', but needs to be of type 'string'",
            ),
            "IP pool must be a text",
        ),
        (
            (
                _FORMAT,
                "field 'recipients[3].tags' is of type 'object', but needs to be of type 'array'",
            ),
            "Recipient 4: tags must be a list",
        ),
        (
            (_FORMAT, "field 'name' has length '1300', but max length is '1024'"),
            "Name is too long: 1,300 characters, and at most 1,024 fit",
        ),
        (
            (_FORMAT, "field 'name' has length '70', which is over the max length '64'"),
            "Name is too long: 70 characters, and at most 64 fit",
        ),
        ((_FORMAT, "field 'id' may hold letters only"), "Id may hold letters only"),
        (("required field is missing", "content.from is a required field"), "From is missing"),
        (("resource conflict", "'a.example' already exists"), "'a.example' already exists"),
        (
            ("Invalid domain", "Unconfigured Sending Domain <a.example>"),
            "Nothing can be sent from a.example: it is no sending domain of this account",
        ),
        (("Forbidden.", None), "This key may not do this"),
        (
            ("Forbidden.", "template 'x' belongs to the service"),
            "Template 'x' belongs to the service",
        ),
        (("IP pool not found.", None), "IP pool not found"),
        (
            (
                "substitution language syntax error in template content",
                "Error while compiling part html: line 3: syntax error near 'b'",
            ),
            "Syntax error near 'b'",
        ),
    ],
)
def test_an_error_is_told_in_words(console: Console, error: tuple[str, Any], text: str) -> None:
    script = """async ([message, description]) => {
      const { inWords } = await import(new URL("core/messages.js", document.baseURI));
      return inWords({ message, description });
    }"""
    assert console.page.evaluate(script, list(error)) == text


def test_a_dialog_says_what_is_wrong_and_what_to_do(console: Console) -> None:
    page = console.open("settings/pools")
    page.get_by_role("button", name="Add IP pool").click()
    dialog = page.get_by_role("dialog", name="Add IP pool")
    dialog.get_by_label("Name", exact=True).fill("Fast")
    dialog.get_by_label("Signing domain (optional)").fill("nobody.example")
    console.expected = ("400 (Bad Request)",)
    dialog.get_by_role("button", name="Add", exact=True).click()
    problem = dialog.get_by_role("alert")
    expect(problem).to_contain_text("must be a sending domain with a verified DKIM record")
    problem.get_by_text("What the API answered").click()
    expect(problem).to_contain_text("Status 400")
    assert console.violations() == []
    dialog.get_by_label("Signing domain (optional)").fill("example.test")
    expect(problem).to_have_count(0)


def test_a_key_that_another_part_owns_is_told_so(console: Console, service: Service) -> None:
    page = console.open("templates/edit/my-first-email")
    expect(page.get_by_role("button", name="Save draft")).to_be_disabled()
    page.get_by_label("Subject").fill("Mine")
    console.expected = ("403 (Forbidden)",)
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Template 'my-first-email' belongs to the service")).to_be_visible()
