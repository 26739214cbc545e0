"""What a transmission sent, by ``GET /transmissions/{id}/content``."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.settings import settings
from chalicelib.sending_domains import store as domains
from chalicelib.transmissions.start import start
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key, make_subaccount
from tests.unit.sending_domains.examples import domain

PATH = "/api/v1/transmissions"
NOON = 1_769_860_800.0  # 2026-01-31T12:00:00Z
CONTENT = {"from": "me@mail.example.test", "subject": "Hi {{ name }}", "text": "Hello"}


@pytest.fixture
def client(cloud: None) -> Client:
    make_account(1)
    domains.create(domain())
    return make_key(1)


def send(client: Client, content: dict[str, Any], **fields: Any) -> str:
    body = {"recipients": [{"address": "you@inbox.test"}], "content": content, **fields}
    transmission_id: str = client.post(PATH, body).results["id"]
    return transmission_id


def content_of(client: Client, transmission_id: str) -> Any:
    return client.get(f"{PATH}/{transmission_id}/content").results


def test_inline_content_is_shown_before_substitution(client: Client) -> None:
    with clock.use(lambda: NOON):
        results = content_of(client, send(client, CONTENT, substitution_data={"name": "Ann"}))
    assert results == {
        "source": "inline",
        "final": True,
        "content": CONTENT,
        "truncated": [],
        "stored_until": "2026-03-02T12:00:00+00:00",
    }


def test_files_are_shown_without_their_data(client: Client) -> None:
    data = base64.b64encode(b"12345").decode()
    file = {"name": "a.txt", "type": "text/plain", "data": data}
    results = content_of(client, send(client, CONTENT | {"attachments": [file]}))
    expected = {"name": "a.txt", "type": "text/plain", "size": 5}
    assert results["content"]["attachments"] == [expected]
    assert data not in str(results)


def test_the_version_of_a_template_that_was_used_is_shown(client: Client) -> None:
    template = {"id": "t", "content": CONTENT, "published": True}
    client.post("/api/v1/templates", template)
    transmission_id = send(client, {"template_id": "t"})
    client.put("/api/v1/templates/t?update_published=true", {"content": CONTENT | {"text": "New"}})
    results = content_of(client, transmission_id)
    assert results["content"] == CONTENT
    assert (results["source"], results["final"], results["template_version"]) == (
        *("template", True),
        1,
    )
    assert (results["template_id"], results["use_draft_template"]) == ("t", False)
    client.delete("/api/v1/templates/t")
    assert content_of(client, transmission_id)["content"] == CONTENT


def test_a_scheduled_template_is_not_final_until_it_starts(client: Client) -> None:
    client.post("/api/v1/templates", {"id": "t", "content": CONTENT, "published": True})
    with clock.use(lambda: NOON):
        options = {"start_time": "2026-01-31T13:00:00+00:00"}
        transmission_id = send(client, {"template_id": "t"}, options=options)
        results = content_of(client, transmission_id)
        assert (results["final"], results["content"]) == (False, {"template_id": "t"})
        assert "template_version" not in results
    with clock.use(lambda: NOON + 3600):
        start(transmission_id)
        results = content_of(client, transmission_id)
    assert (results["final"], results["content"]) == (True, CONTENT)


def test_a_whole_message_is_shown_as_its_text(client: Client) -> None:
    raw = "From: me@mail.example.test\nSubject: x\n\nHello é\n"
    results = content_of(client, send(client, {"email_rfc822": raw}))
    assert results["content"]["email_rfc822"].endswith("Hello é\n")
    assert results["source"] == "inline"


def test_a_text_that_no_reply_has_room_for_is_cut(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    transmission_id = send(client, CONTENT | {"html": "é" * 5000})
    monkeypatch.setenv("MAX_REPLY_BYTES", "8000")
    settings.cache_clear()
    results = content_of(client, transmission_id)
    assert results["content"] == CONTENT | {"html": "é" * 1000, "text": ""}
    assert results["truncated"] == ["html", "text"]


def test_the_content_belongs_to_its_sender(client: Client) -> None:
    transmission_id = send(client, CONTENT)
    path = f"{PATH}/{transmission_id}/content"
    assert client.on_behalf_of(make_subaccount(1).id).get(path).status == 404
    assert client.get(f"{PATH}/123/content").error["code"] == "1600"
    assert make_key(1, grants=("transmissions/modify",)).get(path).status == 403
