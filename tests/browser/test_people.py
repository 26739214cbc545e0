"""People are invited, sign in with a second factor, and look after their profile."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.console import NARROW, WIDE, Console
from tests.browser.people import (
    PASSWORD,
    authenticator,
    enter,
    invite,
    join,
    mailed_link,
    open_menu,
    sign_in,
)
from tests.journey.service import KEY, Service

OpenConsole = Callable[..., Console]

_HELD = """async () => {
  const { results } = await (await fetch("../api/v1/me")).json();
  const page = [document.documentElement.outerHTML, location.href, document.cookie];
  const stored = [...Object.values(localStorage), ...Object.values(sessionStorage)];
  return { token: results.csrf_token, texts: [...page, ...stored].join("\\n") };
}"""
LOOKS = [("light", NARROW), ("dark", WIDE)]


def test_an_invitation_leads_to_a_session_of_which_the_page_holds_no_secret(
    open_console: OpenConsole, service: Service
) -> None:
    fragment = invite(service, "ada@people.example", "developer")
    console = open_console(key="", fragment=fragment)
    console.expected = ("status of 400",)
    page = console.page
    expect(page.get_by_text("You are invited as Developer.")).to_be_visible()
    expect(page.get_by_label("Email address")).to_have_value("ada@people.example")
    assert "#" not in page.url
    page.get_by_label("Your name").fill("Ada Lovelace")
    page.get_by_label("Password", exact=True).fill("too short")
    page.keyboard.press("Enter")
    expect(page.get_by_text("It needs 12 characters or more.")).to_be_visible()
    page.get_by_label("Password", exact=True).fill("password1234")
    page.keyboard.press("Enter")
    expect(page.get_by_text("one of the most common ones")).to_be_visible()
    assert "most common" in described(page, "Password")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    page_state = page.evaluate(_HELD)
    assert len(page_state["token"]) >= 16
    for secret in (page_state["token"], KEY, PASSWORD, fragment.partition("=")[2]):
        assert secret not in page_state["texts"]
    assert "session=" not in page_state["texts"]
    page.go_back()  # to the empty tab: the link is in no step of the history
    assert "invitation" not in page.url
    console.expected += ("status of 404",)
    page.goto(console.url + fragment)
    expect(page.get_by_role("heading", name="does not work any more")).to_be_visible()


def test_a_person_signs_in_with_a_second_factor_and_looks_after_it(
    open_console: OpenConsole, service: Service
) -> None:
    join(service, "grace@people.example")
    console = open_console(key="")
    console.expected = ("status of 403", "status of 400")
    elsewhere = open_console(key="")
    elsewhere.expected = ("status of 403",)
    page = sign_in(console, "grace@people.example")
    for each in (sign_in(elsewhere, "grace@people.example"), page):
        open_menu(each)
        each.get_by_role("link", name="Your profile").click()
    page.get_by_role("button", name="Set up the authenticator app").click()
    totp = authenticator(page)
    code = page.get_by_role("textbox", name="Code")
    code.fill("000000")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The code is wrong")).to_be_visible()
    code.fill(totp.now())
    page.keyboard.press("Enter")
    expect(page.get_by_label("I have kept them")).to_be_visible()
    codes = page.get_by_role("list", name="Recovery codes").locator("li").all_inner_texts()
    assert len(set(codes)) == 10
    expect(page.get_by_role("button", name="Done")).to_be_disabled()
    page.get_by_label("I have kept them").check()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_text("10 codes left")).to_be_visible()
    confirm_elsewhere(elsewhere.page, codes[1])
    sign_out(page)
    enter(page, "grace@people.example")
    expect(page.get_by_role("textbox", name="Code")).to_be_focused()
    page.get_by_role("textbox", name="Code").fill(totp.at(time.time() + 30))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your profile", level=1)).to_be_visible()
    sign_out(page)
    enter(page, "grace@people.example")
    page.get_by_role("button", name="Use a recovery code").click()
    page.get_by_role("textbox", name="Recovery code").fill(codes[0])
    page.keyboard.press("Enter")
    expect(page.get_by_text("8 codes left")).to_be_visible()
    page.get_by_role("button", name="Remove the authenticator app").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Set up the authenticator app").click()
    code.fill(authenticator(page).now())
    page.keyboard.press("Enter")
    page.get_by_label("I have kept them").check()
    page.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Turn off the second factor").click()
    page.get_by_role("dialog").get_by_role("button", name="Turn off").click()
    expect(page.get_by_role("button", name="Set up the authenticator app")).to_be_visible()


def confirm_elsewhere(page: Page, code: str) -> None:
    """Change factors in a session that has shown none: it asks for a code first."""
    page.get_by_role("button", name="Set up the authenticator app").click()
    expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
    page.get_by_role("textbox", name="Code").fill(code)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Use another app")).to_be_visible()


def test_an_account_that_asks_for_a_second_factor_lets_nobody_further_without(
    open_console: OpenConsole, service: Service
) -> None:
    # Of its own: other tests must not meet what this account asks for
    output = service.operate("create-account", "Strict Ltd").splitlines()
    key = dict(line.rsplit(" ", 1) for line in output)["key"]
    join(service, "edsger@people.example", key=key)
    response = service.request("PUT", "/api/v1/account", {"tfa_required": True}, key=key)
    assert response.status == 200, response.body
    console = open_console(key="")
    console.expected = ("status of 403",)
    page = console.page
    enter(page, "edsger@people.example")
    expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Authenticator app").click()
    totp = authenticator(page)
    page.get_by_role("textbox", name="Code").fill(totp.now())
    page.keyboard.press("Enter")
    page.get_by_label("I have kept them").check()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


def test_a_forgotten_password_is_replaced_by_mail(
    open_console: OpenConsole, service: Service
) -> None:
    join(service, "barbara@people.example")
    console = open_console(key="")
    console.expected = ("status of 401",)
    page = console.page
    enter(page, "barbara@people.example", "not the right password")
    expect(page.get_by_role("alert")).to_contain_text("The address or the password is wrong.")
    page.get_by_role("button", name="Forgot the password?").click()
    expect(page.get_by_label("Email address")).to_have_value("barbara@people.example")
    page.get_by_label("Email address").press("Enter")
    expect(page.get_by_text("a mail with a link is on its way")).to_be_visible()
    page.goto(console.url + mailed_link(service, "barbara@people.example", 2))
    page.get_by_label("New password").fill(PASSWORD[::-1])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The password is changed")).to_be_visible()
    page.get_by_role("button", name="Sign in").click()
    enter(page, "barbara@people.example", PASSWORD[::-1])
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


def test_the_profile_changes_name_and_password_and_ends_sessions(
    open_console: OpenConsole, service: Service
) -> None:
    join(service, "alan@people.example")
    other = open_console(key="")
    sign_in(other, "alan@people.example")
    console = open_console(key="")
    console.expected = ("status of 403",)
    sign_in(console, "alan@people.example")
    page = console.open("profile")
    page.get_by_label("Name", exact=True).fill("Alan Turing")
    page.get_by_role("button", name="Save name").click()
    expect(page.get_by_role("button", name="Alan Turing")).to_be_visible()
    sessions = page.get_by_role("list", name="Sessions").locator("li")
    expect(sessions).to_have_count(3)  # one began with the invitation
    expect(sessions.filter(has_text="This session")).to_contain_text("Chrome on Linux")
    page.get_by_role("button", name="End the session of").first.click()
    expect(sessions).to_have_count(2)
    page.get_by_label("Present password").fill("not the right password")
    page.get_by_label("New password").fill(PASSWORD[::-1])
    page.keyboard.press("Enter")
    expect(page.get_by_text("The old password is wrong")).to_be_visible()
    page.get_by_label("Present password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_text("The password is changed.").first).to_be_visible()
    other.expected = ("status of 401",)
    other.context.clear_cookies()  # or the cache of sessions would have to end first
    other.page.get_by_role("link", name="Metrics").click()
    expect(other.page.get_by_text("Your session has ended. Sign in again.")).to_be_visible()


def test_who_is_tied_to_a_subaccount_sees_nothing_else_and_other_tabs_follow(
    open_console: OpenConsole, service: Service
) -> None:
    fields = {"name": "Brewery", "setup_api_key": False}
    response = service.request("POST", "/api/v1/subaccounts", fields)
    subaccount = response.json["results"]["subaccount_id"]
    join(service, "kate@people.example", "reporting", subaccount_id=subaccount)
    console = open_console(key="")
    page = sign_in(console, "kate@people.example")
    expect(page.get_by_role("link", name="Metrics")).to_be_visible()
    expect(page.get_by_role("link", name="Send")).to_have_count(0)
    expect(page.get_by_label("Act for")).to_have_count(0)
    page.get_by_role("link", name="Mailbox").click()
    expect(page.get_by_role("heading", name="No mail yet")).to_be_visible()
    expect(page.get_by_role("link", name="Send the first message")).to_have_count(0)
    second = console.context.new_page()
    second.goto(f"{console.url}#/templates")
    expect(second.get_by_role("heading", name="You may not see this page")).to_be_visible()
    second.get_by_role("button", name="Ada Lovelace").click()
    second.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_key_gives_a_view_of_its_own_beside_the_person(
    open_console: OpenConsole, service: Service
) -> None:
    join(service, "joan@people.example", "reporting")
    console = open_console(key="")
    page = sign_in(console, "joan@people.example")
    page.goto(f"{console.url}#key={KEY}")
    expect(page.get_by_role("link", name="Send")).to_be_visible()
    expect(page.get_by_role("button", name="Ada Lovelace")).to_have_count(0)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Ada Lovelace")).to_be_visible()
    expect(page.get_by_role("link", name="Send")).to_have_count(0)
    assert KEY not in page.evaluate(_HELD)["texts"]


def test_the_printed_link_signs_in_and_an_unknown_key_is_refused(
    open_console: OpenConsole,
) -> None:
    console = open_console(key="", fragment=f"#local={KEY}")
    page = console.page
    expect(page.get_by_role("button", name="Local administrator")).to_be_visible()
    assert KEY not in page.evaluate(_HELD)["texts"]
    page.reload()
    expect(page.get_by_role("button", name="Local administrator")).to_be_visible()
    stranger = open_console(key="", fragment="#local=unknown-key")
    stranger.expected = ("status of 401",)
    expect(stranger.page.get_by_text("The API key is not valid any more.")).to_be_visible()
    assert stranger.page.evaluate("sessionStorage.length") == 0


def test_guessing_is_told_when_to_go_on_and_a_failed_provider_why(
    open_console: OpenConsole,
) -> None:
    console = open_console(key="", fragment="#sign-in-failed=not_invited")
    console.expected = ("status of 429",)
    page = console.page
    expect(page.get_by_text("Nobody has invited this address yet.")).to_be_visible()
    assert "#" not in page.url
    page.route(
        "**/api/v1/sign-in",
        lambda route: route.fulfill(status=429, headers={"Retry-After": "240"}, body="{}"),
    )
    enter(page, "mallory@people.example")
    expect(page.get_by_role("alert")).to_contain_text("Try again in 4 minutes, at ")


@pytest.mark.parametrize(("theme", "size"), LOOKS)
def test_every_page_for_people_is_accessible_and_within_its_window(
    theme: str, size: tuple[int, int], open_console: OpenConsole, service: Service
) -> None:
    email = f"{theme}@people.example"
    fragment = invite(service, email)
    console = open_console(key="", fragment=fragment, theme=theme, size=size)
    page, problems = console.page, {}

    def look(name: str) -> None:
        problems[name] = console.violations()
        if console.overflow() > 0:
            problems[name].append(f"wider than its window by {console.overflow()} pixels")

    page.get_by_label("Your name").fill("Ada Lovelace")
    look("invitation")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    open_menu(page)
    look("menu")
    page.get_by_role("link", name="Your profile").click()
    expect(page.get_by_text("This session")).to_be_visible()
    look("profile")
    page.get_by_role("button", name="Set up the authenticator app").click()
    totp = authenticator(page)
    look("authenticator")
    page.get_by_role("textbox", name="Code").fill(totp.now())
    page.keyboard.press("Enter")
    expect(page.get_by_label("I have kept them")).to_be_visible()
    look("recovery codes")
    page.get_by_label("I have kept them").check()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_text("10 codes left")).to_be_visible()
    look("profile with a factor")
    sign_out(page)
    look("sign-in")
    page.get_by_role("button", name="Use an API key instead").click()
    look("key")
    page.get_by_role("button", name="Sign in as a person").click()
    page.get_by_role("button", name="Forgot the password?").click()
    look("forgotten")
    page.get_by_role("button", name="Back to sign in").click()
    console.expected = ("status of 403",)
    enter(page, email)
    expect(page.get_by_role("textbox", name="Code")).to_be_focused()
    look("second step")
    page.goto(f"{console.url}#reset=none")
    expect(page.get_by_label("New password")).to_be_visible()
    look("reset")
    assert problems == {name: [] for name in problems}


def described(page: Page, label: str) -> str:
    """Return what describes a field, its problems included."""
    field = page.get_by_label(label, exact=True)
    ids = (field.get_attribute("aria-describedby") or "").split()
    return " ".join(page.locator(f"[id='{each}']").inner_text() for each in ids)


def sign_out(page: Page) -> None:
    """Sign out by the menu."""
    open_menu(page)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
