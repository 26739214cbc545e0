"""Find leads to recipients, messages and transmissions, besides pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.console import LOOKS, Console
from tests.journey.service import Service, eventually


def find(page: Page, text: str) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Search pages").fill(text)


@pytest.mark.parametrize(("theme", "size"), LOOKS)
def test_an_address_leads_to_its_events_its_mail_and_its_suppression(
    theme: str, size: tuple[int, int], open_console: Callable[..., Console], service: Service
) -> None:
    address = f"bounce-hard+{theme}{size[0]}@find.example"
    service.send(address)
    eventually(lambda: service.events(recipients=address, events="bounce"))
    console = open_console(theme=theme, size=size)
    page = console.open("overview")
    find(page, address)
    options = page.get_by_role("listbox").get_by_role("option")
    expect(options).to_have_text(
        [f"Events of {address}", f"Mail to {address}", f"Is {address} suppressed?"]
    )
    assert console.violations() == []
    assert console.overflow() <= 0
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 of 2 events")).to_be_visible()
    find(page, address)
    options.last.click()
    expect(page.get_by_role("heading", name=address)).to_be_visible()


def test_an_id_leads_to_its_transmission_and_to_its_message(
    console: Console, service: Service
) -> None:
    transmission = service.send("id@find.example")
    (event,) = eventually(lambda: service.events(recipients="id@find.example", events="delivery"))
    page = console.open("overview")
    find(page, transmission)
    page.get_by_role("option", name=f"Transmission {transmission}", exact=True).click()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    find(page, event["message_id"])
    page.get_by_role("option", name="Events of message").click()
    expect(page.get_by_text("2 of 2 events")).to_be_visible()


def test_words_lead_to_subjects_and_to_mail(console: Console, service: Service) -> None:
    service.send("words@find.example", subject="Quarterly, gazebo")
    eventually(lambda: service.events(recipients="words@find.example", events="delivery"))
    page = console.open("overview")
    find(page, "gazebo")
    page.get_by_role("option", name="in the subject").click()
    expect(page.get_by_text("2 of 2 events")).to_be_visible()
    find(page, "gazebo")
    page.get_by_role("option", name="Mail with").click()
    # Not to be seen at once: the events are there until the address has changed
    expect(page.get_by_role("link", name="words@find.example")).to_have_count(1)


def test_a_key_that_may_not_see_events_is_led_to_none(
    open_console: Callable[..., Console], service: Service
) -> None:
    body = {"label": "Narrow", "grants": ["templates/view"]}
    key = service.request("POST", "/api/v1/api-keys", body).json["results"]["key"]
    page = open_console(key=key).open("overview")
    find(page, "anna@find.example")
    expect(page.get_by_role("option")).to_have_text(["Mail to anna@find.example"])
