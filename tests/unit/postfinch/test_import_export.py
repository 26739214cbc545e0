"""Suppressions and templates are taken from the files that other services export."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from postfinch.importing.exports.language import handlebars, merge_tags
from tests.unit.calling import Client
from tests.unit.postfinch.api_server import run

EXPORTS = Path(__file__).with_name("exports")
BOTH = {"transactional", "non_transactional"}
BULK = {"non_transactional"}


def files(service: str) -> list[Path]:
    return sorted((EXPORTS / service).iterdir())


def suppressions(account: Client) -> dict[str, tuple[set[str], str | None]]:
    """Return types and list of each recipient."""
    entries: dict[str, tuple[set[str], str | None]] = {}
    for entry in account.on_behalf_of(0).get("/api/v1/suppression-list").results:
        types, _ = entries.setdefault(entry["recipient"], (set(), entry.get("list_id")))
        types.add(entry["type"])
    return entries


def template(account: Client, template_id: str) -> dict[str, Any]:
    return account.get(f"/api/v1/templates/{template_id}").results


BOUNCE, COMPLAINT = {"bounced@inbox.test": (BOTH, None)}, {"complained@inbox.test": (BULK, None)}
LEFT, BLOCKED = {"left@inbox.test": (BULK, None)}, {"blocked@inbox.test": (BOTH, None)}


@pytest.mark.parametrize(
    ("service", "expected", "template_ids"),
    [
        (
            "sendgrid",
            BOUNCE | COMPLAINT | LEFT | {"grouped@inbox.test": (BULK, "Weekly-news")},
            {"d-1234567890abcdef"},
        ),
        (
            "mailgun",
            BOUNCE | COMPLAINT | LEFT | {"grouped@inbox.test": (BULK, "weekly")},
            {"welcome"},
        ),
        ("postmark", BOUNCE | COMPLAINT | LEFT | BLOCKED, {"onboarding"}),
        ("ses", BOUNCE | COMPLAINT, {"Welcome", "Goodbye"}),
        ("mandrill", BOUNCE | COMPLAINT | LEFT | BLOCKED, {"welcome", "leave"}),
    ],
)
def test_the_exports_of_a_service_are_taken(
    account: Client,
    service: str,
    expected: dict[str, tuple[set[str], str | None]],
    template_ids: set[str],
) -> None:
    arguments = ("import", service, *files(service), "--from", "me@example.test", "--json")
    planned = json.loads(run(*arguments, "--dry-run"))
    assert suppressions(account) == {}
    reports = json.loads(run(*arguments))
    assert suppressions(account) == expected
    stored_ids = {each["id"] for each in account.get("/api/v1/templates").results}
    assert stored_ids == template_ids
    assert planned == reports


def test_the_reason_of_a_suppression_becomes_its_description(account: Client) -> None:
    run("import", "sendgrid", EXPORTS / "sendgrid/bounces.csv")
    entries = account.on_behalf_of(0).get("/api/v1/suppression-list").results
    assert {entry["description"] for entry in entries} == {
        "Bounce at SendGrid: 550 5.1.1 The account does not exist, try again"
    }


def test_what_is_left_out_is_counted(account: Client) -> None:
    output = run("import", "mandrill", EXPORTS / "mandrill/rejects.csv")
    assert "rejects.csv: 4 suppressions, 0 templates" in output
    assert "1 left out: expired rejects" in output
    assert "1 left out: soft bounces" in output
    assert "1 left out: blocks" in run("import", "sendgrid", EXPORTS / "sendgrid/blocks.csv")


def test_a_reason_may_be_chosen_for_a_file(account: Client) -> None:
    run("import", "sendgrid", EXPORTS / "sendgrid/blocks.csv", "--reason", "manual")
    assert suppressions(account) == BLOCKED
    path = EXPORTS / "sendgrid/blocks.csv"
    assert "must be one of" in run("import", "sendgrid", path, "--reason", "x", code=2)


def test_a_template_is_translated_and_published_if_nothing_is_left_to_do(account: Client) -> None:
    path = EXPORTS / "sendgrid/templates.json"
    assert "has no sender" in run("import", "sendgrid", path, code=1)
    run("import", "sendgrid", path, "--from", "me@example.test")
    view = template(account, "d-1234567890abcdef")
    assert (view["name"], view["published"]) == ("Welcome", True)
    data = {"items": [{"title": "A"}, {"title": "B"}], "shop": "S"}
    body = {"substitution_data": data}
    preview = account.post("/api/v1/templates/d-1234567890abcdef/preview", body).results
    assert preview["html"] == "<li>A of S</li><li>B of S</li>"
    assert preview["subject"] == "Hello there"


def test_a_template_with_tags_that_have_no_counterpart_stays_a_draft(account: Client) -> None:
    output = run("import", "mandrill", EXPORTS / "mandrill/templates.json")
    assert (
        "template leave: these tags have no counterpart: *|UNSUB:https://example.test|*" in output
    )
    assert template(account, "leave")["has_published"] is False
    view = template(account, "welcome")
    assert view["content"]["from"] == {"email": "shop@example.test", "name": "Shop"}
    assert view["content"]["html"] == "<p>{{if FNAME}}Hello {{FNAME}}{{else}}Hello{{end}}</p>"
    assert view["published"] is True


def test_templates_can_be_written_into_a_folder(account: Client) -> None:
    path = EXPORTS / "ses/get-email-template.json"
    arguments = ("import", "ses", path, "--templates-into", "templates")
    run(*arguments, "--dry-run")
    assert not Path("templates").exists()
    run(*arguments)
    assert Path("templates/Welcome/content.html").read_text() == "<b>{{name}}</b>"
    assert account.get("/api/v1/templates").results == []


def test_a_zip_archive_is_read(account: Client) -> None:
    with zipfile.ZipFile("rejects.zip", "w") as archive:
        archive.write(EXPORTS / "mandrill/rejects.csv", "rejects.csv")
    assert "4 suppressions" in run("import", "mandrill", "rejects.zip")


def test_refused_addresses_and_unreadable_files_are_named(account: Client) -> None:
    Path("list.csv").write_text("email,created\nnobody,1\nann@inbox.test,2\n")
    Path("bad.json").write_text("{")
    output = run("import", "sendgrid", "list.csv", "bad.json", "none.csv", code=1)
    assert "list.csv: 1 suppressions" in output
    assert "nobody was refused as an address" in output
    assert "bad.json: not taken: this is neither JSON nor JSON lines" in output
    assert "none.csv: not taken: " in output


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ name }} {{{ raw.html }}} {{! note }}", "{{name}} {{{raw.html}}} "),
        ("{{#if a}}x{{else if b}}y{{else}}z{{/if}}", "{{if a}}x{{elseif b}}y{{else}}z{{end}}"),
        ("{{#unless a}}x{{/unless}}", "{{if not a}}x{{end}}"),
        ("{{#equals a 'b'}}x{{/equals}}", "{{if a == 'b'}}x{{end}}"),
        (
            "{{#each a}}{{b}}{{this}}{{../c}}{{@root.d}}{{/each}}{{b}}",
            "{{each a}}{{loop_var.b}}{{loop_var}}{{c}}{{d}}{{end}}{{b}}",
        ),
        ("{{#each a}}{{@index}}{{/each}}", "{{each a}}{{@index}}{{end}}"),
        ("{{formatDate d 'x'}} {{> part}} {{/if}}", "{{formatDate d 'x'}} {{> part}} {{/if}}"),
    ],
)
def test_handlebars_is_translated_as_far_as_there_is_a_counterpart(
    source: str, expected: str
) -> None:
    assert handlebars(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("*|NAME|* *|HTML:BODY|*", "{{NAME}} {{{BODY}}}"),
        ("*|IF:A=1|*x*|ELSEIF:B|*y*|END:IF|*", "{{if A == '1'}}x{{elseif B}}y{{end}}"),
        ("*|IFNOT:A|*x*|END:IF|*", "{{if not A}}x{{end}}"),
        ("*|IF:A != b c|*", "{{if A != 'b c'}}"),
        ("*|DATE:d|*", "*|DATE:d|*"),
    ],
)
def test_merge_tags_are_translated_as_far_as_there_is_a_counterpart(
    source: str, expected: str
) -> None:
    assert merge_tags(source) == expected
