"""Why did this bounce: from the overview to the event, its search, its export and the metrics."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.console import Console
from tests.browser.set_up import suppressed
from tests.journey.service import Service, eventually


def test_a_bounce_is_seen_explained_exported_and_taken_off_the_suppression_list(
    fresh_console: Console,
) -> None:
    service = fresh_console.service
    recipient = "bounce-hard@why.example"
    page = fresh_console.open("overview")
    service.send(recipient, subject="Why")
    expect(page.get_by_role("heading", name="Bounces and complaints")).to_be_visible()
    page.get_by_role("link", name=recipient).click()
    expect(page.get_by_text("user unknown").first).to_be_visible()
    expect(page.get_by_text("10, invalid recipient")).to_be_visible()
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("button", name="Export").click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert [each["rcpt_to"] for each in rows] == [recipient] * len(rows)
    assert "bounce" in {each["type"] for each in rows}

    eventually(lambda: suppressed(service, recipient))
    page.get_by_role("link", name="Audience").click()
    page.get_by_role("tab", name="Suppression").click()
    page.get_by_label("Recipient or domain").fill("why.example")
    page.get_by_role("link", name=f"{recipient}, Non-transactional").click()
    details = page.get_by_role("region", name="Details")
    expect(details.get_by_text("user unknown").first).to_be_visible()
    expect(details.get_by_text("Bounce Rule").first).to_be_visible()
    buttons = details.get_by_role("button", name="Remove")
    for remaining in reversed(range(buttons.count())):
        buttons.first.click()
        question = page.get_by_role("dialog", name=f"Remove {recipient}?")
        question.get_by_role("button", name="Remove").click()
        expect(buttons).to_have_count(remaining)
    expect(page.get_by_role("heading", name="No entry matches")).to_be_visible()
    assert suppressed(service, recipient) == []
    service.send(recipient)
    eventually(lambda: len(service.events(recipients=recipient, events="bounce")) == 2)


def test_the_filters_of_a_search_are_in_its_address(console: Console, service: Service) -> None:
    service.send("filtered@one.example", "filtered@two.example")
    eventually(lambda: service.events(recipients="filtered@two.example", events="delivery"))
    page = console.open("activity")
    page.get_by_label("Recipient", exact=True).fill("filtered@two.example")
    page.get_by_role("button", name="Delivered").click()
    expect(page.get_by_text("1 of 1 events")).to_be_visible()
    assert "events=delivery" in page.url
    assert re.search(r"recipients=filtered(@|%40)two\.example", page.url)
    page.reload()
    expect(page.get_by_text("1 of 1 events")).to_be_visible()
    page.get_by_role("button", name="Filter").click()
    page.get_by_label("Recipient domain").fill("elsewhere.example")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("heading", name="No event matches")).to_be_visible()
    page.get_by_role("button", name="Remove filter Recipient domain").click()
    expect(page.get_by_text("1 of 1 events")).to_be_visible()


def test_events_are_exported_whole_as_json(console: Console, service: Service) -> None:
    service.send("whole@export.example")
    eventually(lambda: service.events(recipients="whole@export.example", events="delivery"))
    page = console.open("activity?recipients=whole@export.example")
    expect(page.get_by_text("2 of 2 events")).to_be_visible()
    page.get_by_role("button", name="Export").click()
    page.get_by_role("button", name="NDJSON").click()
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("button", name="Export").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert [json.loads(each) for each in lines] == service.events(recipients="whole@export.example")


def test_metrics_lead_from_a_domain_to_its_reasons(console: Console, service: Service) -> None:
    service.send("bounce-hard@reasons.example", "fine@reasons.example")
    eventually(lambda: service.events(recipients="bounce-hard@reasons.example", events="bounce"))
    yesterday = datetime.now(UTC) - timedelta(days=1)
    query = f"from={yesterday:%Y-%m-%dT%H:%M}&metrics=count_sent,count_delivered,count_bounce"
    path = f"/api/v1/metrics/deliverability/domain?{query}&domains=reasons.example"
    counts = {"count_sent": 2, "count_delivered": 1, "count_bounce": 1}
    rows = [{"domain": "reasons.example", **counts}]
    eventually(lambda: service.request("GET", path).json["results"] == rows)
    page = console.open("metrics")
    page.get_by_role("button", name="reasons.example").click()
    expect(page.get_by_text("50 % of sent").first).to_be_visible()
    page.get_by_role("tab", name="Bounce reasons").click()
    expect(page.get_by_role("cell", name="Invalid Recipient")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(2)
