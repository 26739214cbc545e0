"""Signing in and out, going about by mouse and keyboard, themes."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.console import NARROW, Console
from tests.journey.service import KEY, Service, eventually

MOST_FIRST_LOAD = 60 * 1024  # bytes, compressed


def test_the_link_signs_in_and_the_key_leaves_the_address(console: Console) -> None:
    expect(console.page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    assert "key" not in console.page.url
    console.page.reload()
    expect(console.page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


def test_the_first_view_loads_little(
    open_console: Callable[..., Console], service: Service
) -> None:
    service.send("first@load.example")
    eventually(lambda: service.events(recipients="first@load.example", events="injection"))
    console = open_console()
    expect(console.page.get_by_role("heading", name="Messages by hour")).to_be_visible()
    console.page.wait_for_load_state("networkidle")
    files = console.files()
    assert any("uplot.js" in path for path in files)
    # All but the library of the plot, which comes after the page is there
    assert sum(size for path, size in files.items() if "uplot" not in path) <= MOST_FIRST_LOAD


def test_signing_out_forgets_the_key(console: Console) -> None:
    console.page.get_by_role("button", name="Sign out").click()
    expect(console.page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert console.page.evaluate("[...Object.values(sessionStorage)].join() + location.hash") == ""


def test_a_wrong_key_is_explained_and_a_right_one_signs_in(
    open_console: Callable[..., Console],
) -> None:
    console = open_console(key="")
    console.expected = ("status of 401",)  # the browser itself reports it
    console.page.get_by_role("button", name="Use an API key instead").click()
    console.page.get_by_label("API key").fill("wrong")
    console.page.keyboard.press("Enter")
    expect(console.page.get_by_text("This is no valid API key")).to_be_visible()
    assert console.violations() == []
    console.page.get_by_label("API key").fill(KEY)
    console.page.keyboard.press("Enter")
    expect(console.page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


def test_everything_is_reached_by_keyboard(console: Console) -> None:
    page = console.page
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="Activity", level=1)).to_be_visible()
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.dataset.search") is not None
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    assert console.violations() == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()
    page.keyboard.press("Control+k")
    # Until then keys are for the page
    expect(page.get_by_role("combobox", name="Search pages")).to_be_focused()
    page.keyboard.type("overv")
    expect(page.get_by_role("option", name="Overview")).to_be_visible()
    expect(page.get_by_role("option", name="Send")).to_have_count(0)
    assert console.violations() == []
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Activity", level=1)).to_be_visible()


def test_a_theme_is_kept(console: Console) -> None:
    page = console.page
    page.get_by_role("button", name="Change to: Light theme").click()
    page.get_by_role("button", name="Change to: Dark theme").click()
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_the_navigation_of_a_phone_opens_and_closes(open_console: Callable[..., Console]) -> None:
    page = open_console(size=NARROW).page
    page.get_by_role("button", name="Open navigation").click()
    page.get_by_role("link", name="Activity").click()
    expect(page.get_by_role("heading", name="Activity", level=1)).to_be_visible()
    expect(page.get_by_role("link", name="Activity")).to_be_hidden()


def test_an_address_without_a_page_says_so(console: Console) -> None:
    console.open("nowhere")
    expect(console.page.get_by_role("heading", name="This page is not here")).to_be_visible()
    assert console.violations() == []
