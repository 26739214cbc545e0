"""Use the console of a deployed stage in a browser.

The tests stand in for API Gateway in one thing: it decodes what a function returns as binary, and
the emulator does not.
"""

from __future__ import annotations

import base64
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Route, expect, sync_playwright

from tests.browser import chromium
from tests.browser.console import Tab
from tests.deployment.deployed import KEY, Deployment, eventually

PAGES = ("overview", "activity", "metrics", "send", "templates", "audience", "domains", "webhooks")
LOCAL_PAGES = ("Mailbox", "Failure lab", "Webhook inspector")


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A browser that ends with the test: playwright has an event loop in this thread."""
    if chromium.path() is None:
        pytest.skip(chromium.MISSING)
    with sync_playwright() as playwright:
        running = chromium.launch(playwright)
        yield running
        running.close()


@pytest.fixture
def tab(browser: Browser, deployed: Deployment) -> Iterator[Tab]:
    """A tab, signed in; what the browser complains about fails the test."""
    assert deployed.last is not None
    tab = Tab(browser, f"{deployed.last.url}/console/", key=KEY, respond=through_gateway)
    yield tab
    tab.close()


def through_gateway(route: Route) -> None:
    """Send a request of the browser on to the stage."""
    original = route.request
    request = urllib.request.Request(
        original.url,
        data=original.post_data_buffer,
        method=original.method,
        headers=original.headers,
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            status, headers, body = response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        status, headers, body = error.code, error.headers, error.read()
    fields = {name.lower(): text for name, text in headers.items()}
    if "application/json" not in fields.get("content-type", ""):
        body = base64.b64decode(body)
    fields.pop("content-length", None)
    route.fulfill(status=status, headers=fields, body=body)


def test_the_events_of_a_message_are_seen(tab: Tab, deployed: Deployment) -> None:
    deployed.send("console@inbox.test")
    eventually(lambda: "delivery" in deployed.events("console@inbox.test"))
    page = tab.open("activity?recipients=console@inbox.test")
    expect(page.get_by_role("link", name="Delivered").first).to_be_visible()


def test_every_page_of_a_stage_opens(tab: Tab) -> None:
    for path in (*PAGES, "settings"):
        page = tab.open(path)
        expect(page.get_by_role("alert")).to_have_count(0)
    navigation = page.get_by_role("navigation", name="Pages")
    expect(navigation.get_by_role("link", name="Settings")).to_be_visible()
    for name in LOCAL_PAGES:
        expect(navigation.get_by_role("link", name=name)).to_have_count(0)
