"""Keep an audience: entries of the suppression list, and lists from files with bad rows."""

from __future__ import annotations

import csv
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.console import Console
from tests.journey.service import Service


def test_an_address_that_is_not_suppressed_is_no_error(console: Console) -> None:
    page = console.open("audience/suppressions")
    page.get_by_label("Recipient or domain").fill("nobody@unlisted.example")
    expect(page.get_by_role("heading", name="No entry matches")).to_be_visible()
    console.open("audience/suppressions/nobody@unlisted.example")
    expect(page.get_by_role("heading", name="This address is not suppressed")).to_be_visible()


def test_entries_are_imported_and_exported(console: Console, service: Service) -> None:
    page = console.open("audience/suppressions?recipient=imported.example")
    page.get_by_role("button", name="Import").click()
    dialog = page.get_by_role("dialog", name="Import into the suppression list")
    dialog.get_by_label("Recipients", exact=True).fill(
        "recipient,type,description\n"
        "one@imported.example,transactional,Moved away\n"
        "no address,,\n"
        "two@imported.example,,\n"
    )
    dialog.get_by_role("button", name="Import", exact=True).click()
    report = page.get_by_role("dialog", name="Import", exact=True)
    expect(report.get_by_text("2 entries stored")).to_be_visible()
    expect(report.get_by_role("row", name="3 no address is not an email address")).to_be_visible()
    report.get_by_role("button", name="Done").click()
    expect(page.get_by_text("2 of 2 entries")).to_be_visible()
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("button", name="Export").click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert {(each["recipient"], each["type"], each["description"]) for each in rows} == {
        ("one@imported.example", "transactional", "Moved away"),
        ("two@imported.example", "non_transactional", ""),
    }


def test_a_list_is_made_from_a_file_saved_and_deleted(
    console: Console, service: Service, tmp_path: Path
) -> None:
    source = tmp_path / "readers.csv"
    source.write_text(
        "email,name,tags,city\n"
        'anna@list.example,"Andersen, Anna",vip|old,Oslo\n'
        "no address,,,\n"
        "double..dot@list.example,,,\n"
        "+ben@list.example,Ben,,Rome\n"
    )
    page = console.open("audience")
    page.get_by_role("button", name="New list").first.click()
    dialog = page.get_by_role("dialog", name="New recipient list")
    dialog.get_by_label("Name").fill("Guests")
    dialog.get_by_label("Id").fill("guests")
    dialog.locator("input[type=file]").set_input_files(source)
    expect(dialog.get_by_text("3 recipients")).to_be_visible()
    dialog.get_by_role("button", name="Create list").click()
    report = page.get_by_role("dialog", name="Recipients stored")
    expect(report.get_by_text("2 recipients stored")).to_be_visible()
    expect(report.get_by_role("row", name="3 no address is not")).to_be_visible()
    expect(report.get_by_role("row", name="4 'double..dot@list.example'")).to_be_visible()
    assert console.violations() == []
    report.get_by_role("button", name="Done").click()
    details = page.get_by_role("region", name="Details")
    with page.expect_download() as download:
        details.get_by_role("button", name="Save as CSV").click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert [(each["email"], each["name"], each["substitution_data"]) for each in rows] == [
        ("anna@list.example", "Andersen, Anna", '{"name":"Andersen, Anna","city":"Oslo"}'),
        ("'+ben@list.example", "Ben", '{"name":"Ben","city":"Rome"}'),
    ]
    details.get_by_role("button", name="Delete list").click()
    question = page.get_by_role("dialog", name="Delete Guests?")
    question.get_by_role("textbox").fill("Guests")
    question.get_by_role("button", name="Delete").click()
    expect(details).to_be_hidden()
    assert service.request("GET", "/api/v1/recipient-lists/guests").status == 404


def test_an_address_and_a_list_are_validated(console: Console, service: Service) -> None:
    recipients = [{"address": f"ann@{name}"} for name in ("inbox.test", "gmial.con.test", "x.x")]
    body = {"id": "to-validate", "name": "To validate", "recipients": recipients}
    assert service.request("POST", "/api/v1/recipient-lists", body).status == 200
    page = console.open("audience/validation")
    page.get_by_label("Address").fill("info@inbox.test")
    page.get_by_role("button", name="Validate address").click()
    result = page.get_by_role("status", name="Result")
    expect(result.get_by_text("Risky", exact=True)).to_be_visible()
    expect(result.get_by_text("Role, not a person")).to_be_visible()
    page.get_by_label("Address").fill("ann@hotmial.com")
    page.get_by_label("Address").press("Enter")
    result.get_by_role("link", name="ann@hotmail.com").click()
    expect(result.get_by_text("Free provider")).to_be_visible()
    console.open("audience/lists/to-validate")
    page.get_by_role("link", name="Validate", exact=True).click()
    page.get_by_label("Copy the good recipients to a new list").check()
    page.get_by_role("button", name="Validate list").click()
    outcome = page.get_by_role("status", name="Validation of the list")
    expect(outcome.get_by_role("row", name="Valid 1")).to_be_visible()
    expect(outcome.get_by_role("row", name="Undeliverable 2")).to_be_visible()
    assert console.violations() == []
    outcome.get_by_role("link", name="To validate (validated)").click()
    expect(page.get_by_role("heading", name="To validate (validated)")).to_be_visible()
    copy = service.request("GET", "/api/v1/recipient-lists/to-validate-valid").json["results"]
    assert copy["total_accepted_recipients"] == 1
