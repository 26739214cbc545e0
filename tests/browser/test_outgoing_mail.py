"""A service that lets mail out says so on every page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.console import LOOKS, Console
from tests.free_ports import free_port
from tests.journey.service import Service


@pytest.fixture
def smarthost() -> str:
    """An address on this machine where nobody answers."""
    return f"127.0.0.1:{free_port()}"


def test_a_red_bar_on_every_page_says_by_what_mail_leaves(
    browser: Browser, tmp_path: Path, smarthost: str
) -> None:
    service = Service(tmp_path)
    service.start(DELIVER="true", SMARTHOST=smarthost)
    try:
        for theme, size in LOOKS:
            console = Console(browser, service, theme=theme, size=size)
            for view in ("overview", "mailbox", "settings"):
                console.open(view)
                bar = console.page.get_by_text(f"Mail leaves this machine by {smarthost}.").first
                expect(bar).to_be_in_viewport()
                expect(console.page.get_by_text("nothing leaves this machine")).to_have_count(0)
                assert console.violations() == []
            console.close()
        signed_out = Console(browser, service, key="")
        expect(signed_out.page.get_by_text("Mail leaves this machine by")).to_be_in_viewport()
        signed_out.close()
    finally:
        service.stop()


def test_there_is_no_bar_where_no_mail_leaves(console: Console) -> None:
    console.open("mailbox")
    expect(console.page.get_by_role("heading", name="Mailbox", level=1)).to_be_visible()
    expect(console.page.locator(".outgoing")).to_have_count(0)
