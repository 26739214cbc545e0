"""The audit log: a change and a refusal are found, read, followed to their resource and saved."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.console import Console
from tests.journey.service import Service

_TEMPLATE = {
    "id": "audited",
    "name": "Audited",
    "content": {"from": "hello@example.test", "subject": "Hello", "text": "Hello"},
}


_LINES = """async (lines) => {
  const { sentenceOf } = await import(new URL("core/audit.js", document.baseURI));
  return lines.map((line) => sentenceOf(line, { u1: "Ann" }));
}"""
_ANN = {"type": "user", "id": "u1", "label": "ann@office.example"}
_KEY = {"type": "key", "id": "k1", "label": "Shop"}
_OPERATOR = {"type": "operator", "id": "", "label": "postfinch admin add-user"}


def test_a_line_is_told_as_a_sentence(console: Console) -> None:
    sentences = {
        "Ann created template welcome": line(_ANN, "POST", "templates", "welcome"),
        "The key Shop tried to delete webhook w1": line(
            _KEY, "DELETE", "webhooks/{webhook_id}", "w1", outcome="refused"
        ),
        "The key Shop deleted webhook Orders": line(
            _KEY,
            "DELETE",
            "webhooks/{webhook_id}",
            "w1",
            changes={"name": {"from": "Orders", "to": None}},
        ),
        "Ann signed in": line(_ANN, "POST", "sign-in", "u1"),
        "Ann accepted the invitation": line(
            _ANN, "POST", "invitations/{token}", "u1", resource="users"
        ),
        "Ann tried to sign in": line(_ANN, "POST", "sign-in", "u1", outcome="refused"),
        "Ann reset the second factor of user u2": line(
            _ANN,
            "DELETE",
            "users/{user_id}/second-factor",
            "u2",
            changes={"name": {"from": "(hidden)", "to": "(hidden)"}},
        ),
        "Ann changed the account": line(_ANN, "PUT", "account", "1"),
        "The key Shop added a DKIM key to sending domain a.example": line(
            _KEY, "POST", "sending-domains/{domain}/dkim-keys", "a.example"
        ),
        "The operator ran add-user on user Ann": line(_OPERATOR, "add-user", "users", "u1"),
        "Ann changed new things x": line(_ANN, "PUT", "new-things/{id}", "x"),
    }
    assert console.page.evaluate(_LINES, list(sentences.values())) == list(sentences)
    by_invitation = line(_ANN, "POST", "invitations/{token}", "u1", resource="sign-in")
    assert console.page.evaluate(_LINES, [by_invitation]) == ["Ann signed in"]


def line(
    actor: dict[str, str], action: str, path: str, resource_id: str, **fields: Any
) -> dict[str, Any]:
    """Return a line as the API shows it, as far as its sentence depends on it."""
    return {
        "actor": actor,
        "action": action,
        "path": f"/api/v1/{path}",
        "resource": path.partition("/")[0],
        "resource_id": resource_id,
        "outcome": "done",
        "changes": {},
        **fields,
    }


def test_who_changed_a_template_is_found_read_and_saved(
    service: Service, open_console: Callable[..., Console]
) -> None:
    change_a_template(service)
    key = make_key(service, "Weak", ["templates/view", "grants/view"])
    refusal = service.request("DELETE", "/api/v1/templates/audited", key=key)
    assert refusal.status == 403, refusal.body
    console = open_console()
    page = console.open("templates/edit/audited")
    expect(page.get_by_text("Last changed by the key")).to_be_visible()
    page.get_by_role("link", name="All changes").click()
    assert page.url.endswith("#/audit-log?resource=templates&resource_id=audited")
    expect(rows(page)).to_have_count(3)
    expect(rows(page).nth(0)).to_contain_text("The key Weak tried to delete template audited")
    expect(rows(page).nth(0)).to_contain_text("Refused")
    expect(rows(page).nth(1)).to_contain_text("changed template audited")
    expect(rows(page).nth(2)).to_contain_text("created template audited")
    save(page)
    read_the_change(console)
    narrow(page)
    few = open_console(key=key)
    few.open("templates/edit/audited")
    expect(few.page.get_by_role("heading", name="Audited again")).to_be_visible()
    expect(few.page.get_by_text("Last changed")).to_have_count(0)
    expect(few.page.get_by_role("link", name="Audit log")).to_have_count(0)


def change_a_template(service: Service) -> None:
    """Create a template and change its name."""
    for method, path, body in (
        ("POST", "/api/v1/templates", _TEMPLATE),
        ("PUT", "/api/v1/templates/audited", {"name": "Audited again"}),
    ):
        response = service.request(method, path, body)
        assert response.status == 200, response.body


def make_key(service: Service, label: str, grants: list[str]) -> str:
    """Make an API key and return it."""
    response = service.request("POST", "/api/v1/api-keys", {"label": label, "grants": grants})
    assert response.status == 200, response.body
    return str(response.json["results"]["key"])


def rows(page: Page) -> Locator:
    """Return the lines in the list."""
    table = page.get_by_role("table", name="Lines of the audit log")
    return table.locator(".grid-row")


def save(page: Page) -> None:
    """Save the lines as CSV, which has those of the list only."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    text = Path(download.value.path()).read_text()
    lines = [*csv.DictReader(io.StringIO(text))]
    assert [line["outcome"] for line in lines] == ["refused", "done", "done"]
    assert {line["resource_id"] for line in lines} == {"audited"}


def read_the_change(console: Console) -> None:
    """Open the change with the keyboard: it has the former and the present name."""
    page = console.page
    page.get_by_label("Rows of Lines of the audit log").focus()
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    fields = page.get_by_role("region", name="Changed fields")
    expect(fields.get_by_text("From: Audited", exact=True)).to_be_visible()
    expect(fields.get_by_text("To: Audited again")).to_be_visible()
    expect(page.get_by_text("PUT /api/v1/templates/{template_id}")).to_be_visible()
    assert console.violations() == []
    page.reload()
    expect(fields.get_by_text("To: Audited again")).to_be_visible()
    page.get_by_role("link", name="Open template").click()
    expect(page.get_by_role("heading", name="Audited again")).to_be_visible()
    page.go_back()
    expect(fields.get_by_text("To: Audited again")).to_be_visible()
    page.keyboard.press("Escape")
    expect(fields).to_have_count(0)


def narrow(page: Page) -> None:
    """Filter by outcome and by who did it, as the address keeps."""
    page.get_by_label("Outcome").select_option("Refused")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("Who", exact=True).select_option("Users")
    expect(page.get_by_role("heading", name="No line matches")).to_be_visible()
    page.get_by_role("button", name="Remove all filters").click()
    page.get_by_role("searchbox", name="Who did it").fill("Weak")
    expect(rows(page)).to_have_count(1)
    assert page.url.endswith("#/audit-log?actor=Weak")
    page.get_by_role("searchbox", name="Who did it").fill("nobody@example.com")
    expect(page.get_by_role("heading", name="No line matches")).to_be_visible()
