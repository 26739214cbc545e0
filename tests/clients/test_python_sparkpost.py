"""Use the service with the Python client library `sparkpost`; only address and key differ."""

from __future__ import annotations

from email import message_from_bytes
from typing import Any

import pytest
from sparkpost import SparkPost
from sparkpost.exceptions import SparkPostAPIException

from tests.clients.programs import Ports
from tests.journey.service import KEY, Service, eventually

CONTENT = {
    "from_email": "hello@example.test",
    "subject": "Dear {{name}}",
    "text": "Dear {{name}}",
}


@pytest.fixture
def client(ports: Ports, monkeypatch: pytest.MonkeyPatch) -> SparkPost:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", ports.authority)
    return SparkPost(KEY, f"localhost:{ports.api_tls}")


def send(client: SparkPost, **fields: Any) -> Any:
    return client.transmissions.send(
        **{"from_email": "Test <hello@example.test>", "subject": "Library", **fields}
    )


@pytest.mark.spec("4.1-t1")
def test_the_library_sends_with_copies_attachments_and_headers(
    service: Service, client: SparkPost
) -> None:
    response = send(
        client,
        recipients=["Ann <ann@library.test>"],
        cc=["carl@library.test"],
        bcc=["bert@library.test"],
        html="<p>Hello {{name}}</p>",
        text="Hello {{name}}",
        substitution_data={"name": "all"},
        custom_headers={"X-Own": "kept"},
        attachments=[{"type": "text/plain", "name": "a.txt", "data": "aGVsbG8="}],
        track_opens=False,
        track_clicks=False,
        campaign="library",
    )
    assert (response["total_accepted_recipients"], response["total_rejected_recipients"]) == (3, 0)
    [copy] = service.arrived("bert@library.test")
    message = message_from_bytes(copy)
    assert message["To"] == "Ann <ann@library.test>"
    assert (message["Cc"], message["X-Own"]) == ("carl@library.test", "kept")
    names = [part.get_filename() for part in message.walk() if part.get_filename()]
    assert names == ["a.txt"]
    assert service.arrived("ann@library.test")
    assert service.arrived("carl@library.test")


@pytest.mark.spec("4.1-r6")
def test_a_rejected_transmission_raises_the_exception_of_the_library(client: SparkPost) -> None:
    with pytest.raises(SparkPostAPIException) as refusal:
        send(client, recipients=["ann@library.test"], from_email="x@not-ours.test", text="x")
    assert refusal.value.status == 400
    assert "Invalid domain Code: 7001" in refusal.value.errors[0]


def test_the_library_stores_templates_and_sends_them(service: Service, client: SparkPost) -> None:
    template = client.templates.create(
        id="from-library",
        name="From the library",
        **CONTENT,
        published=True,
    )
    assert template["id"] == "from-library"
    assert client.templates.get("from-library")["name"] == "From the library"
    assert "from-library" in [each["id"] for each in client.templates.list()]
    preview = client.templates.preview("from-library", {"name": "Ann"})
    assert preview["subject"] == "Dear Ann"
    client.transmissions.send(
        recipients=[{"address": "tim@library.test", "substitution_data": {"name": "Tim"}}],
        template="from-library",
    )
    [arrived] = service.arrived("tim@library.test")
    assert message_from_bytes(arrived)["Subject"] == "Dear Tim"
    client.templates.update("from-library", **CONTENT, name="Renamed")
    assert client.templates.get("from-library")["name"] == "Renamed"
    client.templates.delete("from-library")
    assert "from-library" not in [each["id"] for each in client.templates.list()]


def test_the_library_edits_the_suppression_list(client: SparkPost) -> None:
    client.suppression_list.create({"email": "no@library.test", "type": "transactional"})
    entry = {"recipient": "never@library.test", "type": "non_transactional"}
    client.suppression_list.create([entry])
    client.suppression_list.update([{"email": "later@library.test", "transactional": True}])
    [entry] = client.suppression_list.get("no@library.test")
    assert (entry["recipient"], entry["transactional"]) == ("no@library.test", True)
    recipients = {entry["recipient"] for entry in client.suppression_list.list()}
    assert {"no@library.test", "never@library.test", "later@library.test"} <= recipients
    assert client.suppression_list.delete("no@library.test") is True
    with pytest.raises(SparkPostAPIException) as missing:
        client.suppression_list.get("no@library.test")
    assert missing.value.status == 404


def test_the_library_stores_recipient_lists_and_sends_to_them(
    service: Service, client: SparkPost
) -> None:
    recipient_list = client.recipient_lists.create(
        id="library", name="Library", recipients=[{"address": {"email": "lea@library.test"}}]
    )
    assert recipient_list["total_accepted_recipients"] == 1
    assert client.recipient_lists.get("library", True)["recipients"][0]["address"]["email"]
    send(client, recipient_list="library", text="To the list")
    assert service.arrived("lea@library.test")


def test_the_library_lists_campaigns_and_domains(service: Service, client: SparkPost) -> None:
    send(client, recipients=["max@counted.test"], text="Count me", campaign="counted by library")
    service.arrived("max@counted.test")
    since = {"from": "2020-01-01T00:00"}
    eventually(lambda: "counted by library" in client.metrics.campaigns.list(params=since))
    assert "counted.test" in client.metrics.domains.list(params=since)
