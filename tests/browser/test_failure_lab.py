"""A rule of the failure lab defers a message, which is then delivered."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.console import Console
from tests.journey.service import Service, eventually


def test_a_rule_defers_a_message_that_is_then_delivered(console: Console, service: Service) -> None:
    page = console.open("failures")
    page.get_by_role("button", name="Use Deferred twice, then delivered").click()
    dialog = page.get_by_role("dialog", name="Add rule")
    dialog.get_by_label("How often").fill("1")
    assert console.violations() == []
    dialog.get_by_role("button", name="Add", exact=True).click()
    rule = page.get_by_role("row").filter(has_text="*@greylist.test")
    expect(rule.get_by_text("In force")).to_be_visible()
    service.send("anna@greylist.test", subject="Comes late")
    expect(rule.get_by_text("1 of 1")).to_be_visible()
    expect(rule.get_by_text("Used up")).to_be_visible()
    message = eventually(lambda: service.mailbox(to="anna@greylist.test"))[0]["id"]
    console.open(f"mailbox/{message}?tab=timeline")
    timeline = page.get_by_role("tabpanel")
    for name in ("Delayed", "Delivered"):
        expect(timeline.get_by_role("link", name=name, exact=True)).to_be_visible()
    expect(timeline.get_by_text("Greylisted, please try again later")).to_be_visible()
    console.open("failures")
    page.get_by_role("button", name="Pause the rule for *@greylist.test").click()
    expect(rule.get_by_text("Paused")).to_be_visible()
    page.get_by_role("button", name="Delete the rule for *@greylist.test").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(rule).to_have_count(0)
