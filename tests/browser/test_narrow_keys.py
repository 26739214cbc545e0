"""A key that may do little sees what it may do, and never a bare refusal."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.console import LOOKS, Console
from tests.browser.test_send_forms import write
from tests.journey.service import Service, eventually


def key_with(service: Service, *grants: str) -> str:
    body = {"label": "Narrow", "grants": grants}
    key: str = service.request("POST", "/api/v1/api-keys", body).json["results"]["key"]
    return key


@pytest.mark.parametrize(("theme", "size"), LOOKS)
def test_a_key_that_may_only_send_sees_how(
    theme: str, size: tuple[int, int], open_console: Callable[..., Console], service: Service
) -> None:
    key = key_with(service, "transmissions/modify")
    console = open_console(key=key, theme=theme, size=size)
    page = console.open("overview")
    abilities = page.get_by_role("list", name="Grants").get_by_role("listitem")
    expect(abilities).to_have_count(1)
    expect(abilities).to_contain_text("Send by the HTTP API")
    expect(page.get_by_role("tab")).to_have_text(["curl", "Python", "Node"])
    expect(page.get_by_label("curl example", exact=True)).to_contain_text(key)
    assert console.violations() == []
    assert console.overflow() <= 0
    abilities.get_by_role("link", name="Send").click()
    write(page, "anna@narrow.example")
    page.get_by_role("button", name="Send to 1 recipient").click()
    expect(page.get_by_text("1 recipient accepted.")).to_be_visible()
    expect(page.get_by_text("This key may not see what becomes of it.")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
    eventually(lambda: service.mailbox(to="anna@narrow.example"))


def test_a_key_for_smtp_sees_only_how_to_send_by_smtp(
    open_console: Callable[..., Console], service: Service
) -> None:
    page = open_console(key=key_with(service, "smtp/inject")).open("overview")
    expect(page.get_by_role("list", name="Grants")).to_contain_text("Send by SMTP")
    expect(page.get_by_role("tab")).to_have_text(["SMTP"])


def test_a_key_that_neither_sends_nor_reads_figures_is_led_to_its_pages(
    open_console: Callable[..., Console], service: Service
) -> None:
    page = open_console(key=key_with(service, "templates/view", "usage/view")).open("overview")
    abilities = page.get_by_role("list", name="Grants")
    expect(abilities).to_contain_text("Usage: view")
    abilities.get_by_role("link", name="Templates").click()
    expect(page.get_by_role("heading", name="Templates", level=1)).to_be_visible()
    expect(page.get_by_role("tab", name="curl")).to_have_count(0)


@pytest.mark.parametrize(
    ("view", "grant"),
    [
        ("webhooks", "webhooks/view"),
        ("activity?events=bounce", "message_events/view"),
        ("domains/sending/news.example.org", "sending_domains/view"),
    ],
)
def test_an_address_that_the_key_may_not_open_names_the_grant(
    view: str, grant: str, open_console: Callable[..., Console], service: Service
) -> None:
    console = open_console(key=key_with(service, "tracking_domains/view"))
    page = console.open(view)
    expect(page.get_by_role("heading", name="This key may not see")).to_be_visible()
    expect(page.get_by_text(grant, exact=True)).to_be_visible()
    assert console.violations() == []


def test_domains_are_for_a_key_of_either_kind(
    open_console: Callable[..., Console], service: Service
) -> None:
    page = open_console(key=key_with(service, "sending_domains/manage")).open("overview")
    page.get_by_role("link", name="Domains").click()
    expect(page.get_by_role("button", name="Add sending domain").first).to_be_visible()
