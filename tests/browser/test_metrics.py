"""Metrics of any window, by everything that the API divides them by."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Request, expect

from tests.browser.console import Console
from tests.journey.service import Service, eventually


def tile(label: str) -> str:
    return f'.tile:has(.label:text-is("{label}"))'


SENT = tile("Sent")
BAD_REQUEST = "status of 400"  # the browser itself reports it


def minute(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M}"


def counted(service: Service, domain: str, **counts: int) -> None:
    """Wait until the metrics of a recipient domain are these."""
    query = f"from={minute(datetime.now(UTC) - timedelta(days=1))}&metrics={','.join(counts)}"
    path = f"/api/v1/metrics/deliverability/domain?{query}&domains={domain}"
    rows = [{"domain": domain, **counts}]
    eventually(lambda: service.request("GET", path).json["results"] == rows)


def test_a_free_window_is_kept_in_the_address_and_compared(
    console: Console, service: Service
) -> None:
    service.send("a@free.example", "b@free.example")
    counted(service, "free.example", count_sent=2)
    now = datetime.now(UTC)
    page = console.open("metrics?zone=UTC&domains=free.example")
    page.get_by_label("Time", exact=True).select_option("From … to …")
    page.get_by_label("From").fill(minute(now - timedelta(hours=3)))
    page.get_by_label("To", exact=True).fill(minute(now + timedelta(hours=1)))
    page.get_by_role("button", name="Show").click()
    tile = page.locator(SENT)
    expect(tile).to_contain_text("2")
    assert "window=free" in page.url
    page.get_by_label("Compare with the period before").check()
    expect(page.get_by_text("Sent before")).to_be_visible()
    page.get_by_role("button", name="Table").click()
    # Four hours in buckets of five minutes, and the head; buckets are rounded outward
    expect(page.get_by_role("region", name="as a table").get_by_role("row")).to_have_count(
        50 if now.minute % 5 else 49
    )
    page.reload()
    expect(page.get_by_label("From")).to_have_value(minute(now - timedelta(hours=3)))
    expect(tile).to_contain_text("2")


def test_the_period_before_a_free_window_is_as_long(console: Console, service: Service) -> None:
    service.send("a@former.example")
    counted(service, "former.example", count_sent=1)
    now = datetime.now(UTC)
    start, end = now + timedelta(hours=2), now + timedelta(hours=6)
    view = f"metrics?zone=UTC&domains=former.example&window=free&from={minute(start)}"
    page = console.open(f"{view}&to={minute(end)}&compare=1&metrics=sent")
    expect(page.locator(SENT)).to_contain_text("100 % on before")


def test_what_the_api_finds_wrong_is_at_its_field(open_console: Callable[..., Console]) -> None:
    console = open_console()
    console.expected = (BAD_REQUEST,)
    page = console.open("metrics?window=free&from=2026-11-02T00:00&to=2026-11-01T00:00")
    expect(page.get_by_label("From")).to_have_accessible_description("From must be before to")
    expect(page.get_by_role("heading", name="No counts of this window")).to_be_visible()
    assert console.violations() == []
    page.get_by_label("From").fill("2026-10-01T00:00")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="Breakdown")).to_be_visible()
    console.open("metrics?zone=Mars/Olympus")
    expect(page.get_by_label("Time zone")).to_have_accessible_description(
        "Timezone 'Mars/Olympus' is not known"
    )
    page.get_by_label("Time zone").select_option("UTC")
    expect(page.get_by_role("heading", name="Breakdown")).to_be_visible()


def test_reasons_are_counted_by_class_and_by_domain(console: Console, service: Service) -> None:
    service.send("bounce-hard@divided.example")
    counted(service, "divided.example", count_bounce=1)
    page = console.open("metrics?domains=divided.example&by=bounce-classification")
    row = page.get_by_role("row").filter(has_text="Invalid Recipient")
    expect(row.get_by_role("cell", name="Hard", exact=True)).to_be_visible()
    page.get_by_role("tab", name="Bounce reasons").click()
    page.get_by_label("By domain").check()
    expect(page.get_by_role("cell", name="divided.example", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_label("By domain")).to_be_checked()
    for by, title in (("rejection-reason/domain", "rejected"), ("delay-reason/domain", "delayed")):
        console.open(f"metrics?domains=divided.example&by={by}")
        expect(page.get_by_text(f"Nothing was {title}")).to_be_visible()


def test_large_providers_and_subjects_are_counted(console: Console, service: Service) -> None:
    service.send("anna@gmail.com")
    counted(service, "gmail.com", count_sent=1)
    page = console.open("metrics?by=watched-domain")
    page.get_by_role("button", name="gmail.com").click()
    expect(page.get_by_role("button", name="Remove filter Recipient domain")).to_be_visible()
    page.get_by_role("tab", name="Subject", exact=True).click()
    expect(page.get_by_text("Where seed addresses and panels received mail")).to_be_visible()


def test_placements_are_divided_by_subject(console: Console) -> None:
    # Nothing here makes such events, so the answer is not the service's
    placed = {"subject_campaign": "Spring sale", "count_inbox_seed": 7, "count_spam_seed": 2}
    console.page.route(
        "**/deliverability/subject-campaign?*",
        lambda route: route.fulfill(json={"results": [placed]}),
    )
    page = console.open("metrics?by=subject-campaign")
    row = page.get_by_role("row").filter(has_text="Spring sale")
    expect(row.get_by_role("cell")).to_have_text(["Spring sale", "7", "2", *"00000000"])
    # A filter by subject would be refused for everything else on the page
    expect(row.get_by_role("button")).to_have_count(0)


@pytest.mark.parametrize(
    ("length", "precision"),
    [
        (timedelta(minutes=40), "1min"),
        (timedelta(hours=6), "5min"),
        (timedelta(days=1), "15min"),
        (timedelta(days=7), "hour"),
        (timedelta(days=60), "day"),
        (timedelta(days=181), "week"),
    ],
    ids=str,
)
def test_the_precision_follows_the_length_of_the_window(
    length: timedelta, precision: str, console: Console
) -> None:
    now = datetime.now(UTC)
    page = console.page
    view = f"metrics?window=free&zone=UTC&from={minute(now - length)}&to={minute(now)}"

    def is_series(request: Request) -> bool:
        return "/time-series" in request.url and "window" not in request.url

    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    with page.expect_request(is_series) as request:
        console.open(view)
    assert f"precision={precision}" in request.value.url
    expect(page.get_by_role("figure", name="Counts over time")).to_be_visible()


def test_the_plot_has_the_times_of_the_zone(console: Console) -> None:
    view = "metrics?window=free&zone=Asia/Tokyo&from=2026-11-02T00:00&to=2026-11-02T12:00"
    page = console.open(view)
    page.get_by_role("button", name="Table").click()
    times = page.get_by_role("region", name="as a table").get_by_role("rowheader")
    expect(times.first).to_have_text("Nov 2, 2026, 12:00 AM")
    expect(times.last).to_have_text("Nov 2, 2026, 11:45 AM")


def test_a_key_for_metrics_alone_sees_them(
    open_console: Callable[..., Console], service: Service
) -> None:
    fields = {"label": "Figures", "grants": ["metrics/view"]}
    key = service.request("POST", "/api/v1/api-keys", fields).json["results"]["key"]
    page = open_console(key=key).open("metrics?by=subaccount")
    expect(page.get_by_role("tab", name="Subaccount")).to_have_attribute("aria-selected", "true")
    expect(page.locator(SENT)).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_one_subaccount_is_not_divided_by_subaccounts(console: Console, service: Service) -> None:
    fields = {"name": "Bakery", "setup_api_key": False}
    assert service.request("POST", "/api/v1/subaccounts", fields).status == 200
    page = console.open("metrics")
    page.reload()
    expect(page.get_by_role("tab", name="Subaccount")).to_be_visible()
    page.get_by_label("Act for").select_option("Bakery")
    expect(page.get_by_role("tab", name="Campaign")).to_be_visible()
    expect(page.get_by_role("tab", name="Subaccount")).to_have_count(0)
    expect(page.locator(SENT)).to_contain_text("0")


def test_what_was_accepted_and_what_bounced_add_up_to_what_was_sent(
    console: Console, service: Service
) -> None:
    suppressed = {"recipients": [{"recipient": "gone@rates.example", "type": "non_transactional"}]}
    assert service.request("PUT", "/api/v1/suppression-list", suppressed).status == 200
    names = ("ann", "ben", "bounce-hard", "oob", "gone")
    service.send(*(f"{name}@rates.example" for name in names))
    counted(service, "rates.example", count_sent=5, count_bounce=3, count_admin_bounce=1)
    page = console.open("metrics?domains=rates.example")
    expect(page.locator(SENT)).to_contain_text("4")
    expect(page.locator(tile("Accepted"))).to_contain_text("50 % of sent")
    expect(page.locator(tile("Bounced"))).to_contain_text("50 % of sent")
    expect(page.locator(tile("Suppressed"))).to_contain_text("1")
    row = page.get_by_role("row").filter(has_text="rates.example")
    expect(row.get_by_role("cell")).to_have_text(
        ["rates.example", "4", "2 50 %", "2 50 %", "1", "0 0 %", "0 0 %", "0 0 %"]
    )
    console.open("metrics?domains=rates.example&compare=1")
    expect(page.get_by_text("Bounced before")).to_be_visible()
    # The whole account is on the overview: its shares add up as well
    console.open("overview")
    shares = [page.locator(f"{tile(name)} .note").inner_text() for name in ("Accepted", "Bounced")]
    assert sum(int(share.partition(" ")[0]) for share in shares) == 100
    page.locator(tile("Suppressed")).click()
    expect(page.get_by_text("gone@rates.example")).to_be_visible()
