"""What a key may not see is in no navigation and behind no link, for keys of a subaccount too."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.browser.console import Console
from tests.journey.service import Service, eventually

#: Grants of a key → the pages that it sees besides those that need no grant
_KEYS = [
    (["transmissions/modify", "transmissions/view"], {"send"}),
    (["message_events/view"], {"activity"}),
    (["webhooks/view"], {"webhooks"}),
    # Only keys of the account can have these
    (["metrics/view"], {"metrics"}),
    (["templates/view", "recipient_lists/manage"], {"templates", "audience"}),
]
_SUBACCOUNT = {"name": "Narrow", "setup_api_key": False}
_OPEN_TO_ALL = {"overview", "mailbox", "settings", "api", "failures", "inspector"}
_TABS = ("timeline", "checks", "links")


def test_no_link_leads_to_a_page_that_the_key_may_not_see(
    browser: Browser, service: Service
) -> None:
    response = service.request("POST", "/api/v1/subaccounts", _SUBACCOUNT)
    subaccount = {"X-SVC-SUBACCOUNT": str(response.json["results"]["subaccount_id"])}
    body = {
        "campaign_id": "narrow",
        "recipients": [{"address": "narrow@grants.example"}],
        "content": {"from": "hello@example.test", "subject": "Hello", "text": "Hello"},
    }
    path = "/api/v1/transmissions"
    transmission = service.request("POST", path, body, headers=subaccount).json["results"]["id"]
    message = eventually(lambda: service.mailbox(to="narrow@grants.example"))[0]["id"]
    eventually(lambda: service.events(recipients="narrow@grants.example", events="delivery"))
    views = [f"mailbox/{message}?tab={tab}" for tab in _TABS]
    for grants, pages in _KEYS:
        body = {"label": "Narrow", "grants": grants}
        response = service.request("POST", "/api/v1/api-keys", body, headers=subaccount)
        if response.status == 400:
            response = service.request("POST", "/api/v1/api-keys", body)
        assert response.status == 200, response.body
        console = Console(browser, service, key=response.json["results"]["key"])
        expect(console.page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        allowed = _OPEN_TO_ALL | pages
        assert targets(console.page, "nav") == allowed
        for view in [*sorted(allowed), *views, *([f"send/{transmission}"] * ("send" in pages))]:
            console.open(view)
            assert targets(console.page, "main") <= allowed, view
        console.page.keyboard.press("Control+k")
        expect(console.page.get_by_role("option", name="Overview")).to_be_visible()
        expect(console.page.get_by_role("option", name="Domains")).to_have_count(0)
        console.close()


def targets(page: Page, part: str) -> set[str]:
    """Return the first parts of the addresses that links lead to."""
    links = page.locator(f"{part} a[href^='#/']").evaluate_all(
        "links => links.map((each) => each.getAttribute('href'))"
    )
    return {link.removeprefix("#/").partition("/")[0].partition("?")[0] for link in links}
