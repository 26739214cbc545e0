"""Change what the Settings show: account, subaccounts, IP pools and their IPs, inline seeding."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.console import Console
from tests.journey.service import Service, eventually


def result(service: Service, path: str) -> Any:
    """Return what the API says."""
    return service.request("GET", f"/api/v1/{path}").json["results"]


def test_options_of_the_account_are_changed(console: Console, service: Service) -> None:
    page = console.open("settings")
    option = (
        page.get_by_role("list", name="Options")
        .get_by_role("listitem")
        .filter(has_text="Unsubscribe header in transactional mail")
    )
    for state in (True, False):
        page.get_by_role("main").get_by_role("button", name="Change").click()
        dialog = page.get_by_role("dialog", name="Change account")
        dialog.get_by_label("Unsubscribe header in transactional mail").set_checked(state)
        assert console.violations() == []
        dialog.get_by_role("button", name="Save").click()
        expect(option).to_contain_text("On" if state else "Off")
        assert result(service, "account")["options"]["transactional_unsub"] is state
    assert result(service, "account")["company_name"] == "Postfinch"


def test_a_subaccount_is_renamed_restricted_and_terminated(
    console: Console, service: Service
) -> None:
    page = console.open("settings/subaccounts")
    page.get_by_role("button", name="Add subaccount").click()
    dialog = page.get_by_role("dialog", name="Add subaccount")
    dialog.get_by_label("Name", exact=True).fill("Florist")
    dialog.get_by_label("Make an API key for it").uncheck()
    dialog.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("button", name="Change Florist").click()
    dialog = page.get_by_role("dialog", name="Change subaccount")
    dialog.get_by_label("Name", exact=True).fill("Flowers")
    dialog.get_by_label("IP pool").select_option("default")
    dialog.get_by_label("No open tracking").check()
    dialog.get_by_role("button", name="Save").click()
    row = page.get_by_role("listitem").filter(has_text="Flowers")
    expect(row).to_contain_text("sends by default, without open tracking")
    expect(page.get_by_label("Act for").get_by_role("option", name="Flowers")).to_have_count(1)
    page.get_by_role("button", name="Terminate Flowers").click()
    question = page.get_by_role("dialog", name="Terminate Flowers?")
    expect(question.get_by_role("button", name="Terminate")).to_be_disabled()
    question.get_by_role("textbox").fill("Flowers")
    question.get_by_role("button", name="Terminate").click()
    expect(row).to_contain_text("Terminated")
    expect(page.get_by_role("button", name="Suspend Flowers")).to_have_count(0)
    subaccounts = {each["name"]: each for each in result(service, "subaccounts")}
    assert subaccounts["Flowers"]["status"] == "terminated"
    assert subaccounts["Flowers"]["ip_pool"] == "default"
    assert subaccounts["Flowers"]["options"]["open_tracking_disabled"] is True


def test_a_pool_gets_an_overflow_pool_and_an_ip_of_another_pool(
    console: Console, service: Service
) -> None:
    page = console.open("settings/pools")
    for name in ("Overflow", "Receipts"):
        page.get_by_role("button", name="Add IP pool").click()
        dialog = page.get_by_role("dialog", name="Add IP pool")
        dialog.get_by_label("Name").fill(name)
        dialog.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_role("heading", name=name)).to_be_visible()
    page.get_by_role("button", name="Change Receipts").click()
    dialog = page.get_by_role("dialog", name="Change IP pool")
    dialog.get_by_label("Name").fill("Orders")
    dialog.get_by_label("Overflow pool").select_option("Overflow")
    dialog.get_by_label("Signing domain", exact=False).first.fill("example.test")
    assert console.violations() == []
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Orders")).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="Overflow")).to_be_visible()
    added = ("192.0.2.77", "mail.pools.example", "--pool", "overflow", "--auto-warmup")
    service.operate("add-sending-ip", "1", *added)
    page.reload()
    page.get_by_role("button", name="Change 192.0.2.77").click()
    dialog = page.get_by_role("dialog", name="Change 192.0.2.77")
    dialog.get_by_label("IP pool").select_option("Orders")
    dialog.get_by_label("Stage").fill("2")
    expect(dialog.get_by_text("A stage from 1 to 1")).to_be_visible()
    expect(dialog.get_by_role("button", name="Save")).to_be_disabled()
    dialog.get_by_label("Stage").fill("1")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("list", name="IPs of Orders")).to_contain_text("192.0.2.77")
    service.request(
        "POST",
        "/api/v1/transmissions",
        {
            "recipients": [{"address": "anna@warmup.example"}],
            "options": {"ip_pool": "receipts"},
            "content": {"from": "hello@example.test", "subject": "Order", "text": "Order"},
        },
    )
    eventually(lambda: result(service, "sending-ips/192.0.2.77/warmup")["today"]["sent"] == 1)
    page.get_by_role("button", name="Days 192.0.2.77").click()
    days = page.get_by_role("dialog", name="Warm-up of 192.0.2.77")
    expect(days.get_by_role("row")).to_have_count(2)
    expect(days.get_by_role("row").last).to_contain_text("1200")
    assert console.violations() == []
    days.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Change 192.0.2.77").click()
    page.get_by_role("dialog").get_by_label("Warm-up").uncheck()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("list", name="IPs of Orders")).to_contain_text("Warm")
    page.get_by_role("button", name="Delete Orders").click()
    question = page.get_by_role("dialog", name="Delete Orders?")
    question.get_by_role("textbox").fill("Orders")
    question.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="Orders")).to_have_count(0)
    expect(page.get_by_role("list", name="IPs of Default")).to_contain_text("192.0.2.77")
    service.operate("remove-sending-ip", "1", "192.0.2.77")


def test_inline_seeding_is_set_up_and_switched_on(console: Console, service: Service) -> None:
    page = console.open("settings/seeding")
    expect(page.get_by_role("heading", name="No campaign is seeded")).to_be_visible()
    page.get_by_role("button", name="Set up").click()
    dialog = page.get_by_role("dialog", name="Inline seeding")
    dialog.get_by_label("Campaigns", exact=True).fill("seeded-*\n" * 6)
    expect(dialog.get_by_text("At most 5", exact=True)).to_be_visible()
    dialog.get_by_label("Campaigns", exact=True).fill("seeded-*\nwelcome-seeded")
    dialog.get_by_label("Messages before seeding").fill("999")
    expect(dialog.get_by_role("button", name="Save")).to_be_disabled()
    dialog.get_by_label("Messages before seeding").fill("1000")
    assert console.violations() == []
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("definition").filter(has_text="seeded-*")).to_be_visible()
    page.get_by_label("Primary account").click()  # it follows what the API answers
    expect(page.get_by_text("Switched on")).to_be_visible()
    assert result(service, "inline-seeds/options")[0] == {"enabled": True}
    body = {
        "campaign_id": "seeded-1",
        "recipients": [{"address": "anna@counted.example"}],
        "content": {"from": "hello@example.test", "subject": "News", "text": "News"},
    }
    assert service.request("POST", "/api/v1/transmissions", body).status == 200
    eventually(lambda: result(service, "inline-seeds/status"))
    page.reload()
    expect(
        page.get_by_role("row", name="seeded-1 example.test 1 of 1,000 Counting")
    ).to_be_visible()
    page.get_by_role("main").get_by_role("button", name="Change").click()
    page.get_by_role("dialog").get_by_role("button", name="All but these").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_text("All but", exact=True)).to_be_visible()
    page.get_by_label("Primary account").click()
    expect(page.get_by_text("Switched off")).to_be_visible()
    config = result(service, "inline-seeds/config")
    assert (config["match"], config["exclude"]) == ([], ["seeded-*", "welcome-seeded"])
