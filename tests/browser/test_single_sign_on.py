"""People sign in at providers that others wrote, and with passkeys of the browser.

WebAuthn and cookies count for the host by which the browser reaches the service, so the console is
opened at ``PUBLIC_URL``, which names ``localhost``.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.console import Tab
from tests.journey.programs import needs_node
from tests.journey.service import Service
from tests.node_packages import install

pytestmark = needs_node

SECRET = "a client's secret: +/%"  # pragma: allowlist secret
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}


def setting(name: str, issuer: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": name.lower(),
        "name": name,
        "issuer": issuer,
        "client_id": "postfinch",
        "client_secret": SECRET,
        **fields,
    }


@pytest.fixture(scope="module")
def signed_on(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with two providers, which run in one process of Node.js."""
    service = Service(tmp_path_factory.mktemp("signed-on"))
    path = f"http://localhost:{service.api_port}/api/v1/sign-in/providers"
    folder = install(Path(__file__).parent / "oidc")
    command = ["node", "providers.mjs", f"{path}/acme/callback"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout
        issuers = json.loads(process.stdout.readline())
        groups = {"role_claim": "groups", "roles": {"mail": "developer"}}
        trust = {"trust_second_factor": {"amr": ["mfa"]}}
        providers = [
            setting("Acme", issuers["provider"], domains={"acme.example": "reporting"}, **groups),
            setting("Mock", issuers["mock"], domains={"mock.example": "admin"}, **trust),
        ]
        service.start(OIDC_PROVIDERS=json.dumps(providers))
        yield service
    finally:
        service.stop()
        process.terminate()
        process.wait()


@pytest.fixture
def open_entrance(browser: Browser, signed_on: Service) -> Iterator[Callable[[], Tab]]:
    """Open browsers of their own at the page on which people sign in."""
    tabs: list[Tab] = []

    def open_one() -> Tab:
        tab = Tab(browser, f"http://localhost:{signed_on.api_port}/console/", key="")
        tab.expected = ("401", "403")  # nobody is signed in yet
        tabs.append(tab)
        return tab

    yield open_one
    for tab in tabs:
        tab.close()


def sign_in_at_acme(page: Page, login: str) -> None:
    """Go through the pages of the provider: sign-in, then consent."""
    page.get_by_role("link", name="Sign in with Acme").click()
    page.get_by_placeholder("Enter any login").fill(login)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def person(page: Page) -> dict[str, Any]:
    """Return who is signed in."""
    program = 'fetch("/api/v1/me").then((response) => response.json())'
    results: dict[str, Any] = page.evaluate(program)["results"]
    return results


def sign_out(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in", exact=True)).to_be_visible()


def test_people_sign_in_at_oidc_provider(open_entrance: Callable[[], Tab]) -> None:
    tab = open_entrance()
    sign_in_at_acme(tab.page, "ann@acme.example")
    expect(tab.page.get_by_role("button", name="Person")).to_be_visible()
    ann = person(tab.page)
    assert (ann["email"], ann["role"]) == ("ann@acme.example", "developer")
    assert tab.page.url == tab.url
    sign_out(tab.page, "Person")
    stranger = open_entrance()
    sign_in_at_acme(stranger.page, "eve@evil.example")
    expect(stranger.page.get_by_text("Nobody has invited this address yet")).to_be_visible()


def test_a_passkey_signs_in_after_oauth2_mock_server(open_entrance: Callable[[], Tab]) -> None:
    tab = open_entrance()
    page = tab.page
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    added = devtools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    page.get_by_role("link", name="Sign in with Mock").click()
    expect(page.get_by_role("button", name="mock@mock.example")).to_be_visible()
    page.goto(f"{tab.url}#/profile")
    page.get_by_role("button", name="Add a passkey").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Laptop")
    dialog.get_by_role("button", name="Make the passkey").click()
    expect(page.get_by_role("list", name="Recovery codes").get_by_role("listitem")).to_have_count(
        10
    )
    page.get_by_label("I have kept them").check()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("button", name="Remove Laptop")).to_be_visible()
    sign_out(page, "mock@mock.example")
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("button", name="mock@mock.example")).to_be_visible()
    assert person(page)["tfa_enabled"]
    sign_out(page, "mock@mock.example")
    (credential,) = devtools.send(
        "WebAuthn.getCredentials", {"authenticatorId": added["authenticatorId"]}
    )["credentials"]
    assert credential["rpId"] == "localhost"
    # A copy of the passkey, whose counter is behind
    devtools.send("WebAuthn.clearCredentials", {"authenticatorId": added["authenticatorId"]})
    devtools.send(
        "WebAuthn.addCredential",
        {
            "authenticatorId": added["authenticatorId"],
            "credential": credential | {"signCount": 0},
        },
    )
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Sign in", exact=True)).to_be_visible()
