"""API keys in the console: presets of grants, an end, the filter, and what is about to end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import Page, expect

from chalicelib.events.documentation import TYPES, UNPRODUCED
from tests.browser.console import NARROW, Console
from tests.journey.service import Service

#: Parts that the long list of grants once offered and this service does not have
_ABSENT = ("Alerts", "Billing", "Signals", "Support", "Recipient Validation: Preview")


def make_key(service: Service, label: str, days: int | None = None, **fields: Any) -> str:
    """Make a key that ends after so many days, and return its id."""
    end = None if days is None else (datetime.now(UTC) + timedelta(days=days)).isoformat()
    body = {"label": label, "grants": ["metrics/view"], "expires_at": end} | fields
    response = service.request("POST", "/api/v1/api-keys", body)
    assert response.status == 200, response.body
    return str(response.json["results"]["id"])


def shown_key(service: Service, label: str) -> Any:
    """Return the key with this label as the API shows it."""
    return service.request("GET", f"/api/v1/api-keys?label={label}").json["results"][0]


def new_key(page: Page) -> Any:
    """Open the form of a new key."""
    page.get_by_role("button", name="New API key").click()
    dialog = page.get_by_role("dialog", name="New API key")
    expect(dialog.get_by_label("Send mail")).to_be_visible()
    return dialog


def test_a_preset_checks_its_grants_and_leaves_those_of_others(
    console: Console, service: Service
) -> None:
    dialog = new_key(console.open("settings/keys"))
    dialog.get_by_label("Name", exact=True).fill("Presets")
    dialog.get_by_label("Send mail").check()
    dialog.get_by_label("Webhooks", exact=False).first.check()
    dialog.get_by_label("Send mail").uncheck()
    dialog.get_by_label("Read reports").check()
    expect(dialog.get_by_label("Message Events: Read-only")).to_be_hidden()
    dialog.get_by_text("Choose one by one").click()
    expect(dialog.get_by_label("Message Events: Read-only")).to_be_checked()
    expect(dialog.get_by_label("Send via SMTP")).not_to_be_checked()
    dialog.get_by_label("Usage: Read-only").uncheck()
    expect(dialog.get_by_label("Read reports")).not_to_be_checked()
    assert console.violations() == []
    dialog.get_by_role("button", name="Make key").click()
    console.page.get_by_role("dialog", name="The new API key").get_by_text("Done").click()
    assert shown_key(service, "Presets")["grants"] == [
        "message_events/view",
        "metrics/view",
        "relay_webhooks/modify",
        "relay_webhooks/view",
        "transmissions/view",
        "webhooks/modify",
        "webhooks/view",
    ]
    row = console.page.get_by_role("listitem").filter(has_text="Presets")
    expect(row).to_contain_text("Webhooks and 3 other grants")
    expect(row).to_contain_text("by the key First key, never used")


def test_everything_that_is_used_is_offered_and_nothing_else(
    console: Console, service: Service
) -> None:
    grants = service.request("GET", "/api/v1/authenticate/grants").json["results"]
    dialog = new_key(console.open("settings/keys"))
    dialog.get_by_text("Choose one by one").click()
    names = dialog.locator("details .check > span > span:first-child").all_inner_texts()
    assert set(names) == {grant["label"] for grant in grants if grant["used"]}
    assert not [name for name in names if name.startswith(_ABSENT)]
    dialog.get_by_label("Everything").check()
    for box in dialog.locator("details input[type=checkbox]").all():
        expect(box).to_be_checked()


def test_a_grant_that_is_hidden_stays_when_its_key_is_changed(
    console: Console, service: Service
) -> None:
    make_key(service, "Old rights", grants=["alerts/view", "metrics/view"])
    page = console.open("settings/keys")
    expect(page.get_by_role("listitem").filter(has_text="Old rights")).to_contain_text("1 grant")
    page.get_by_role("button", name="Change Old rights").click()
    dialog = page.get_by_role("dialog", name="Change API key")
    dialog.get_by_label("Name", exact=True).fill("Older rights")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("listitem").filter(has_text="Older rights")).to_be_visible()
    assert shown_key(service, "Older")["grants"] == ["alerts/view", "metrics/view"]


def test_a_key_gets_an_end_another_one_and_none(console: Console, service: Service) -> None:
    make_key(service, "Ending")
    page = console.open("settings/keys")
    row = page.get_by_role("listitem").filter(has_text="Ending")
    for text, expected, words in (
        ("2199-03-01T10:30", "2199-03-01T10:30:00.000Z", "Ends Mar 1, 2199"),
        ("2198-04-01T10:30", "2198-04-01T10:30:00.000Z", "Ends Apr 1, 2198"),
        ("", None, "never used"),
    ):
        page.get_by_role("button", name="Change Ending").click()
        dialog = page.get_by_role("dialog", name="Change API key")
        dialog.get_by_label("Ends").fill(text)
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_be_hidden()
        expect(row).to_contain_text(words)
        assert shown_key(service, "Ending")["expires_at"] == expected
    expect(row).not_to_contain_text("Ends")


def test_an_end_in_the_past_is_refused_in_words(console: Console, service: Service) -> None:
    make_key(service, "Past")
    page = console.open("settings/keys?q=Past")
    page.get_by_role("button", name="Change Past").click()
    dialog = page.get_by_role("dialog", name="Change API key")
    dialog.get_by_label("Ends").fill("2020-01-01T00:00")
    console.expected = ("400",)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("must be in the future")


def test_the_list_is_filtered_and_its_filter_is_in_the_address(
    console: Console, service: Service
) -> None:
    for label, days in (("Filter soon", 3), ("Filter later", 30), ("Filter open", None)):
        make_key(service, label, days)
    page = console.open("settings/keys")
    names = page.get_by_role("list", name="API keys").locator(".strong")
    page.get_by_label("Find a key").fill("filter")
    expect(names).to_have_text(["Filter soon", "Filter later", "Filter open"])
    page.get_by_label("Which keys").select_option("Ending within a week")
    expect(names).to_have_text(["Filter soon"])
    assert page.url.endswith("settings/keys?q=filter&show=ending")
    page.reload()
    expect(names).to_have_text(["Filter soon"])
    page.get_by_label("Which keys").select_option("Not used for 90 days")
    expect(names).to_have_text(["Filter soon", "Filter later", "Filter open"])
    page.get_by_label("Which keys").select_option("Ended")
    expect(page.get_by_role("heading", name="No API key matches")).to_be_visible()
    assert console.violations() == []


def test_who_may_list_keys_sees_on_the_overview_which_end_soon(
    console: Console, service: Service, open_console: Callable[..., Console]
) -> None:
    make_key(service, "Nearly over", 2)
    make_key(service, "Long to go", 20)
    console.open("settings")  # the overview that opened first was read before
    page = console.open("overview")
    card = page.locator(".card").filter(has_text="API keys that end soon")
    expect(card).to_contain_text("Nearly over")
    expect(card).not_to_contain_text("Long to go")
    card.get_by_role("link", name="Show all").click()
    expect(page.get_by_role("list", name="API keys")).to_contain_text("Nearly over")
    grants = ["metrics/view", "message_events/view"]
    response = service.request("POST", "/api/v1/api-keys", {"label": "Figures", "grants": grants})
    few = open_console(key=response.json["results"]["key"], size=NARROW)
    expect(few.open("overview").get_by_text("Messages by hour")).to_be_visible()
    expect(few.page.get_by_text("API keys that end soon")).to_have_count(0)


def test_a_webhook_is_offered_the_events_that_this_service_has(console: Console) -> None:
    page = console.open("webhooks")
    page.get_by_role("button", name="Add webhook").first.click()
    dialog = page.get_by_role("dialog", name="Add webhook")
    expect(dialog.get_by_label("Injection", exact=True)).to_be_visible()
    names = dialog.locator("fieldset .check > span > span:first-child").all_inner_texts()
    assert set(names) == {each.label for name, each in TYPES.items() if name not in UNPRODUCED}
    expect(dialog.get_by_text("SMS")).to_have_count(0)
    page = console.open("activity")
    expect(page.get_by_role("button", name="Opened", exact=True)).to_be_visible()
    expect(page.get_by_text("SMS status")).to_have_count(0)
