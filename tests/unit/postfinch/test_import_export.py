"""Suppressions and templates are taken from the files that other services export."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from postfinch.importing.exports.language import merge_tags, translate
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
    assert "rejects.csv: 4 suppressions (bounce 1, complaint 1, unsubscribe 1, manual 1)" in output
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
    Path("other.csv").write_text("just text\n")
    Path("bytes.csv").write_bytes(b"\xff\x00")
    names = ("list.csv", "bad.json", "none.csv", "other.csv", "bytes.csv")
    expected = {
        "list.csv: 1 suppressions (unsubscribe 1), 0 templates",
        "list.csv: not taken: nobody is no address",
        "none.csv: not taken: no such file or directory",
        "other.csv: not taken: nothing in it is an export of SendGrid",
        "bytes.csv: not taken: this is neither text in UTF-8 nor a zip archive",
    }
    lines = run("import", "sendgrid", *names, code=1).splitlines()
    assert expected < set(lines)
    assert any("bad.json: not taken: this is neither JSON nor JSON lines" in each for each in lines)
    assert len(lines) == len(expected) + 1
    planned = run("import", "sendgrid", *names, "--dry-run", code=1).splitlines()
    assert [each.replace("would take ", "") for each in planned] == lines


def test_an_address_that_the_service_refuses_is_named(account: Client) -> None:
    Path("list.csv").write_text("email,created\nann@@inbox.test,1\nann@inbox..test,1\n")
    output = run("import", "sendgrid", "list.csv", code=1)
    assert "ann@@inbox.test is no address" in output
    assert "ann@inbox..test was refused as an address" in output


def test_a_dry_run_tells_the_errors_that_storing_a_template_meets(account: Client) -> None:
    version = {"active": 1, "subject": "S", "html_content": "<p>{{/if}}</p>"}
    document = {"id": "x", "name": "X", "versions": [version]}
    Path("x.json").write_text(json.dumps(document))
    arguments = ("import", "sendgrid", "x.json", "--from", "me@example.test")
    planned = run(*arguments, "--dry-run", code=1)
    assert "template x: x/content.html:1:6: " in planned
    assert "template x: these tags have no counterpart: {{/if}}" in planned
    assert run(*arguments, code=1) == planned
    assert account.get("/api/v1/templates").results == []


def test_a_template_that_is_there_already_is_left_as_it_is(account: Client) -> None:
    arguments = (
        "import",
        "mailgun",
        EXPORTS / "mailgun/template.json",
        "--from",
        "me@example.test",
    )
    run(*arguments)
    output = run(*arguments)
    assert "template welcome exists already, and is left as it is" in output
    assert "0 templates" in output


def test_soft_bounces_are_left_out(account: Client) -> None:
    Path("bounces.csv").write_text("status,reason,email,created\n4.2.2,452 full,a@inbox.test,1\n")
    Path("mailgun.csv").write_text("address,code,error\na@inbox.test,452,full\n")
    assert "1 left out: soft bounces" in run("import", "sendgrid", "bounces.csv")
    assert "1 left out: soft bounces" in run("import", "mailgun", "mailgun.csv")
    assert suppressions(account) == {}


def test_a_link_that_the_former_service_fills_in_keeps_a_template_a_draft(account: Client) -> None:
    version = {"active": 1, "subject": "S", "html_content": "<p>{{{unsubscribe}}}</p>"}
    document = {"id": "x", "name": "X", "versions": [version]}
    Path("x.json").write_text(json.dumps(document))
    output = run("import", "sendgrid", "x.json", "--from", "me@example.test")
    assert "template x: these tags have no counterpart: {{{unsubscribe}}}" in output
    assert template(account, "x")["has_published"] is False
    run("import", "sendgrid", "x.json", "--templates-into", "templates")
    settings = json.loads(Path("templates/x/template.json").read_text())
    assert settings["published"] is False


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ name }} {{{ raw.html }}} {{! note }}{{& a}}", "{{name}} {{{raw.html}}} {{{a}}}"),
        ("{{#if a}}x{{else if b}}y{{else}}z{{/if}}", "{{if a}}x{{elseif b}}y{{else}}z{{end}}"),
        ("{{#unless a}}x{{/unless}}", "{{if not a}}x{{end}}"),
        ("{{#equals a 'b'}}x{{/equals}}", "{{if a == 'b'}}x{{end}}"),
        (
            "{{#each a}}{{b}}{{this}}{{../c}}{{@root.d}}{{/each}}{{b}}",
            "{{each a}}{{loop_var.b}}{{loop_var}}{{c}}{{d}}{{end}}{{b}}",
        ),
        (
            "{{#each o}}{{#each k}}{{.}}{{../n}}{{../../s}}{{/each}}{{n}}{{/each}}",
            "{{each o}}{{each loop_var.k}}{{loop_var}}{{loop_vars.o.n}}{{s}}{{end}}"
            "{{loop_var.n}}{{end}}",
        ),
        (
            "{{#with u}}{{name}} {{../a}}{{else}}{{b}}{{/with}}",
            "{{if u}}{{u.name}} {{a}}{{else}}{{b}}{{end}}",
        ),
        (
            "{{#each a}}{{#with b}}{{#each c}}{{../d}}{{/each}}{{/with}}{{/each}}",
            "{{each a}}{{if loop_var.b}}{{each loop_var.b.c}}{{loop_vars.a.b.d}}"
            "{{end}}{{end}}{{end}}",
        ),
    ],
)
def test_handlebars_is_translated(source: str, expected: str) -> None:
    assert translate(source, "sendgrid") == (expected, [])


def test_the_sections_of_postmark_are_translated() -> None:
    source = "{{#user}}{{name}}{{../shop}}{{/user}}{{^user}}{{shop}}{{/user}}"
    expected = "{{if user}}{{user.name}}{{shop}}{{end}}{{if not user}}{{shop}}{{end}}"
    assert translate(source, "postmark") == (expected, [])


@pytest.mark.parametrize(
    ("service", "source", "expected", "remaining"),
    [
        (
            "mailgun",
            "{{#each a}}{{@index}}{{/each}}",
            "{{each a}}{{@index}}{{end}}",
            ["{{@index}}"],
        ),
        ("sendgrid", "{{formatDate d 'x'}}", "", ["{{formatDate d 'x'}}"]),
        ("mailgun", "{{> part}}{{/if}}", "", ["{{> part}}", "{{/if}}"]),
        ("sendgrid", "{{#if (eq a b)}}x{{else}}y{{/if}}", "", ["{{#if (eq a b)}}"]),
        ("mailgun", "{{#items}}x{{/items}}{{^b}}", "", ["{{#items}}", "{{^b}}"]),
        ("mailgun", "{{#each ../a}}{{/each}}", "", ["{{#each ../a}}"]),
        (
            "mailgun",
            "{{#each a}}{{#each b.a}}{{../c}}{{/each}}{{/each}}",
            "{{each a}}{{each loop_var.b.a}}{{../c}}{{end}}{{end}}",
            ["{{../c}}"],
        ),
        ("postmark", "{{{ pm:unsubscribe }}}", "", ["{{{ pm:unsubscribe }}}"]),
        (
            "sendgrid",
            "{{{unsubscribe}}}<%asm_group_unsubscribe_raw_url%>[Unsubscribe]",
            "",
            ["{{{unsubscribe}}}", "<%asm_group_unsubscribe_raw_url%>", "[Unsubscribe]"],
        ),
        ("mailgun", "100% %recipient.name%", "", ["%recipient.name%"]),
        ("mandrill", "*|DATE:d|* *|A|*", "*|DATE:d|* {{A}}", ["*|DATE:d|*"]),
    ],
)
def test_what_has_no_counterpart_stays_and_is_named(
    service: str, source: str, expected: str, remaining: list[str]
) -> None:
    assert translate(source, service) == (expected or source, remaining)


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
