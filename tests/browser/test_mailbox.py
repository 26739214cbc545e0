"""Mail appears as it arrives, is searched, read and deleted; hostile mail does nothing."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.console import Console
from tests.browser.hostile_mail import HOSTILE, REPORTS, does_nothing
from tests.journey.service import Service, eventually


def test_a_message_appears_and_its_events_follow(console: Console, service: Service) -> None:
    page = console.open("mailbox")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    service.send("click@live.example", subject="Just now", html='<a href="https://a.example">A</a>')
    page.get_by_role("link", name="Unread: Just now, to click@live.example").click()
    expect(page.get_by_role("heading", name="Just now")).to_be_visible()
    expect(page.frame_locator("iframe").get_by_role("link", name="A")).to_be_visible()
    expect(
        page.get_by_role("link", name="Just now, to click@live.example", exact=True)
    ).to_be_visible()
    page.get_by_role("tab", name="Timeline").click()
    timeline = page.get_by_role("tabpanel")
    for name in ("Sent", "Delivered", "Clicked"):
        expect(timeline.get_by_role("link", name=name, exact=True)).to_be_visible()


def test_mail_is_found_read_by_keyboard_and_deleted(console: Console, service: Service) -> None:
    for name in ("one", "two", "three"):
        service.send(f"{name}@search.example", subject=f"Number {name}")
    eventually(lambda: len(service.mailbox(to="*@search.example")) == 3)
    page = console.open("mailbox")
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("to:*@search.example")
    expect(page.get_by_text("3 found")).to_be_visible()
    page.locator(".pane-title").click()
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    second = service.mailbox(to="*@search.example")[1]
    expect(page.get_by_role("heading", name=second["subject"])).to_be_visible()
    page.keyboard.press("#")
    expect(page.get_by_text("2 found")).to_be_visible()
    assert second["id"] not in {each["id"] for each in service.mailbox(to="*@search.example")}
    page.get_by_label("Search mail").fill("to:nobody@nowhere.example")
    expect(page.get_by_role("heading", name="No message matches")).to_be_visible()


def test_hostile_mail_does_nothing(
    open_console: Callable[..., Console], service: Service, visits: tuple[str, list[str]]
) -> None:
    url, paths = visits
    html = HOSTILE.format(url=url)
    service.send("victim@hostile.example", subject="Hostile", html=html)
    message = eventually(lambda: service.mailbox(to="victim@hostile.example"))[0]
    console = open_console()
    console.expected = REPORTS
    page = console.open(f"mailbox/{message['id']}")
    # What covers the mail's own window covers nothing of the console.
    page.get_by_role("tab", name="Source").click()
    page.get_by_role("tab", name="HTML").click()
    does_nothing(console, page.frame_locator("iframe"), paths)
