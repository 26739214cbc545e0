"""The audit log has the changes of webhooks, and of their secrets only that they changed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from chalicelib.core import audit
from chalicelib.core.audit import HIDDEN, Author
from chalicelib.core.request import Actor
from chalicelib.core.scope import Scope
from chalicelib.webhooks.model import Webhook
from chalicelib.webhooks.store import webhooks as webhook_store
from tests.fake_cloud import aws_requests
from tests.http_target import Reply, Target
from tests.unit.audit_lines import lines, told
from tests.unit.calling import Client

PATH = "/api/v1/webhooks"
AUTHOR = Author(1, Actor("key", "k1", "Website"), "PUT", PATH, "webhooks")
SECRET = "open-sesame"  # pragma: allowlist secret


def make(client: Client, target: Target) -> str:
    """Make a webhook with secrets of every kind; return its path."""
    body = {
        "name": "Ours",
        "target": target.url,
        "events": ["delivery"],
        "auth_type": "basic",
        "auth_credentials": {"username": "me", "password": SECRET},
        "custom_headers": {"X-Api-Key": SECRET},
        "auth_token": SECRET,
    }
    return f"{PATH}/{client.post(PATH, body).results['id']}"


def test_a_new_webhook_is_a_line_without_its_secrets(client: Client, target: Target) -> None:
    path = make(client, target)
    (webhook,) = webhook_store.of_account(1)
    text = json.dumps(lines(), default=str)
    assert SECRET not in text
    assert webhook.sealed.hex() not in text
    action, resource, name, changes = told()
    assert (action, resource, f"{PATH}/{name}") == ("POST", "webhooks", path)
    assert changes["target"] == {"from": None, "to": target.url}
    assert changes["credentials"] == {"from": None, "to": HIDDEN}


def test_a_change_tells_what_changed_and_hides_secrets(client: Client, target: Target) -> None:
    path = make(client, target)
    told()
    assert client.put(path, {"events": ["bounce"]}).status == 200
    action, resource, name, changes = told()
    assert (action, resource, f"{PATH}/{name}") == ("PUT", "webhooks", path)
    assert changes == {"events": {"from": ["delivery"], "to": ["bounce"]}}
    hidden = {"credentials": {"from": HIDDEN, "to": HIDDEN}}
    assert client.put(path, {"custom_headers": {"X-Api-Key": "other"}}).status == 200
    assert told()[3] == hidden
    for method in ("POST", "DELETE"):
        assert client.call(method, f"{path}/signing-secret").status in (200, 204)
        action, _, name, changes = told()
        assert (action, f"{PATH}/{name}", changes) == (method, path, hidden)


def test_what_changes_no_webhook_is_no_line(client: Client, target: Target) -> None:
    path = make(client, target)
    told()
    assert client.put(path, {"events": ["delivery"]}).status == 200
    assert client.delete(f"{path}/signing-secret").status == 204
    assert client.post(f"{path}/validate", None).status == 200
    target.answer = lambda _: Reply(500)
    assert client.put(path, {"custom_headers": {"X-Other": "1"}}).status == 400
    body = {"name": "Other", "target": target.url, "events": ["delivery"]}
    assert client.post(PATH, body).status == 400
    assert lines() == []


def test_a_deleted_webhook_is_a_line(client: Client, target: Target) -> None:
    path = make(client, target)
    told()
    assert client.delete(path).status == 204
    action, _, name, changes = told()
    assert (action, f"{PATH}/{name}") == ("DELETE", path)
    assert changes["name"] == {"from": "Ours", "to": None}
    assert client.delete(path).status == 404
    assert lines() == []


def test_a_change_that_another_overtook_is_one_line(client: Client, target: Target) -> None:
    webhook_id = make(client, target).rpartition("/")[2]
    told()
    scope, names = Scope(1, None), ["Between"]

    def edit(webhook: Webhook) -> Webhook:
        if names:
            name = names.pop()
            webhook_store.change(scope, webhook_id, lambda each: replace(each, name=name))
        return replace(webhook, name="Last")

    with audit.bound(AUTHOR):
        webhook_store.change(scope, webhook_id, edit)
    assert [line["changes"]["name"]["from"] for line in lines()] == ["Ours", "Between"]


@pytest.mark.cost
def test_the_lines_cost_no_request(client: Client, target: Target) -> None:
    path = make(client, target)
    with aws_requests() as requests:
        client.put(path, {"name": "Other"})
        client.delete(path)
    operations = [each.operation for each in requests]
    assert operations.count("TransactWriteItems") == 2
    assert "PutItem" not in operations
