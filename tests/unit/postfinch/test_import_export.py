"""Suppressions and templates are taken from the files that other services export."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from postfinch.importing import suppressions as suppression_module
from postfinch.importing.exports.files import BadFile
from postfinch.importing.exports.language import merge_tags, translate
from postfinch.importing.exports.plan import read_file
from postfinch.importing.exports.services import SERVICES
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


def imported(service: str, *arguments: object) -> str:
    """Take files, and return the id of the import."""
    answer = json.loads(run("import", service, *arguments, "--yes", "--json"))
    return answer["import"]


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
    answer = json.loads(run(*arguments, "--yes"))
    assert suppressions(account) == expected
    stored_ids = {each["id"] for each in account.get("/api/v1/templates").results}
    assert stored_ids == template_ids
    assert planned["import"] is None
    assert suppression_module.is_id(answer["import"])
    for before, after in zip(planned["files"], answer["files"], strict=True):
        assert before["templates"] == after["templates"]
        assert before["failures"] == after["failures"] == []


def test_the_reason_of_a_suppression_becomes_its_description(account: Client) -> None:
    import_id = imported("sendgrid", EXPORTS / "sendgrid/bounces.csv")
    entries = account.on_behalf_of(0).get("/api/v1/suppression-list").results
    assert {entry["description"] for entry in entries} == {
        f"Bounce at SendGrid (import {import_id}): 550 5.1.1 The account does not exist, try again"
    }


def test_what_is_left_out_is_counted(account: Client) -> None:
    output = run("import", "mandrill", EXPORTS / "mandrill/rejects.csv", "--yes")
    assert "rejects.csv: 4 suppressions (bounce 1, complaint 1, unsubscribe 1, manual 1)" in output
    assert "1 left out: expired rejects" in output
    assert "1 left out: soft bounces" in output
    assert "1 left out: blocks" in run(
        "import", "sendgrid", EXPORTS / "sendgrid/blocks.csv", "--yes"
    )


def test_a_reason_may_be_chosen_for_a_file(account: Client) -> None:
    run("import", "sendgrid", EXPORTS / "sendgrid/blocks.csv", "--reason", "manual", "--yes")
    assert suppressions(account) == BLOCKED
    path = EXPORTS / "sendgrid/blocks.csv"
    assert "must be one of" in run("import", "sendgrid", path, "--reason", "x", code=2)


def test_a_template_is_translated_and_published_if_nothing_is_left_to_do(account: Client) -> None:
    path = EXPORTS / "sendgrid/templates.json"
    assert "has no sender" in run("import", "sendgrid", path, code=1)
    run("import", "sendgrid", path, "--from", "me@example.test", "--yes")
    view = template(account, "d-1234567890abcdef")
    assert (view["name"], view["published"]) == ("Welcome", True)
    data = {"items": [{"title": "A"}, {"title": "B"}], "shop": "S"}
    body = {"substitution_data": data}
    preview = account.post("/api/v1/templates/d-1234567890abcdef/preview", body).results
    assert preview["html"] == "<li>A of S</li><li>B of S</li>"
    assert preview["subject"] == "Hello there"


def test_a_template_with_tags_that_have_no_counterpart_stays_a_draft(account: Client) -> None:
    output = run("import", "mandrill", EXPORTS / "mandrill/templates.json", "--yes")
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
    run(*arguments, "--yes")
    assert Path("templates/Welcome/content.html").read_text() == "<b>{{name}}</b>"
    assert account.get("/api/v1/templates").results == []


def test_a_zip_archive_is_read(account: Client) -> None:
    with zipfile.ZipFile("rejects.zip", "w") as archive:
        archive.write(EXPORTS / "mandrill/rejects.csv", "rejects.csv")
    assert "4 suppressions" in run("import", "mandrill", "rejects.zip", "--yes")


def test_an_address_that_is_none_is_named_and_the_others_are_taken(account: Client) -> None:
    Path("list.csv").write_text("email,created\nnobody,1\nann@inbox.test,2\n")
    output = run("import", "sendgrid", "list.csv", "--yes", code=1)
    assert "list.csv: not taken: nobody is no address" in output
    assert output.count("nobody is no address") == 1
    assert suppressions(account).keys() == {"ann@inbox.test"}


CONTACTS = "Email,First name,Last name\nann@inbox.test,Ann,Lee\nbo@inbox.test,Bo,Ek\n"
FOREIGN = {
    "contacts.csv": CONTACTS.encode(),
    "contacts-with-times.csv": b"EMAIL,FIRST_NAME,CREATED_AT\nann@inbox.test,Ann,2024-01-01\n",
    "orders.csv": b"email;reason;amount\nann@inbox.test;gift;12\n",
    "plain.csv": b"ann@inbox.test\nbo@inbox.test\n",
    "plain.json": b'["ann@inbox.test", "bo@inbox.test"]',
    "half.json": b'{"Suppressions": [{"EmailAddress": "ann@inbox.test", "Supp',
    "error.json": b'{"message": "Forbidden"}',
    "error.html": b"<!doctype html>\n<title>Sign in</title>\nann@inbox.test\n",
    "file.pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\nann@inbox.test\n",
    "bytes.csv": b"email,created\n\0\0",
    "empty.csv": b"",
    "blank.csv": b"\n \n",
    "numbers.json": b"[1, 2]",
}


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_the_service_does_not_export_is_refused(
    account: Client, service: str, name: str
) -> None:
    Path(name).write_bytes(FOREIGN[name])
    output = run("import", service, name, "--yes", code=1)
    assert f"{name}: not taken: " in output
    assert "nothing is stored" in output
    assert suppressions(account) == {}


def test_a_refusal_says_what_was_expected_and_what_was_there(account: Client) -> None:
    Path("contacts.csv").write_text(CONTACTS)
    output = run("import", "ses", "contacts.csv", "--yes", code=1)
    assert "this is no export of Amazon SES: it has email, firstname, lastname" in output
    assert "Amazon SES exports templates (templatename, templatecontent or htmlpart)" in output
    assert "suppressions (address, reason)" in output
    Path("notes.csv").write_text("Email address,Reason\nann@inbox.test,holiday\n")
    output = run("import", "ses", "notes.csv", "--yes", code=1)
    assert "reason is 'holiday', and none of BOUNCE, COMPLAINT" in output


@pytest.mark.parametrize("service", SERVICES)
def test_no_export_is_taken_for_that_of_another_service(account: Client, service: str) -> None:
    others = [path for other in SERVICES if other != service for path in files(other)]
    readable = []
    for path in others:
        try:
            read_file(service, path)
        except BadFile:
            continue
        readable.append(f"{path.parent.name}/{path.name}")
    # The same columns and the same words: Mailgun's complaints say nothing that is theirs alone
    alike = {
        "sendgrid": ["mailgun/complaints.csv"],
        "mailgun": ["sendgrid/global-unsubscribes.csv"],
    }
    assert set(readable) <= set(alike.get(service, []))


def test_one_file_that_is_refused_keeps_all_from_being_stored(account: Client) -> None:
    Path("contacts.csv").write_text(CONTACTS)
    path = EXPORTS / "ses/suppression-list.csv"
    output = run("import", "ses", path, "contacts.csv", "--yes", code=1)
    assert "contacts.csv: not taken" in output
    assert suppressions(account) == {}


def test_a_plain_list_is_taken_if_a_reason_is_given(account: Client) -> None:
    Path("plain.csv").write_text("ann@inbox.test\nbo@inbox.test\n")
    imported("ses", "plain.csv", "--reason", "unsubscribe")
    assert suppressions(account) == {"ann@inbox.test": (BULK, None), "bo@inbox.test": (BULK, None)}


@pytest.mark.parametrize(
    ("encoding", "delimiter"),
    [("utf-8", ";"), ("utf-8-sig", "\t"), ("utf-16", "\t"), ("utf-16", ",")],
)
def test_spreadsheets_may_have_saved_a_list(account: Client, encoding: str, delimiter: str) -> None:
    lines = [["Email Address", "REASON", "Last update"], ["zoé@inbox.test", "Bounce", '"1, 2; 3"']]
    text = "\r\n".join(delimiter.join(line) for line in lines)
    Path("list.csv").write_bytes(text.encode(encoding))
    imported("ses", "list.csv")
    assert suppressions(account).keys() == {"zoé@inbox.test"}


def test_a_list_without_rows_is_an_export_of_nothing(account: Client) -> None:
    Path("bounces.csv").write_text("status,reason,email,created\n")
    assert "0 suppressions" in run("import", "sendgrid", "bounces.csv")


def test_three_rows_are_shown_before_anything_is_stored(
    account: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"5.1.1,no user {n},u{n}@inbox.test,1\n" for n in range(5))
    Path("bounces.csv").write_text("status,reason,email,created\n" + rows)
    output = run("import", "sendgrid", "bounces.csv", code=1)
    assert "bounces.csv: 5 suppressions (bounce 5), 0 templates" in output
    assert [f"u{n}@inbox.test, bounce: no user {n}" in output for n in range(5)] == [True] * 3 + [
        False
    ] * 2
    assert "Store 5 suppressions and 0 templates? Nobody can be asked here" in output
    assert "--yes" in output
    assert suppressions(account) == {}


def test_an_import_is_taken_back_but_for_what_was_there_or_has_changed(account: Client) -> None:
    path = "/api/v1/suppression-list"
    account.put(f"{path}/u0@inbox.test", {"type": "transactional", "description": "mine"})
    rows = "".join(f"5.1.1,no user,u{n}@inbox.test,1\n" for n in range(3))
    Path("bounces.csv").write_text("status,reason,email,created\n" + rows)
    output = run("import", "sendgrid", "bounces.csv", "--yes")
    assert "1 entries were there already, and are left as they are" in output
    (import_id,) = re.findall(r"postfinch import undo (\S+)", output)
    account.put(f"{path}/u2@inbox.test", {"type": "transactional", "description": "checked"})
    assert "Remove 4 entries of 3 recipients?" in run("import", "undo", import_id, code=1)
    assert "4 entries of 3 recipients are removed" in run("import", "undo", import_id, "--yes")
    assert suppressions(account) == {
        "u0@inbox.test": ({"transactional"}, None),
        "u2@inbox.test": ({"transactional"}, None),
    }
    entries = account.on_behalf_of(0).get(path).results
    assert {entry["description"] for entry in entries} == {"mine", "checked"}
    assert "no entry" in run("import", "undo", import_id, "--yes", code=1)
    assert "is no id of an import" in run("import", "undo", "bounces.csv", code=2)


def test_entries_of_lists_are_taken_back_alone(account: Client) -> None:
    path = "/api/v1/suppression-list"
    account.put(f"{path}/grouped@inbox.test", {"type": "non_transactional"})
    import_id = imported("sendgrid", EXPORTS / "sendgrid/group-unsubscribes.json")
    run("import", "undo", import_id, "--yes")
    assert suppressions(account) == {"grouped@inbox.test": (BULK, None)}


def test_an_address_that_the_service_refuses_is_named(account: Client) -> None:
    Path("list.csv").write_text("email,created\nann@@inbox.test,1\nann@inbox..test,1\n")
    output = run("import", "sendgrid", "list.csv", "--yes", code=1)
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
    run(*arguments, "--yes")
    output = run(*arguments, "--yes")
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
    output = run("import", "sendgrid", "x.json", "--from", "me@example.test", "--yes")
    assert "template x: these tags have no counterpart: {{{unsubscribe}}}" in output
    assert template(account, "x")["has_published"] is False
    run("import", "sendgrid", "x.json", "--templates-into", "templates", "--yes")
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
