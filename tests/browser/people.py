"""Invite people, and sign them in as they do."""

from __future__ import annotations

import re
from typing import Any

import pyotp
from playwright.sync_api import Page, expect

from tests.browser.console import Console
from tests.journey.service import KEY, Service

PASSWORD = "seven green herons wade"  # pragma: allowlist secret

_LINK = re.compile(r"/console/(#(?:invitation|reset)=[\w.~-]+)")


def invite(
    service: Service, email: str, role: str = "admin", *, key: str = KEY, **fields: Any
) -> str:
    """Invite somebody; return what follows the console's address in the link of the mail."""
    body = {"email": email, "role": role} | fields
    response = service.request("POST", "/api/v1/users", body, key=key)
    assert response.status == 200, response.body
    return mailed_link(service, email)


def mailed_link(service: Service, email: str, count: int = 1) -> str:
    """Return the fragment of the link in the newest of ``count`` mails to somebody."""
    match = _LINK.search(service.arrived(email, count)[0].decode())
    assert match
    return match[1]


def join(service: Service, email: str, role: str = "admin", **fields: Any) -> None:
    """Invite somebody and accept the invitation, without a browser."""
    token = invite(service, email, role, **fields).partition("=")[2]
    body = {"name": "Ada Lovelace", "password": PASSWORD}
    response = service.request("POST", f"/api/v1/invitations/{token}", body, key=None)
    assert response.status in (200, 403), response.body


def enter(page: Page, email: str, password: str = PASSWORD) -> None:
    """Fill the form of the sign-in page and send it."""
    page.get_by_label("Email address").fill(email)
    page.get_by_label("Password", exact=True).fill(password)
    page.keyboard.press("Enter")


def sign_in(console: Console, email: str) -> Page:
    """Sign in by password, and wait for the first page."""
    enter(console.page, email)
    expect(console.page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    return console.page


def authenticator(page: Page) -> pyotp.TOTP:
    """Return an authenticator with the secret that the page shows."""
    text = page.locator(".secret-text").inner_text().split(",")[0]
    return pyotp.TOTP(re.sub(r"\s", "", text))


def open_menu(page: Page) -> None:
    """Open the menu of who is signed in, on a phone the navigation first."""
    navigation = page.get_by_role("button", name="Open navigation")
    if navigation.is_visible():
        navigation.click()
    page.get_by_role("button", name="Ada Lovelace").click()
