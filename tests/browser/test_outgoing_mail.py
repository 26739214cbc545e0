"""A service that lets mail out says so, and a message is released to those that are allowed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.supervisor.ports import InternalPorts
from tests.browser.caught_mail import catch
from tests.browser.console import LOOKS, Console
from tests.free_ports import free_port
from tests.journey.service import Service, eventually


@pytest.fixture(scope="module")
def smarthost() -> str:
    """An address on this machine where nobody answers."""
    return f"127.0.0.1:{free_port()}"


@pytest.fixture(scope="module")
def outgoing_service(
    service: Service, smarthost: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A service that delivers by a smarthost, and releases to the mailbox of the other service."""
    outgoing = Service(tmp_path_factory.mktemp("outgoing"))
    outgoing.start(
        DELIVER="true",
        SMARTHOST=smarthost,
        RELEASE_HOST=f"smtp://127.0.0.1:{InternalPorts.read(service.data_dir).sink}",
        RELEASE_RECIPIENTS="*@team.example, bounce-hard@gone.example",
    )
    yield outgoing
    outgoing.stop()


def test_a_red_bar_on_every_page_says_by_what_mail_leaves(
    browser: Browser, outgoing_service: Service, smarthost: str
) -> None:
    for theme, size in LOOKS:
        console = Console(browser, outgoing_service, theme=theme, size=size)
        for view in ("overview", "mailbox", "settings"):
            console.open(view)
            bar = console.page.get_by_text(f"Mail leaves this machine by {smarthost}.").first
            expect(bar).to_be_in_viewport()
            expect(console.page.get_by_text("nothing leaves this machine")).to_have_count(0)
            release = console.page.get_by_text("Mail of the mailbox can be released by 127.0.0.1:")
            if view == "mailbox":
                expect(release).to_be_in_viewport()
            else:
                expect(release).to_have_count(0)
            assert console.violations() == []
        console.close()
    signed_out = Console(browser, outgoing_service, key="")
    expect(signed_out.page.get_by_text("Mail leaves this machine by")).to_be_in_viewport()
    signed_out.close()


def test_a_message_is_released_to_those_that_are_allowed(
    browser: Browser, outgoing_service: Service, service: Service
) -> None:
    recipients = ("ann@team.example", "bounce-hard@gone.example", "eve@elsewhere.example")
    message = catch(outgoing_service, Trace("", recipients), "Subject: Released")
    console = Console(browser, outgoing_service)
    console.expected = ("status of 409",)
    page = console.open(f"mailbox/{message}")
    page.get_by_role("button", name="Release", exact=True).click()
    dialog = page.get_by_role("dialog", name="Release the message")
    addresses = dialog.get_by_label("Recipients")
    expect(addresses).to_have_value("ann@team.example\nbounce-hard@gone.example")
    expect(dialog).to_contain_text("Not allowed, and left out: eve@elsewhere.example.")
    assert console.violations() == []
    # What the list does not allow goes nowhere, and the dialog says so
    addresses.fill("ann@team.example, eve@elsewhere.example")
    submit = dialog.get_by_role("button", name="Release")
    submit.click()
    expect(dialog.get_by_role("alert")).to_contain_text("eve@elsewhere.example")
    assert not service.mailbox(to="*@team.example")
    addresses.fill("ann@team.example\nbounce-hard@gone.example")
    submit.click()
    expect(dialog.get_by_role("alert")).to_contain_text("bounce-hard@gone.example: 550")
    expect(addresses).to_have_value("bounce-hard@gone.example")
    assert eventually(lambda: service.mailbox(to="ann@team.example"))[0]["subject"] == "Released"
    addresses.fill("bob@team.example")
    submit.click()
    expect(dialog).to_have_count(0)
    assert eventually(lambda: service.mailbox(to="bob@team.example"))
    console.close()


_ADMITTED = """async ([entries, addresses]) => {
  const { admits } = await import(new URL("core/releasing.js", document.baseURI));
  return addresses.filter((each) => admits(entries, each));
}"""


def test_there_is_no_bar_where_no_mail_leaves(console: Console) -> None:
    console.open("mailbox")
    expect(console.page.get_by_role("heading", name="Mailbox", level=1)).to_be_visible()
    expect(console.page.locator(".outgoing")).to_have_count(0)
    # The list of who may get mail is read as the service reads it
    addresses = ["ann@a.example", "ANN@A.EXAMPLE", "ann@aXexample", "x@xn--bcher-kva.example"]
    for entries, admitted in (
        (["*@a.example"], addresses[:2]),
        (["ann@a.example", "*@bücher.example"], [*addresses[:2], addresses[3]]),
        (["/^ann@a.+e$/"], [addresses[0], addresses[2]]),
        (["/(?P<n>a)/"], []),
        (["*"], addresses),
    ):
        assert console.page.evaluate(_ADMITTED, [entries, addresses]) == admitted
    expect(console.page.get_by_role("button", name="Release", exact=True)).to_have_count(0)
