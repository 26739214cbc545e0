"""A passkey is made and signs in, also in browsers that do not read the options as JSON."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.console import Console
from tests.browser.people import join, open_menu, sign_in
from tests.journey.service import Service

_WITHOUT_JSON = """() => {
  delete PublicKeyCredential.parseCreationOptionsFromJSON;
  delete PublicKeyCredential.parseRequestOptionsFromJSON;
  delete PublicKeyCredential.prototype.toJSON;
}"""
_AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def test_a_passkey_signs_in_without_a_password(
    open_console: Callable[..., Console], service: Service
) -> None:
    join(service, "hedy@passkeys.example")
    # A passkey belongs to the host of PUBLIC_URL
    console = open_console(key="", host="localhost")
    page = console.page
    devtools = console.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": _AUTHENTICATOR})
    sign_in(console, "hedy@passkeys.example")
    console.open("profile")
    page.evaluate(_WITHOUT_JSON)
    make_passkey(page, "Laptop")
    page.get_by_label("I have kept them").check()
    page.get_by_role("button", name="Done").click()
    passkey = page.get_by_role("list", name="Second factors").locator("li", has_text="Laptop")
    expect(passkey).to_be_visible()
    for prepare in (lambda: None, page.reload):
        open_menu(page)
        page.get_by_role("button", name="Sign out").click()
        prepare()
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.get_by_role("heading", name="Your profile", level=1)).to_be_visible()
    expect(page.get_by_text("by passkey").first).to_be_visible()
    page.get_by_role("button", name="Remove Laptop").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(passkey).to_have_count(0)


def make_passkey(page: Page, name: str) -> None:
    """Make a passkey in the profile."""
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_label("Name", exact=False).last.fill(name)
    page.get_by_role("button", name="Make the passkey").click()
