"""A user is invited, changed, refused what the last administrator may not lose, and removed."""

from __future__ import annotations

import re
from email import message_from_bytes
from email.policy import default

from playwright.sync_api import Browser, Page, expect

from tests.browser.console import Console
from tests.journey.service import Service

_PASSWORD = "tram-harvest-violet-ladder"  # pragma: allowlist secret
_TOKEN = re.compile(r"#invitation=([\w.-]+)")


def test_users_are_invited_changed_and_removed(fresh_console: Console, browser: Browser) -> None:
    console, service = fresh_console, fresh_console.service
    page = console.open("users")
    expect(page.get_by_role("heading", name="No user yet")).to_be_visible()
    invite(console, "ann@office.example", "Ann", "Administrator")
    accept(service, "ann@office.example")
    console.expected = ("409 (Conflict)",)
    refuse_the_same_address(page)
    invite(console, "bob@office.example", "Bob", "Custom", "Read reports")
    change_the_role(console)
    keep_the_last_administrator(page)
    end_her_sessions(page)
    end_sessions_with_a_role(console)
    looks_only(browser, service)
    gives_no_more_than_it_has(browser, service)
    remove(page)
    service.request("PUT", "/api/v1/account", {"company_name": "Office"})
    console.open("settings/account")
    expect(page.get_by_text("Last changed by the key First key")).to_be_visible()
    console.open("audit-log?resource=users")
    lines = page.get_by_role("table", name="Lines of the audit log")
    expect(lines).to_contain_text("ended all sessions of user Ann")
    expect(lines).to_contain_text("Ann accepted the invitation")
    expect(lines).not_to_contain_text("Bob")


def invite(console: Console, email: str, name: str, role: str, preset: str = "") -> None:
    """Invite a user in the dialog."""
    page = console.page
    page.get_by_role("button", name="Invite", exact=True).first.click()
    dialog = page.get_by_role("dialog", name="Invite a user")
    dialog.get_by_label("Address").fill(email)
    dialog.get_by_label("Name").fill(name)
    send = dialog.get_by_role("button", name="Send invitation")
    expect(send).to_be_disabled()
    dialog.get_by_role("radio", name=re.compile(f"^{role}")).check()
    if preset:
        expect(send).to_be_disabled()
        dialog.get_by_role("checkbox", name=preset).check()
    assert console.violations() == []
    send.click()
    expect(page.get_by_role("link", name=f"{name}, {role}, Invited")).to_be_visible()


def accept(service: Service, email: str, name: str = "Ann") -> None:
    """Accept an invitation with the link in its mail."""
    mail = message_from_bytes(service.arrived(email)[0], policy=default)
    part = mail.get_body(("plain",))
    match = part and _TOKEN.search(part.get_content())
    assert match, mail
    body = {"password": _PASSWORD, "name": name}
    path = f"/api/v1/invitations/{match[1]}"
    response = service.request("POST", path, body, key=None)
    assert response.status == 200, response.body


def refuse_the_same_address(page: Page) -> None:
    """See that an address belongs to one user."""
    page.get_by_role("button", name="Invite", exact=True).click()
    dialog = page.get_by_role("dialog", name="Invite a user")
    dialog.get_by_label("Address").fill("ann@office.example")
    dialog.get_by_role("radio", name="Reporting").check()
    dialog.get_by_role("button", name="Send invitation").click()
    expect(dialog.get_by_role("alert")).to_contain_text("address")
    page.keyboard.press("Escape")


def change_the_role(console: Console) -> None:
    """Open the user by keyboard, look at the grants, and give another role."""
    page = console.page
    page.get_by_label("Rows of Users").focus()
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="Bob")).to_be_visible()
    expect(page.get_by_text("Read reports", exact=True)).to_be_visible()
    page.get_by_role("button", name="Invite again").click()
    expect(page.get_by_text("The invitation is on its way to bob@office.example")).to_have_count(2)
    page.get_by_role("button", name="Change", exact=True).click()
    dialog = page.get_by_role("dialog", name="Change user")
    dialog.get_by_role("radio", name="Templates Writes").check()
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="Bob, Templates, Invited")).to_be_visible()
    expect(page.get_by_text("Last changed by the key")).to_be_visible()
    assert console.violations() == []


def keep_the_last_administrator(page: Page) -> None:
    """See why the last administrator cannot be disabled."""
    page.get_by_role("link", name="Ann, Administrator, Active").click()
    page.get_by_role("button", name="Disable").click()
    question = page.get_by_role("dialog", name="Disable Ann?")
    question.get_by_role("button", name="Disable").click()
    expect(page.get_by_role("status")).to_contain_text("administrator")
    expect(page.get_by_role("link", name="Ann, Administrator, Active")).to_be_visible()


def end_her_sessions(page: Page) -> None:
    """End the session that began with the invitation."""
    sessions = page.get_by_role("list", name="Sessions")
    expect(sessions.get_by_role("listitem")).to_have_count(1)
    page.get_by_role("button", name="End all sessions").click()
    question = page.get_by_role("dialog", name="End all sessions of Ann?")
    question.get_by_role("button", name="End sessions").click()
    expect(page.get_by_text("Not signed in anywhere.")).to_be_visible()


def end_sessions_with_a_role(console: Console) -> None:
    """See that another role ends the sessions, and that the page shows it at once."""
    invite(console, "cleo@office.example", "Cleo", "Developer")
    accept(console.service, "cleo@office.example", "Cleo")
    page = console.page
    page.reload()
    page.get_by_role("link", name="Cleo, Developer, Active").click()
    sessions = page.get_by_role("list", name="Sessions")
    expect(sessions.get_by_role("listitem")).to_have_count(1)
    page.get_by_role("button", name="Change", exact=True).click()
    dialog = page.get_by_role("dialog", name="Change user")
    dialog.get_by_role("radio", name="Templates Writes").check()
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Not signed in anywhere.")).to_be_visible()


def looks_only(browser: Browser, service: Service) -> None:
    """See that who may only look at users can change none."""
    body = {"label": "Looks", "grants": ["users/view"]}
    key = service.request("POST", "/api/v1/api-keys", body).json["results"]["key"]
    console = Console(browser, service, key=key)
    page = console.open("users")
    expect(page.get_by_role("button", name="Invite", exact=True)).to_be_disabled()
    page.get_by_role("link", name="Bob, Templates, Invited").click()
    for name in ("Change", "Invite again", "Remove"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_disabled()
    console.close()


def gives_no_more_than_it_has(browser: Browser, service: Service) -> None:
    """See that who manages users offers what they hold, and cannot change who may do more."""
    offered = service.request("GET", "/api/v1/authenticate/grants").json["results"]
    grants = [each["key"] for each in offered if "templates" in each["roles"]]
    body = {"label": "Gives", "grants": [*grants, "users/manage"]}
    key = service.request("POST", "/api/v1/api-keys", body).json["results"]["key"]
    console = Console(browser, service, key=key)
    console.expected = ("403 (Forbidden)",)
    page = console.open("users")
    expect(page.get_by_role("link", name="Domains")).to_be_visible()
    page.get_by_role("button", name="Invite", exact=True).click()
    dialog = page.get_by_role("dialog", name="Invite a user")
    expect(dialog.get_by_role("radio")).to_have_count(3)
    expect(dialog.get_by_role("radio", name="Administrator")).to_have_count(0)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Ann, Administrator, Active").click()
    page.get_by_role("button", name="Disable").click()
    page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    expect(page.get_by_role("status")).to_contain_text("The user holds what you do not")
    console.close()


def remove(page: Page) -> None:
    """Remove a user, whose address must be typed first."""
    page.get_by_role("link", name="Bob, Templates, Invited").click()
    page.get_by_role("button", name="Remove").click()
    question = page.get_by_role("dialog", name="Remove Bob?")
    expect(question.get_by_role("button", name="Remove")).to_be_disabled()
    question.get_by_role("textbox").fill("bob@office.example")
    question.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("link", name=re.compile("^Bob"))).to_have_count(0)
    assert page.url.endswith("#/users")
