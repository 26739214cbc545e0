"""The audit log has the changes of templates and snippets, with digests in place of contents."""

from __future__ import annotations

import pytest

from tests.unit.audit_lines import lines, told
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key, make_subaccount

pytestmark = pytest.mark.usefixtures("cloud")

TEMPLATES, SNIPPETS = "/api/v1/templates", "/api/labs/snippets"
CONTENT = {"from": "me@example.test", "subject": "Hello", "html": "<p>A long body</p>"}


@pytest.fixture
def owner(cloud: None) -> Client:
    make_account()
    return make_key()


def test_a_new_template_shows_its_subject_and_digests_of_its_bodies(owner: Client) -> None:
    body = {"id": "t1", "name": "First", "content": CONTENT, "published": True}
    assert owner.post(TEMPLATES, body).status == 200
    action, resource, name, changes = told()
    assert (action, resource, name) == ("POST", "templates", "t1")
    assert changes["name"] == {"from": None, "to": "First"}
    assert changes["subject"]["to"] == "Hello"
    assert changes["from"]["to"] == "me@example.test"
    assert changes["html"]["to"].startswith("18 bytes, SHA-256 ")
    assert changes["published"]["to"]["subject"] == "Hello"
    assert "A long body" not in str(changes)


def test_an_edit_shows_the_parts_that_changed(owner: Client) -> None:
    owner.post(TEMPLATES, {"id": "t1", "name": "First", "content": CONTENT})
    told()
    content = CONTENT | {"subject": "Good morning", "html": "<p>Another body</p>"}
    assert owner.put(f"{TEMPLATES}/t1", {"content": content}).status == 200
    *_, changes = told()
    assert changes.keys() == {"subject", "html"}
    assert changes["subject"] == {"from": "Hello", "to": "Good morning"}
    assert changes["html"]["from"] != changes["html"]["to"]
    assert owner.put(f"{TEMPLATES}/t1", {"published": True}).status == 200
    *_, changes = told()
    assert changes.keys() == {"published"}
    assert owner.put(f"{TEMPLATES}/t1", {"preview_data": {"a": "b"}}).status == 200
    assert told()[3].keys() == {"preview_data"}
    assert owner.delete(f"{TEMPLATES}/t1").status == 200
    action, _, name, changes = told()
    assert (action, name, changes["name"]) == ("DELETE", "t1", {"from": "First", "to": None})


def test_what_changes_no_template_is_no_line(owner: Client) -> None:
    owner.post(TEMPLATES, {"id": "t1", "name": "First", "content": CONTENT})
    told()
    assert owner.post(TEMPLATES, {"id": "t1", "content": CONTENT}).status == 400
    assert owner.put(f"{TEMPLATES}/t1", {"name": "First", "published": "x"}).status == 422
    assert owner.put(f"{TEMPLATES}/t2", {"name": "Second"}).status == 404
    assert owner.delete(f"{TEMPLATES}/t2").status == 404
    assert lines() == []


def test_a_snippet_is_a_line_of_its_owner(owner: Client) -> None:
    subaccount = make_subaccount().id
    client = owner.on_behalf_of(subaccount)
    body = {"id": "s1", "name": "Footer", "content": {"text": "Bye", "html": "<b>Bye</b>"}}
    assert client.post(SNIPPETS, body).status == 200
    assert lines()[0]["subaccount_id"] == subaccount
    action, resource, name, changes = told()
    assert (action, resource, name) == ("POST", "snippets", "s1")
    assert changes["text"]["to"].startswith("3 bytes")
    assert client.post(SNIPPETS, body).status == 409
    assert client.put(f"{SNIPPETS}/s1", {"content": {"text": "So long"}}).status == 200
    assert told()[3].keys() == {"text"}
    assert client.put(f"{SNIPPETS}/s1", {"content": {"text": "So long"}}).status == 200
    assert lines() == []
    assert client.delete(f"{SNIPPETS}/s1").status == 204
    assert told()[:3] == ("DELETE", "snippets", "s1")
    assert client.delete(f"{SNIPPETS}/s1").status == 404
    assert lines() == []
