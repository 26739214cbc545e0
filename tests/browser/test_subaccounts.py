"""A subaccount, from its first key to its suspension: it sees and sends what is its own only."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.browser.console import Console
from tests.journey.service import Service, eventually

OFFICE = "bounce-hard@office.example"
CUSTOMER = "anna@bakery.example"


def test_a_subaccount_is_made_and_sees_only_its_own(
    fresh_console: Console, browser: Browser
) -> None:
    service = fresh_console.service
    service.send(OFFICE, subject="From the office")
    page = fresh_console.open("settings/subaccounts")
    expect(page.get_by_role("heading", name="No subaccount yet")).to_be_visible()
    key = make_subaccount(fresh_console)
    add_templates(service)
    first_send_names_the_subaccount(fresh_console)
    bakery = Console(browser, service, key=key)
    send_as_the_bakery(bakery)
    sees_the_bakery_only(bakery)
    expect(bakery.page.get_by_label("Act for")).to_have_count(0)
    for hidden in ("Templates", "Metrics"):
        expect(bakery.page.get_by_role("link", name=hidden, exact=True)).to_have_count(0)
    bakery.open("templates")
    expect(
        bakery.page.get_by_role("heading", name="This key may not see this page")
    ).to_be_visible()
    bakery.open("settings")
    expect(bakery.page.get_by_text("It belongs to a subaccount.")).to_be_visible()
    page.get_by_label("Act for").select_option("Bakery")
    sees_the_bakery_only(fresh_console)
    sees_the_figures_of_the_bakery_only(fresh_console)
    page.get_by_label("Act for").select_option("Whole account")
    fresh_console.open("activity")
    expect(page.get_by_role("link", name=f"Bounced: {OFFICE}")).to_be_visible()
    expect(page.get_by_role("link", name=f"Delivered: {CUSTOMER}")).to_be_visible()
    suspend(fresh_console)
    bakery.expected = ("403",)
    write(bakery.open("send"))
    bakery.page.get_by_role("button", name="Send to 1 recipient").click()
    expect(
        bakery.page.get_by_text("Subaccount 1 is suspended and cannot send", exact=True)
    ).to_be_visible()
    bakery.close()


def make_subaccount(console: Console) -> str:
    """Add the subaccount in the Settings; return its key, which is shown this once."""
    page = console.page
    page.get_by_role("button", name="Add subaccount").click()
    dialog = page.get_by_role("dialog", name="Add subaccount")
    dialog.get_by_label("Name", exact=True).fill("Bakery")
    dialog.get_by_label("Name of the key").fill("Shop")
    expect(dialog.get_by_role("button", name="Add", exact=True)).to_be_disabled()
    dialog.get_by_label("Everything").check()
    assert console.violations() == []
    dialog.get_by_role("button", name="Add", exact=True).click()
    shown_once = page.get_by_role("dialog", name="The new API key")
    key = shown_once.locator("pre").inner_text()
    assert len(key) == 40
    assert console.violations() == []
    with console.context.expect_page() as popup:
        shown_once.get_by_role("link", name="Console with this key").click()
    expect(popup.value.get_by_role("heading", name="Overview")).to_be_visible()
    assert key not in popup.value.url
    popup.value.close()
    shown_once.get_by_role("button", name="Done").click()
    expect(page.get_by_role("list", name="Subaccounts")).to_contain_text("Bakery")
    console.open("settings/keys")
    expect(page.get_by_role("list", name="API keys")).to_contain_text("Shop")
    page.reload()
    expect(page.get_by_role("list", name="API keys")).to_contain_text("Shop")
    assert key not in page.content()
    return key


def add_templates(service: Service) -> None:
    """Make a template for the account and one for the subaccount."""
    subaccounts = service.request("GET", "/api/v1/subaccounts").json["results"]
    content = {"from": "hello@example.test", "subject": "Hello", "text": "Hello"}
    for template, owner in (("letter", 0), ("receipt", subaccounts[0]["id"])):
        response = service.request(
            "POST",
            "/api/v1/templates",
            {"id": template, "content": content},
            headers={"X-SVC-SUBACCOUNT": str(owner)},
        )
        assert response.status == 200, response.body


def first_send_names_the_subaccount(console: Console) -> None:
    """See that what is ready to paste sends on behalf of the subaccount."""
    page = console.page
    page.get_by_label("Act for").select_option("Bakery")
    console.open("overview")
    for way, text in (("curl", "X-SVC-SUBACCOUNT: 1'"), ("SMTP", ":X-SVC-SUBACCOUNT=1")):
        page.get_by_role("tab", name=way).click()
        expect(page.get_by_label(f"{way} example", exact=True)).to_contain_text(text)
    page.get_by_label("Act for").select_option("Whole account")


def write(page: Page) -> None:
    """Fill in a message to the customer."""
    page.get_by_label("From", exact=True).fill("hello@example.test")
    page.get_by_label("Subject").fill("From the bakery")
    page.get_by_label("Text (optional)").fill("Bread is ready")
    page.get_by_label("Recipients", exact=True).fill(CUSTOMER)


def send_as_the_bakery(console: Console) -> None:
    """Send a message from the form, which offers inline content only."""
    page = console.open("send")
    expect(page.get_by_role("group", name="Kind of content")).to_have_count(0)
    write(page)
    page.get_by_role("button", name="Send to 1 recipient").click()
    expect(page.get_by_text("1 of 1")).to_be_visible()
    eventually(lambda: console.service.mailbox(to=CUSTOMER))
    eventually(lambda: console.service.events(recipients=OFFICE, events="bounce"))


def sees_the_bakery_only(console: Console) -> None:
    """Look at the mail and the events, also at those that arrive meanwhile."""
    page = console.open("mailbox")
    expect(page.get_by_role("link", name=f"From the bakery, to {CUSTOMER}")).to_be_visible()
    rows = page.get_by_role("table", name="Messages").get_by_role("row")
    expect(rows).to_have_count(2)
    console.open("activity")
    expect(page.get_by_role("link", name=f"Delivered: {CUSTOMER}")).to_be_visible()
    expect(page.get_by_text("2 of 2 events")).to_be_visible()
    console.service.send("late@office.example")
    eventually(lambda: console.service.mailbox(to="late@office.example"))
    eventually(lambda: console.service.events(recipients="late@office.example", events="delivery"))
    expect(page.get_by_text("2 of 2 events")).to_be_visible()
    console.open("mailbox")
    expect(rows).to_have_count(2)


def sees_the_figures_of_the_bakery_only(console: Console) -> None:
    """Look at the overview and the templates on behalf of the subaccount."""
    page = console.open("overview")
    expect(page.get_by_role("heading", name="Nothing bounced")).to_be_visible()
    injected = "/api/v1/metrics/deliverability?from=2026-01-01T00:00&metrics=count_injected"
    eventually(
        lambda: console.service.request("GET", injected).json["results"][0]["count_injected"] >= 4
    )
    page.reload()
    expect(page.get_by_role("link", name="Sent 1 messages")).to_be_visible()
    expect(page.get_by_role("link", name="Bounced 0")).to_be_visible()
    console.open("templates")
    expect(page.get_by_role("link", name="receipt")).to_be_visible()
    expect(page.get_by_role("link", name="letter")).to_have_count(0)


def suspend(console: Console) -> None:
    """Suspend the subaccount after a question."""
    page = console.open("settings/subaccounts")
    page.get_by_role("button", name="Suspend Bakery").click()
    question = page.get_by_role("dialog", name="Suspend Bakery?")
    question.get_by_role("button", name="Suspend").click()
    expect(page.get_by_role("button", name="Activate Bakery")).to_be_visible()
