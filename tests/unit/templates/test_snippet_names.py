"""Where a snippet is used: ``GET /snippets/{id}/templates``."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.dynamo import Table
from chalicelib.core.scope import Scope
from chalicelib.templates import snippet_names
from chalicelib.templates.snippet_names import snippets_in
from chalicelib.templates.store import records
from tests.fake_cloud import aws_requests
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key, make_subaccount

TEMPLATES, SNIPPETS = "/api/v1/templates", "/api/labs/snippets"
USES = '{{ render_snippet("footer") }}'


@pytest.fixture
def client(cloud: None) -> Client:
    make_account(1)
    client = make_key(1)
    make_snippet(client)
    return client


def make_snippet(client: Client, snippet_id: str = "footer") -> None:
    assert client.post(SNIPPETS, {"id": snippet_id, "content": {"text": "x"}}).status == 200


def content(text: str = "x", **parts: str) -> dict[str, Any]:
    return {"from": "me@example.test", "subject": "s", "text": text, **parts}


def make(client: Client, template_id: str, text: str, **fields: Any) -> None:
    body = {"id": template_id, "name": "Ours", "content": content(text), **fields}
    assert client.post(TEMPLATES, body).status == 200


def users(client: Client, snippet_id: str = "footer") -> dict[str, tuple[bool, bool]]:
    """Return by id which of draft and published version of each template use a snippet."""
    rows = client.get(f"{SNIPPETS}/{snippet_id}/templates").results
    return {row["id"]: (row["draft"], row["published"]) for row in rows}


def test_the_snippets_of_every_part_are_found() -> None:
    parts = content(
        "{{ render_snippet('b') }}{{ render_snippet('b') }}{{ render_snippet(x) }}",
        html='{{if a}}{{{ render_snippet ( "a" ) }}}{{end}} render_snippet("no")',
        subject="{{ render_snippet('c') }}",
    )
    assert snippets_in(parts) == ("a", "b", "c")
    assert snippets_in(parts | {"text": "{{ render_snippet('no id!') }}"}) == ("a", "c")
    raw = f"Subject: x\nContent-Type: text/html\n\n<p>{USES}\n"
    assert snippets_in({"email_rfc822": raw}) == ("footer",)
    many = "".join(f"{{{{ render_snippet('s{n:03d}') }}}}" for n in range(120))
    assert len(snippets_in(content(many))) == snippet_names.MOST


def test_the_draft_and_the_published_version_are_told_apart(client: Client) -> None:
    make(client, "both", USES, published=True)
    make(client, "draft", USES)
    make(client, "neither", "x", published=True)
    assert users(client) == {"both": (True, True), "draft": (True, False)}
    client.put(f"{TEMPLATES}/both", {"content": content()})
    client.put(f"{TEMPLATES}/neither?update_published=true", {"content": content(USES)})
    client.put(f"{TEMPLATES}/draft", {"name": "New name"})
    assert users(client) == {
        "both": (False, True),
        "draft": (True, False),
        "neither": (False, True),
    }
    client.put(f"{TEMPLATES}/draft", {"published": True})
    assert users(client)["draft"] == (True, True)
    (row,) = [
        each for each in client.get(f"{SNIPPETS}/footer/templates").results if each["id"] == "draft"
    ]
    assert row == {"id": "draft", "name": "New name", "draft": True, "published": True}


def test_templates_of_earlier_versions_are_read(client: Client) -> None:
    make(client, "old", USES, published=True)
    template = records.get(1, None, "old")
    assert template is not None
    key = records.head(template)
    item = Table("config").get(*key)
    assert item is not None
    for name in ("draft", "published"):
        assert item[name].pop("snippets") == ["footer"]
    Table("config").put(item)
    assert users(client) == {"old": (True, True)}


def test_templates_of_others_are_not_shown(client: Client) -> None:
    subaccount = client.on_behalf_of(make_subaccount(1).id)
    make_snippet(subaccount)
    make(client, "of-account", USES, shared_with_subaccounts=True)
    make(subaccount, "of-subaccount", USES)
    assert users(subaccount).keys() == {"of-account", "of-subaccount"}
    assert users(client.on_behalf_of(0)).keys() == {"of-account"}
    assert users(client).keys() == {"of-account", "of-subaccount"}
    make_account(2)
    assert make_key(2).get(f"{SNIPPETS}/footer/templates").status == 404
    assert (
        make_key(1, grants=("templates/modify",)).get(f"{SNIPPETS}/footer/templates").status == 403
    )


@pytest.mark.cost
def test_where_a_snippet_is_used_costs_a_list_of_the_templates(client: Client) -> None:
    for n in range(5):
        make(client, f"t{n}", USES)
    with aws_requests() as requests:
        assert len(list(records.naming_snippet(Scope(1, None), "footer"))) == 5
    assert len(requests) == 1
