"""Send to a file of recipients, some of them bad, and follow it to the last event."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.console import Console


def test_a_bulk_send_from_a_file_with_bad_rows_is_followed_to_its_last_event(
    console: Console, tmp_path: Path
) -> None:
    service = console.service
    rows = [f"reader{number}@bulk.example,Reader {number},Oslo" for number in range(40)]
    source = tmp_path / "readers.csv"
    source.write_text(
        "\n".join(
            [
                "email,name,city",
                *rows,
                "bounce-hard@bulk.example,,",
                "no address,,",
                "two..dots@bulk.example,,",
            ]
        )
    )
    page = console.open("send")
    page.get_by_label("From", exact=True).fill("hello@example.test")
    page.get_by_label("Subject").fill("News from {{city}}")
    page.get_by_label("Text (optional)").fill("Hello {{name}}")
    page.get_by_label("Campaign").fill("bulk")
    page.get_by_label("Choose a CSV file").set_input_files(source)
    expect(page.get_by_text("1 bad row left out")).to_be_visible()
    expect(page.get_by_text("With the first 3 of 42 recipients.")).to_be_visible()
    for language, text in (("Python", "urllib.request"), ("Node", "await fetch"), ("curl", "curl")):
        page.get_by_role("tab", name=language).click()
        request = page.get_by_label(f"{language} request", exact=True)
        expect(request).to_contain_text(text)
        expect(request).to_contain_text("News from {{city}}")
        expect(request).to_contain_text("Idempotency-Key")
    assert console.violations() == []
    page.get_by_role("button", name="Send to 42 recipients").click()
    expect(page.get_by_text("41 recipients accepted.")).to_be_visible()
    expect(page.get_by_role("row", name="43 no address is not")).to_be_visible()
    expect(page.get_by_role("row", name="44 'two..dots@bulk.example'")).to_be_visible()
    expect(page.get_by_text("41 of 41")).to_be_visible()
    expect(page.get_by_role("link", name="Delivered 40")).to_be_visible()
    expect(page.get_by_role("link", name="Bounced 1")).to_be_visible()
    (message,) = service.arrived("reader0@bulk.example")
    assert b"Subject: News from Oslo" in message
    assert b"Hello Reader 0" in message  # a column has the name of the address as well
    page.get_by_role("link", name="Bounced 1").click()
    expect(page.get_by_text("1 of 1 events")).to_be_visible()
