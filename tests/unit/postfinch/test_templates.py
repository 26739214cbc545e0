"""Templates and snippets in a folder: pulled, pushed and rendered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infrastructure.bootstrap import ensure_sample_template
from postfinch import template_files
from postfinch.template_files import Fault, Item
from tests.unit.calling import Client
from tests.unit.people import make_subaccount
from tests.unit.postfinch.api_server import run

CONTENT = {
    "from": {"email": "news@example.test", "name": "News"},
    "subject": "Deals for {{name}}",
    "html": "<b>Hello {{name}}</b>\n",
    "text": "Hello {{name}}\r\n",
    "headers": {"X-Kind": "deals"},
}
FOLDER = Path("templates")


def create(account: Client, template_id: str, **fields: Any) -> None:
    body = {"id": template_id, "content": CONTENT, **fields}
    assert account.post("/api/v1/templates", body).status == 200


def show(account: Client, template_id: str, query: str = "?draft=true") -> dict[str, Any]:
    return account.get(f"/api/v1/templates/{template_id}{query}").results


def settings(template_id: str, **changes: Any) -> None:
    """Change the settings file of a template; ``from_`` is ``from``."""
    path = FOLDER / template_id / "template.json"
    fields = json.loads(path.read_text()) if path.exists() else {}
    fields |= {name.rstrip("_"): value for name, value in changes.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(fields, indent=2))


def test_pull_writes_each_part_to_a_file_and_only_what_differs(account: Client) -> None:
    create(account, "deals", name="Deals", options={"click_tracking": True})
    snippet = {"id": "foot", "name": "Foot", "content": {"html": "<i>x</i>"}}
    account.post("/api/labs/snippets", snippet)
    output = run("templates", "pull")
    assert "templates/deals/content.html" in output
    assert (FOLDER / "deals/content.html").read_bytes() == b"<b>Hello {{name}}</b>\n"
    assert (FOLDER / "deals/content.txt").read_bytes() == b"Hello {{name}}\r\n"
    assert json.loads((FOLDER / "deals/template.json").read_text()) == {
        "name": "Deals",
        "options": {"click_tracking": True},
        "published": False,
        "from": CONTENT["from"],
        "subject": CONTENT["subject"],
        "headers": CONTENT["headers"],
    }
    assert (FOLDER / "_snippets/foot/content.html").read_text() == "<i>x</i>"

    before = (FOLDER / "deals/content.txt").stat().st_mtime_ns
    account.put("/api/v1/templates/deals", {"content": {**CONTENT, "html": "New", "text": "T"}})
    (FOLDER / "deals/content.txt").write_text("T")
    (FOLDER / "deals/content.amp.html").write_text("old")
    rows = json.loads(run("templates", "pull", "--json"))
    assert rows == [
        {
            "kind": "template",
            "id": "deals",
            "changed": ["deals/content.html", "deals/content.amp.html"],
        },
        {"kind": "snippet", "id": "foot", "changed": []},
    ]
    assert not (FOLDER / "deals/content.amp.html").exists()
    assert before <= (FOLDER / "deals/content.txt").stat().st_mtime_ns


def test_what_is_pulled_and_pushed_again_differs_in_nothing(account: Client) -> None:
    create(account, "deals", description="All", options={"transactional": False})
    create(account, "raw", content={"email_rfc822": "From: a@example.test\r\n\r\nHello {{x}}\r\n"})
    account.post("/api/labs/snippets", {"id": "foot", "content": {"text": "x"}})
    run("templates", "pull")
    assert "Nothing differs: 3 " in run("templates", "push", "--delete")


@pytest.mark.parametrize("kind", ["template", "snippet"])
def test_preview_data_is_in_the_settings_and_stays_where_they_have_none(
    account: Client, kind: str
) -> None:
    path = {"template": "/api/v1/templates/foot", "snippet": "/api/labs/snippets/foot"}[kind]
    file = {"template": FOLDER / "foot", "snippet": FOLDER / "_snippets/foot"}[
        kind
    ] / f"{kind}.json"
    content = CONTENT if kind == "template" else {"html": "x"}
    body = {"id": "foot", "content": content, "preview_data": {"name": "Anna"}}
    assert account.post(path.removesuffix("/foot"), body).status == 200
    run("templates", "pull")
    fields = json.loads(file.read_text())
    assert fields["preview_data"] == {"name": "Anna"}
    assert "Nothing differs: 1 " in run("templates", "push")

    file.write_text(json.dumps(fields | {"preview_data": {"name": "Berta"}}))
    assert run("templates", "push") == f"updated {kind} foot: preview_data\n"
    assert account.get(path).results["preview_data"] == {"name": "Berta"}
    del fields["preview_data"]
    file.write_text(json.dumps(fields))
    assert "Nothing differs: 1 " in run("templates", "push")
    file.write_text(json.dumps(fields | {"preview_data": {}}))
    run("templates", "push")
    assert "preview_data" not in account.get(path).results


def test_preview_data_alone_publishes_nothing_again(account: Client) -> None:
    create(account, "deals", published=True, preview_data={"name": "Anna"})
    run("templates", "pull")
    settings("deals", preview_data={"name": "Berta"})
    [row] = json.loads(run("templates", "push", "--publish", "--json"))
    assert (row["action"], row["published"]) == ("update", False)
    account.put("/api/v1/templates/deals", {"content": {**CONTENT, "subject": "Next"}})
    run("templates", "pull")
    settings("deals", preview_data={"name": "Carla"})
    [row] = json.loads(run("templates", "push", "--publish", "--json"))
    assert (row["action"], row["published"]) == ("update", True)
    assert show(account, "deals", "?draft=false")["content"]["subject"] == "Next"


def test_push_creates_and_updates_drafts_and_names_the_changes(account: Client) -> None:
    create(account, "deals", published=True, options={"click_tracking": True})
    account.post("/api/labs/snippets", {"id": "foot", "content": {"text": "x", "html": "y"}})
    run("templates", "pull")
    settings("deals", subject="New", options={"open_tracking": False}, description="Deals")
    (FOLDER / "_snippets/foot/content.html").unlink()
    (FOLDER / "welcome").mkdir()
    (FOLDER / "welcome/content.txt").write_text("Hello")
    settings("welcome", from_="me@example.test", subject="Welcome")

    expected = [
        "update snippet foot: html",
        "update template deals: description, options, subject",
        "create template welcome as a draft (--publish publishes it)",
    ]
    output = run("templates", "push", "--dry-run")
    assert output.splitlines() == [f"would {line}" for line in expected]
    assert show(account, "deals")["content"] == CONTENT

    rows = json.loads(run("templates", "push", "--json"))
    assert [(row["action"], row["id"]) for row in rows] == [
        ("update", "foot"),
        ("update", "deals"),
        ("create", "welcome"),
    ]
    deals = show(account, "deals")
    assert (deals["content"]["subject"], deals["description"]) == ("New", "Deals")
    assert deals["options"] == {"open_tracking": False}
    assert show(account, "deals", "?draft=false")["content"] == CONTENT
    assert show(account, "welcome")["name"] == "welcome"
    assert account.get("/api/labs/snippets/foot").results["content"] == {"text": "x"}


def test_publish_publishes_all_but_what_says_that_it_is_a_draft(account: Client) -> None:
    create(account, "live", published=True)
    create(account, "draft")
    create(account, "equal", published=True)
    account.put("/api/v1/templates/live", {"content": {**CONTENT, "subject": "Next"}})
    run("templates", "pull")
    settings("new", from_="me@example.test", subject="New")
    (FOLDER / "new/content.txt").write_text("Hello")
    output = run("templates", "push", "--publish")
    assert output.splitlines() == [
        "published template live",
        "created and published template new",
    ]
    assert show(account, "live", "?draft=false")["content"]["subject"] == "Next"
    assert show(account, "new")["has_published"] is True
    assert show(account, "draft")["has_published"] is False


def test_errors_are_shown_with_file_and_line_and_nothing_is_changed(account: Client) -> None:
    create(account, "deals")
    run("templates", "pull")
    settings("deals", subject="{{end}}", name="Renamed")
    (FOLDER / "deals/content.html").write_text("<p>\n  {{if a}}\n")
    (FOLDER / "_snippets/foot").mkdir(parents=True)
    (FOLDER / "_snippets/foot/snippet.json").write_text("{}")
    (FOLDER / "_snippets/foot/content.txt").write_text("{{ a b }}")
    lines = run("templates", "push", code=1).splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "templates/_snippets/foot/content.txt:1:6",
        "templates/deals/template.json:8",
        "templates/deals/content.html:2:3",
        "postfinch",
    ]
    assert lines[-1] == "postfinch: nothing was changed"
    assert show(account, "deals")["name"] == "deals"
    assert account.get("/api/labs/snippets").results == []


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('{\n  "name": ,\n}', "template.json:2:11", "not JSON"),
        ('{\n  "colour": 1}', "template.json:2", "unknown field 'colour'"),
        ("[]", "template.json", "must be a JSON object"),
    ],
)
def test_settings_that_cannot_be_read_are_shown_with_their_line(
    account: Client, text: str, place: str, message: str
) -> None:
    settings("deals")
    (FOLDER / "deals/template.json").write_text(text)
    output = run("templates", "push", code=1)
    assert output.startswith(f"templates/deals/{place}: ")
    assert message in output


def test_content_without_settings_is_an_error_and_other_folders_are_none(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "deals").mkdir()
    (tmp_path / "deals/content.html").write_text("x")
    (fault,) = template_files.read_all(tmp_path)
    assert isinstance(fault, Fault)
    assert fault.path == tmp_path / "deals/template.json"


def test_delete_asks_first(account: Client) -> None:
    create(account, "deals")
    create(account, "old")
    run("templates", "pull")
    for path in (FOLDER / "old").iterdir():
        path.unlink()
    assert "Delete old from" in run("templates", "push", "--delete", answer="n\n", code=1)
    assert run("templates", "push", "--delete", "--dry-run") == "would delete template old\n"
    show(account, "old")
    assert "old is only" not in run("templates", "pull", "--json")
    for path in (FOLDER / "old").iterdir():
        path.unlink()
    assert run("templates", "push", "--delete", "--yes") == "deleted template old\n"
    assert account.get("/api/v1/templates/old").status == 404


def test_one_refusal_does_not_stop_the_other_changes(account: Client) -> None:
    for name in ("a", "b"):
        settings(name, from_="me@example.test", subject="x")
        (FOLDER / name / "content.txt").write_text("Hello")
    settings("a", name="x" * 2000)
    output = run("templates", "push", code=1)
    assert "template a: " in output
    assert "created template b as a draft (--publish publishes it)" in output


def test_templates_of_others_are_neither_pulled_nor_deleted(
    account: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = make_subaccount().id
    create(account, "own", shared_with_subaccounts=True)
    create(account.on_behalf_of(number), "theirs")
    run("templates", "pull")
    assert [path.name for path in FOLDER.iterdir()] == ["own"]
    assert "Nothing differs: 1 " in run("templates", "push", "--delete", "--yes")
    show(account.on_behalf_of(number), "theirs")


@pytest.mark.parametrize("item_id", [".git", "_snippets", "..", "a/b", ""])
def test_an_id_that_is_no_plain_folder_is_not_written(item_id: str) -> None:
    assert not template_files.can_have_folder(item_id)


def test_a_stored_template_and_a_folder_are_rendered(account: Client) -> None:
    create(account, "deals")
    run("templates", "pull")
    data = '{"name": "Ann"}'
    output = run("templates", "render", "deals", "--data", data)
    assert output == (
        "From: News <news@example.test>\nSubject: Deals for Ann\nX-Kind: deals\n"
        "\n--- text\nHello Ann\n\n\n--- html\n<b>Hello Ann</b>\n\n"
    )
    (FOLDER / "deals/content.html").write_text("<i>{{name}}</i>")
    Path("data.json").write_text(data)
    arguments = ("templates", "render", FOLDER / "deals", "--data", "@data.json")
    assert run(*arguments, "--html") == "<i>Ann</i>\n"
    assert json.loads(run(*arguments, "--json"))["subject"] == "Deals for Ann"
    (FOLDER / "deals/content.html").write_text("\n{{end}}")
    assert run(*arguments, code=1).startswith("templates/deals/content.html:2: ")


def test_bad_data_is_a_mistake_of_the_command_line(account: Client) -> None:
    assert "not JSON" in run("templates", "render", "x", "--data", "{", code=2)
    assert "JSON object" in run("templates", "render", "x", "--data", "[]", code=2)
    assert "cannot be read" in run("templates", "render", "x", "--data", "@none", code=2)


def test_files_of_an_item_are_read_back_as_the_same_item(tmp_path: Path) -> None:
    settings_of_item = {"name": "N", "description": "", "options": {"transactional": True}}
    settings_of_item["shared_with_subaccounts"] = True
    item = Item("template", "deals", settings_of_item, dict(CONTENT), True)
    template_files.write(tmp_path, item)
    assert template_files.read(tmp_path / "deals", "template") == item


def test_the_sample_template_of_the_service_cannot_be_deleted_and_is_no_error(
    account: Client,
) -> None:
    ensure_sample_template()
    FOLDER.mkdir()
    output = run("templates", "push", "--delete", "--yes")
    assert "belongs to the service" in output
    assert "deleted" not in output
