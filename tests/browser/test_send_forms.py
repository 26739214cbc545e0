"""Compose with files, leave and come back, and see what a transmission sent."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, Request, expect

from tests.browser.console import NARROW, Console
from tests.browser.test_templates import preview
from tests.journey.service import Service, eventually

#: A PNG of one pixel
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)


def write(page: Page, recipient: str) -> None:
    """Fill in what a message needs."""
    page.get_by_label("From", exact=True).fill("hello@example.test")
    page.get_by_label("Subject").fill("Files of {{name}}")
    page.get_by_label("HTML (optional)").fill('<p>Look</p><img src="cid:dot.png" alt="A dot">')
    page.get_by_label("Text (optional)").fill("Look")
    page.get_by_label("Recipients", exact=True).fill(recipient)


def test_files_are_attached_and_shown_in_the_html(
    console: Console, service: Service, tmp_path: Path
) -> None:
    (tmp_path / "report.pdf").write_bytes(b"%PDF- not really")
    (tmp_path / "dot.png").write_bytes(PIXEL)
    page = console.open("send")
    write(page, "files@attached.example")
    files = [tmp_path / "report.pdf", tmp_path / "dot.png"]
    page.get_by_label("Attach files").set_input_files(files)
    expect(page.get_by_text("of 15 MB")).to_be_visible()
    page.get_by_label("How dot.png is sent").select_option("Image in the HTML")
    request = page.get_by_label("curl request", exact=True)
    expect(request).to_contain_text("<base64 of report.pdf>")
    image = preview(page).get_by_alt_text("A dot")
    expect(image).to_have_attribute("src", re.compile("^data:image/png;base64,iVBOR"))
    assert console.violations() == []
    page.get_by_role("button", name="Send to 1 recipient").click()
    expect(page.get_by_text("1 of 1")).to_be_visible()
    listed_files = page.get_by_role("list", name="Files")
    expect(listed_files).to_contain_text("report.pdf application/pdf, 16 B")
    expect(listed_files).to_contain_text("dot.png image/png, 68 B, in the HTML")
    message = eventually(lambda: service.mailbox(to="files@attached.example"))[0]
    source = service.request("GET", f"/local/mailbox/{message['id']}").body
    assert base64.b64encode(b"%PDF- not really") in source
    assert b"Content-ID: <dot.png>" in source


def test_a_draft_outlives_other_pages_and_a_reload_but_not_its_sending(
    console: Console, tmp_path: Path
) -> None:
    (tmp_path / "terms.txt").write_text("Terms")
    page = console.open("send")
    expect(page.get_by_role("button", name="Start again")).to_have_count(0)
    write(page, "draft@kept.example")
    page.get_by_label("Attach files").set_input_files(tmp_path / "terms.txt")
    expect(page.get_by_role("list", name="Files")).to_contain_text("terms.txt")
    for leave in (lambda: console.open("activity"), page.reload):
        leave()
        console.open("send")
        expect(page.get_by_label("Subject")).to_have_value("Files of {{name}}")
        expect(page.get_by_role("list", name="Files")).to_contain_text("terms.txt")
        expect(page.get_by_role("button", name="Send to 1 recipient")).to_be_enabled()
    page.get_by_role("button", name="Send to 1 recipient").click()
    expect(page.get_by_text("1 recipient accepted.")).to_be_visible()
    console.open("send")
    expect(page.get_by_label("Subject")).to_have_value("")
    assert page.evaluate("sessionStorage.getItem('postfinch.draft')") is None


def test_a_draft_is_discarded_after_a_question_and_with_the_session(console: Console) -> None:
    page = console.open("send?kind=template")
    page.get_by_label("Campaign").fill("spring")
    page.get_by_role("button", name="Start again").click()
    question = page.get_by_role("dialog", name="Start again?")
    assert console.violations() == []
    question.get_by_role("button", name="Discard").click()
    expect(page.get_by_label("Campaign")).to_have_value("")
    expect(page.get_by_label("Subject")).to_be_visible()
    page.get_by_label("Campaign").fill("autumn")
    expect(page.get_by_role("button", name="Start again")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    assert page.evaluate("sessionStorage.getItem('postfinch.draft')") is None


def test_an_event_leads_to_its_transmission_and_to_what_it_sent(
    open_console: Callable[..., Console], service: Service
) -> None:
    service.send("led@transmission.example", subject="What was sent")
    eventually(lambda: service.events(recipients="led@transmission.example", events="delivery"))
    console = open_console(size=NARROW)
    page = console.open("activity?recipients=led@transmission.example")
    page.get_by_role("link", name="Delivered: led@transmission.example").click()
    page.get_by_role("link", name="Transmission", exact=True).click()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    expect(page.get_by_text("What was sent")).to_be_visible()
    page.get_by_role("tab", name="Text").click()
    expect(page.get_by_label("The part")).to_be_visible()


def test_a_transmission_that_is_done_is_not_asked_for_again(
    console: Console, service: Service
) -> None:
    service.send("quiet@done.example")
    event = eventually(lambda: service.events(recipients="quiet@done.example", events="delivery"))
    requests: list[str] = []

    def note(request: Request) -> None:
        if "/api/v1/" in request.url:
            requests.append(request.url)

    console.open("overview")
    expect(console.page.get_by_role("heading", name="Overview")).to_be_visible()
    console.page.clock.install()
    console.page.on("request", note)
    console.open(f"send/{event[0]['transmission_id']}")
    expect(console.page.get_by_role("heading", name="Done")).to_be_visible()
    expect(console.page.get_by_role("heading", name="Content")).to_be_visible()
    about = [each for each in requests if event[0]["transmission_id"] in each]
    assert len(about) == 3
    console.page.clock.run_for(120_000)
    assert [each for each in requests if event[0]["transmission_id"] in each] == about


def test_a_key_that_may_not_send_is_told_so_and_still_sees_what_was_sent(
    open_console: Callable[..., Console], service: Service
) -> None:
    transmission = service.send("reader@grants.example", subject="Only to be read")
    grants = ["transmissions/view", "message_events/view"]
    body = {"label": "Reader", "grants": grants}
    key = service.request("POST", "/api/v1/api-keys", body).json["results"]["key"]
    console = open_console(key=key)
    page = console.open("send")
    expect(page.get_by_role("heading", name="This key may not send")).to_be_visible()
    assert console.violations() == []
    console.open(f"send/{transmission}")
    expect(page.get_by_text("Only to be read")).to_be_visible()


def test_a_key_without_events_does_not_ask_again_once_all_is_generated(
    open_console: Callable[..., Console], service: Service
) -> None:
    transmission = service.send("quiet@grants.example")
    path = f"/api/v1/transmissions/{transmission}"

    def state() -> object:
        return service.request("GET", path).json["results"]["transmission"]["state"]

    eventually(lambda: state() == "Success")
    body = {"label": "Quiet", "grants": ["transmissions/view", "transmissions/modify"]}
    key = service.request("POST", "/api/v1/api-keys", body).json["results"]["key"]
    console = open_console(key=key)
    console.page.clock.install()
    requests: list[str] = []
    console.page.on("request", lambda each: requests.append(each.url))
    page = console.open(f"send/{transmission}")
    expect(page.get_by_role("heading", name="State")).to_be_visible()
    page.clock.run_for(120_000)
    assert len([each for each in requests if each.endswith(path)]) == 1


def test_an_ip_pool_is_one_of_those_that_there_are(console: Console, service: Service) -> None:
    page = console.open("send")
    page.get_by_label("IP pool").select_option("Default")
    expect(page.get_by_label("curl request", exact=True)).to_contain_text('"ip_pool": "default"')
