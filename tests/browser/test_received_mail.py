"""Add an inbound domain with routes, read what came in, and answer a message of the mailbox."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.console import Console
from tests.browser.incoming import DOMAIN, inbound_domain, receive
from tests.journey.service import eventually


def test_an_inbound_domain_is_added_and_gets_routes(console: Console) -> None:
    console.expected = ("422 (Unprocessable Entity)",)
    service = console.service
    page = console.open("domains?kind=inbound")
    page.get_by_role("button", name="Add inbound domain").first.click()
    dialog = page.get_by_role("dialog", name="Add inbound domain")
    dialog.get_by_label("Domain", exact=True).fill("orders.example.test")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="orders.example.test", level=1)).to_be_visible()
    expect(page.get_by_text("Ready", exact=True)).to_be_visible()
    page.get_by_role("tab", name="Routes").click()
    expect(page.get_by_text("No route")).to_be_visible()
    page.get_by_role("button", name="Add route").click()
    page.get_by_label("Pattern of route 1").fill("info*")
    page.get_by_label("What becomes of mail of route 1").select_option("forward")
    page.get_by_role("button", name="Save routes").click()
    expect(page.get_by_text("Route 1: forward to is required")).to_be_visible()
    page.get_by_label("Where route 1 forwards to").fill("info@elsewhere.test")
    assert console.violations() == []
    page.get_by_role("button", name="Save routes").click()
    expect(page.get_by_role("button", name="Save routes")).to_have_count(0)
    path = "/api/v1/inbound-domains/orders.example.test/routes"
    assert service.request("GET", path).json["results"] == [
        {"pattern": "info*", "action": "forward", "forward_to": "info@elsewhere.test"}
    ]


def test_a_received_message_is_read_and_runs_nothing(
    console: Console, visits: tuple[str, list[str]]
) -> None:
    address, paths = visits
    inbound_domain(console.service)
    message = receive(console.service, "Answer", remote=f"{address}/pixel.png")
    page = console.open("received")
    page.get_by_role("link", name="Answer, from ann@reader.example").click()
    frame = page.frame_locator("iframe").frame_locator("iframe")
    expect(frame.get_by_text("please")).to_be_visible()
    expect(frame.get_by_alt_text("dot")).to_have_js_property("naturalWidth", 1)
    assert page.title() != "hacked"
    assert paths == []
    assert console.violations() == []
    page.get_by_role("tab", name="Reply").click()
    text = page.get_by_label("The reply without what it quotes")
    expect(text).to_have_text("Yes, please!")
    page.get_by_role("tab", name="Verdicts").click()
    expect(page.get_by_role("row", name="SPF")).to_be_visible()
    assert console.violations() == []
    page.get_by_role("tab", name="Attachments").click()
    with page.expect_download() as download:
        page.get_by_label("Download orders.csv").click()
    assert download.value.path().read_bytes().split() == [b"number,title", b"1,Book"]
    page.get_by_role("tab", name="Source").click()
    expect(page.get_by_label("Source of the message")).to_contain_text("Received: from")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("link", name="Answer, from")).to_have_count(0)
    path = f"/api/v1/inbound-messages/{message}"
    assert console.service.request("GET", path).status == 404


def test_a_reply_in_the_mailbox_comes_in_as_mail(console: Console) -> None:
    service = console.service
    inbound_domain(service)
    body = {
        "recipients": [{"address": "customer@inbox.example"}],
        "content": {
            "from": "shop@example.test",
            "reply_to": f"tickets@{DOMAIN}",
            "subject": "Your order",
            "text": "How was it?",
        },
    }
    assert service.request("POST", "/api/v1/transmissions", body).status == 200
    (mail,) = eventually(lambda: service.mailbox(to="customer@inbox.example"))
    page = console.open(f"mailbox/{mail['id']}?tab=timeline")
    page.get_by_role("button", name="Write a reply").click()
    dialog = page.get_by_role("dialog", name="Reply as customer@inbox.example")
    dialog.get_by_label("Your reply").fill("Very good!")
    assert console.violations() == []
    dialog.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Reply mailed")).to_be_visible()
    path = f"/api/v1/inbound-messages?recipient=tickets@{DOMAIN}"
    (received,) = eventually(lambda: service.request("GET", path).json["results"])
    page = console.open(f"received/{received['id']}")
    expect(page.get_by_text("the message to customer@inbox.example")).to_be_visible()
    expect(page.get_by_label("Text of the message")).to_contain_text("> How was it?")
