"""Open the dialogs of the console, which have no address, as a person does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from playwright.sync_api import Locator, expect

from tests.browser.console import Console


@dataclass(frozen=True, slots=True)
class Press:
    """Press a key."""

    key: str


@dataclass(frozen=True, slots=True)
class Fill:
    """Write into a field."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """Check a box."""

    label: str


Step = str | Press | Fill | Check
"""A text is the name of a button to click, or with an asterisk at the end what it begins with."""

#: name of the picture → its view, and the steps that open it there
DIALOGS: dict[str, tuple[str, tuple[Step, ...]]] = {
    "shortcuts": ("overview", (Press("?"),)),
    "palette": ("overview", (Press("Control+k"),)),
    "curl": ("metrics", ("curl",)),
    "mailbox-search": ("mailbox", ("How to search",)),
    "mailbox-delete": ("mailbox", ("Delete all",)),
    "activity-filter": ("activity", ("Filter",)),
    "activity-export": ("activity", ("Export",)),
    "template-new": ("templates", ("New template",)),
    "template-send": ("template", ("Send a test",)),
    "template-publish": (
        "template-settings",
        (Fill("Description", "After each order, with its lines"), "Publish"),
    ),
    "template-delete": ("template", ("Delete",)),
    "snippet-new": ("snippets", ("New snippet",)),
    "snippet-delete": ("snippet", ("Delete",)),
    "ab-test-cancel": ("ab-test", ("Cancel test",)),
    "list-new": ("lists", ("New list",)),
    "list-replace": ("list", ("Replace recipients",)),
    "list-rename": ("list", ("Change name",)),
    "list-delete": ("list", ("Delete list",)),
    "suppression-add": ("suppressions", ("Add",)),
    "suppression-filter": ("suppressions", ("Filter",)),
    "suppression-import": ("suppressions", ("Import",)),
    "suppression-remove": ("suppression", ("Remove *",)),
    "domain-add": ("domains", ("Add *",)),
    "domain-delete": ("domain", ("Delete",)),
    "domain-by-mail": ("domain", ("Verify postmaster*",)),
    "domain-key-add": ("domain-keys", ("Add key",)),
    "domain-key-change": ("domain-keys", ("Change its own key",)),
    "domain-key-rotate": ("domain-keys", ("Rotate",)),
    "webhook-add": ("webhooks", ("Add webhook",)),
    "webhook-change": ("webhook", ("Change", "Add header")),
    "webhook-delete": ("webhook", ("Delete",)),
    "webhook-secret": ("webhook", ("Signing secret", "Make secret")),
    "webhook-unsigned": ("webhook", ("Stop signing",)),
    "account-change": ("account", ("Change",)),
    "key-new": ("keys", ("New API key",)),
    "key-once": (
        "keys",
        ("New API key", Fill("Name", "Worker"), Check("Everything"), "Make key"),
    ),
    "key-change": ("keys", ("Change Shop",)),
    "key-delete": ("keys", ("Delete Shop",)),
    "subaccount-add": ("subaccounts", ("Add subaccount",)),
    "subaccount-change": ("subaccounts", ("Change Bakery",)),
    "subaccount-terminate": ("subaccounts", ("Terminate Bakery",)),
    "pool-add": ("pools", ("Add IP pool",)),
    "pool-change": ("pools", ("Change Newsletters",)),
    "pool-delete": ("pools", ("Delete Newsletters",)),
    "ip-change": ("pools", ("Change 192.0.2.10",)),
    "ip-days": ("pools", ("Days 192.0.2.10",)),
    "seeding-set-up": ("seeding", ("Set up",)),
    "user-invite": ("users", ("Invite",)),
    "user-change": ("user", ("Change",)),
    "user-remove": ("user", ("Remove",)),
    "rule-add": ("failures", ("Add rule",)),
    "rule-change": ("failures", ("Change the rule for *",)),
    "rules-delete": ("failures", ("Delete all",)),
    "receiver-add": ("receivers", ("Add receiver",)),
    "receiver-change": ("receiver", ("Change",)),
    "receiver-clear": ("receiver", ("Clear",)),
    "receiver-delete": ("receiver", ("Delete",)),
}


def open_dialog(console: Console, views: dict[str, str], name: str) -> Locator:
    """Open a dialog by its name, and return it once it shows what it loads."""
    view, steps = DIALOGS[name]
    page, dialog = console.page, console.page.locator("dialog[open]")
    if dialog.count():
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
    console.open(views[view])
    for step in steps:
        match step:
            case Press(key):
                page.keyboard.press(key)
            case Check(label):
                page.get_by_label(label).check()
            case Fill(label, text):
                page.get_by_label(label).fill(text)
            case _:
                button = re.compile(f"^{re.escape(step.rstrip('*'))}{'' if '*' in step else '$'}")
                page.get_by_role("button", name=button).first.click()
    expect(dialog).to_be_visible()
    expect(dialog.locator(".skeleton")).to_have_count(0)
    return dialog
