"""The endpoints of relay webhooks, called as a client calls them."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.settings import settings
from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.relay_webhooks import store
from chalicelib.webhooks.model import WebhookBatch
from chalicelib.webhooks.signatures import is_valid
from chalicelib.webhooks.store import batches
from tests.fake_cloud import queued
from tests.http_target import Reply, Target
from tests.unit.calling import Client, Response
from tests.unit.people import make_key, make_subaccount
from tests.unit.received_mail.examples import stored
from tests.unit.relay_webhooks.examples import DOMAIN, make_domain

PATH = "/api/v1/relay-webhooks"
URL = "https://hooks.example.com/mail"
OAUTH = {
    "auth_type": "oauth2",
    "auth_request_details": {"url": "https://auth.example.com/token", "body": {"a": "b"}},
}


def new(domain: str = DOMAIN, **fields: Any) -> dict[str, Any]:
    return {"target": URL, "match": {"protocol": "SMTP", "domain": domain}} | fields


def make(client: Client, domain: str = DOMAIN, **fields: Any) -> str:
    make_domain(domain)
    return client.post(PATH, new(domain, **fields)).results["id"]


def named_by(domain: str) -> str:
    inbound_domain = inbound_domains.get(domain)
    assert inbound_domain is not None
    return inbound_domain.relay_webhook_id


def messages(response: Response) -> tuple[int, list[str]]:
    return response.status, [each["message"] for each in response.body["errors"]]


def test_a_relay_webhook_is_shown_as_it_was_made(client: Client) -> None:
    webhook = make(client, name="Replies", auth_token="t", custom_headers={"X-Own": "1"}, **OAUTH)
    assert webhook.isdigit()
    view = client.get(f"{PATH}/{webhook}").results
    assert view == {
        "id": webhook,
        "name": "Replies",
        "target": URL,
        "auth_token": "t",
        "auth_type": "oauth2",
        "auth_request_details": OAUTH["auth_request_details"],
        "custom_headers": {"X-Own": "1"},
        "match": {"protocol": "SMTP", "domain": DOMAIN},
        "signed": False,
        "last_successful": None,
        "last_failure": None,
    }
    assert client.get(PATH).results == [view]
    assert named_by(DOMAIN) == webhook
    item = store.get(1, webhook)
    assert item is not None
    assert b"X-Own" not in item.sealed


def test_a_key_that_only_reads_sees_no_secrets(client: Client) -> None:
    webhook = make(client, auth_token="t", custom_headers={"X-Own": "1"}, **OAUTH)
    reader = make_key(1, grants=["relay_webhooks/view"])
    view = reader.get(f"{PATH}/{webhook}").results
    assert view["auth_request_details"] == {"url": "https://auth.example.com/token"}
    assert not {"auth_token", "custom_headers"} & set(view)
    assert reader.put(f"{PATH}/{webhook}", {"name": "x"}).status == 403


def test_only_a_registered_domain_can_have_a_relay_webhook_and_only_one(client: Client) -> None:
    refusal = client.post(PATH, new("other.example.test"))
    text = "Domain 'other.example.test' is not a registered inbound domain"
    assert messages(refusal) == (400, [text])
    make(client)
    assert messages(client.post(PATH, new(DOMAIN.upper()))) == (
        409,
        [f"Domain '{DOMAIN}' is already in use"],
    )


def test_a_domain_of_another_account_is_not_registered(client: Client) -> None:
    make_domain(account_id=2)
    assert client.post(PATH, new()).status == 400
    assert named_by(DOMAIN) == ""


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"target": None}, "target is a required field"),
        ({"target": "ftp://x.example"}, "target is not a valid URL: it must begin with http"),
        ({"match": None}, "match is a required field"),
        ({"match": "SMTP"}, "match must be an object"),
        ({"match": {"protocol": "SMTP"}}, "match.domain is a required field"),
        ({"match": {"domain": 5}}, "match.domain must be a string"),
        ({"match": {"domain": "a" * 254}}, "match.domain must be a string of at most 253"),
        ({"match": {"protocol": "HTTP", "domain": DOMAIN}}, "match.protocol must be SMTP"),
        ({"auth_type": "basic"}, "auth_type must be one of: none, oauth2"),
        ({"auth_type": "oauth2"}, "auth_request_details is required for auth_type oauth2"),
    ],
)
def test_a_faulty_field_is_refused(client: Client, fields: dict[str, Any], text: str) -> None:
    make_domain()
    status, texts = messages(client.post(PATH, new(**fields)))
    assert (status, len(texts)) == (400, 1)
    assert texts[0].startswith(text)


@pytest.mark.parametrize(
    "headers",
    [
        {f"X-{number}": "1" for number in range(6)},
        {"X-Long": "a" * 2995},  # 3,001 bytes with its name
        {"X-SVC-Batch-ID": "1"},
        {"Host": "x"},
        "text",
    ],
)
def test_custom_headers_that_do_not_fit_are_refused_with_422(client: Client, headers: Any) -> None:
    make_domain()
    response = client.post(PATH, new(custom_headers=headers))
    (error,) = response.body["errors"]
    assert (response.status, error["param"]) == (422, "custom_headers")
    assert set(error) == {"param", "message", "value"}


def test_custom_headers_may_have_3000_bytes(client: Client) -> None:
    make(client, custom_headers={"X-Long": "a" * 2994})


def test_only_ports_80_and_443_are_targets_on_a_public_service(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_domain()
    monkeypatch.setenv("WEBHOOK_ANY_PORT", "false")
    settings.cache_clear()
    status, texts = messages(client.post(PATH, new(target="https://x.example:8443/")))
    assert (status, texts) == (400, ["target must use port 80 (http) or 443 (https)"])
    for target in ("https://x.example:443/", "http://x.example:80/a"):
        webhook = client.post(PATH, new(target=target)).results["id"]
        assert client.delete(f"{PATH}/{webhook}").status == 200


def test_a_change_takes_any_of_the_fields_and_keeps_the_others(client: Client) -> None:
    webhook = make(client, auth_token="t")
    path = f"{PATH}/{webhook}"
    assert client.put(path, {"name": "New"}).results == {"id": webhook}
    view = client.get(path).results
    assert (view["name"], view["target"], view["auth_token"]) == ("New", URL, "t")


@pytest.mark.parametrize("body", [{}, [], {"unknown": 1}, {"name": None, "match": None}, None])
def test_a_change_of_nothing_is_refused(client: Client, body: Any) -> None:
    response = client.put(f"{PATH}/{make(client)}", body)
    assert messages(response) == (400, ["no valid fields in body"])


def test_a_change_of_the_domain_frees_the_former_one(client: Client) -> None:
    webhook = make(client)
    make_domain("b.example.test")
    path = f"{PATH}/{webhook}"
    body = {"match": {"domain": "b.example.test"}}
    assert client.put(path, body).status == 200
    assert (named_by(DOMAIN), named_by("b.example.test")) == ("", webhook)
    other = client.post(PATH, new()).results["id"]
    assert messages(client.put(path, {"match": {"domain": DOMAIN}})) == (
        409,
        [f"Domain '{DOMAIN}' is already in use"],
    )
    assert client.put(path, {"match": {"domain": "none.test"}}).status == 400
    assert (named_by(DOMAIN), named_by("b.example.test")) == (other, webhook)


def test_a_deleted_relay_webhook_frees_its_domain(client: Client) -> None:
    webhook = make(client)
    assert client.delete(f"{PATH}/{webhook}").status == 200
    assert named_by(DOMAIN) == ""
    assert client.get(PATH).results == []
    for response in (client.get(f"{PATH}/{webhook}"), client.delete(f"{PATH}/{webhook}")):
        assert messages(response) == (404, ["Resource could not be found"])
    assert client.post(PATH, new()).status == 200


def test_a_relay_webhook_belongs_to_the_owner_of_its_domain(client: Client) -> None:
    one = make_subaccount(1).id
    make_domain(subaccount_id=one)
    assert client.post(PATH, new()).status == 400  # it is not a domain of the primary account
    subaccount = client.on_behalf_of(one)
    webhook = subaccount.post(PATH, new()).results["id"]
    assert [each["id"] for each in subaccount.get(PATH).results] == [webhook]
    assert client.on_behalf_of(0).get(PATH).results == []
    assert [each["id"] for each in client.get(PATH).results] == [webhook]
    make_domain("b.example.test")
    body = {"match": {"domain": "b.example.test"}}
    assert subaccount.put(f"{PATH}/{webhook}", body).status == 400


def test_a_validation_posts_an_example_and_shows_the_response(
    client: Client, target: Target
) -> None:
    webhook = make(client, target=target.url)
    target.answer = lambda _: Reply(200, b"thanks", {"X-Own": "1"})
    results = client.post(f"{PATH}/{webhook}/validate", {}).results
    assert results["msg"] == "Test POST to endpoint succeeded"
    assert results["response"]["status"] == 200
    assert results["response"]["body"] == "thanks"
    (post,) = target.posts
    message = post.json[0]["svc"]["relay_message"]
    assert message["rcpt_to"] == f"support+123@{DOMAIN}"
    assert message["webhook_id"] == webhook
    target.answer = lambda _: Reply(500)
    response = client.post(f"{PATH}/{webhook}/validate", {})
    assert messages(response) == (400, ["POST to webhook target URL failed"])
    assert response.error["response"]["status"] == 500


def test_a_signing_secret_signs_what_is_posted(client: Client, target: Target) -> None:
    webhook = make(client, target=target.url)
    path = f"{PATH}/{webhook}"
    secret = client.post(f"{path}/signing-secret", {}).results["signing_secret"]
    assert client.get(path).results["signed"] is True
    client.post(f"{path}/validate", {})
    assert is_valid(secret, target.posts[-1].headers, target.posts[-1].body)
    assert client.delete(f"{path}/signing-secret").status == 204
    assert client.get(path).results["signed"] is False


def test_attempts_and_payload_of_a_message_are_shown_and_it_is_posted_again(
    client: Client,
) -> None:
    webhook = make(client)
    message = stored(webhook_id=webhook, action="webhook")
    now = clock.now_ms()
    batches.record(WebhookBatch(webhook, message.id, 1, now, 9, 500, answer="busy"), None)
    (status,) = client.get(f"{PATH}/{webhook}/batch-status").results
    assert (status["batch_id"], status["attempts"]) == (message.id, 9)
    path = f"{PATH}/{webhook}/batches/{message.id}"
    details = client.get(path).results
    assert details["history"][0]["response"] == "busy"
    assert f'"relay_id":"{message.id}"' in details["payload"]
    reader = make_key(1, grants=["relay_webhooks/view"])
    assert "payload" not in reader.get(path).results
    assert client.post(f"{path}/redeliver", {}).results["batch_id"] == message.id
    assert len(queued("webhook-batches")) == 1
    for unknown in (f"{PATH}/{webhook}/batches/none", f"{PATH}/{webhook}/batches/none/redeliver"):
        method = "POST" if unknown.endswith("redeliver") else "GET"
        assert client.call(method, unknown).status == 404
