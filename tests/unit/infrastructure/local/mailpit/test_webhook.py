"""New mail is told to the user's program, each message once, and not faster than it may be."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.web_fetch import FetchFailed, Response
from infrastructure.local.gateway.mailpit_endpoint import MailpitEndpoint
from infrastructure.local.mailpit import VERSION, webhook
from infrastructure.local.mailpit.messages import Messages
from infrastructure.local.mailpit.webhook import Webhook
from infrastructure.local.mailpit.webhook_choices import WebhookChoices
from tests.unit.infrastructure.local.mailpit.mailpit_client import MailpitClient
from tests.unit.infrastructure.local.mailpit.published_fields import SUMMARY, faults

URL = "http://app.test:3000/new-mail"
EVERY = WebhookChoices(URL, interval=0)


class Target:
    """A program that is told; ``answer`` is a status or a failure."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.answer: int | FetchFailed = 200

    def __call__(
        self, url: str, body: bytes, headers: dict[str, str], *, timeout: float, private: bool
    ) -> Response:
        self.posts.append((url, json.loads(body), headers))
        assert timeout <= 5
        # A service of a Compose file has a private address
        assert private
        if isinstance(self.answer, FetchFailed):
            raise self.answer
        return Response(self.answer, b"")

    @property
    def subjects(self) -> list[str]:
        return [summary["Subject"] for _, summary, _ in self.posts]


@pytest.fixture
def client(tmp_path: Path) -> MailpitClient:
    return MailpitClient(tmp_path, {"MAILBOX_TAGS": "shop=from:shop"})


@pytest.fixture
def target() -> Target:
    return Target()


def hook(
    client: MailpitClient, target: Target, choices: WebhookChoices = EVERY, label: str = ""
) -> Webhook:
    messages: Messages = client.service.webhook._messages
    return Webhook(messages, choices, label=label, post=target)


def test_the_summary_of_each_new_message_is_posted_once(
    client: MailpitClient, target: Target
) -> None:
    client.add("before")
    sender = hook(client, target, WebhookChoices(URL, "Basic x", interval=0), label="tests é")
    client.add("one")
    sender.step(EVERY)
    client.add("two")
    client.add("three")
    for _ in range(2):
        sender.step(EVERY)
    assert target.subjects == ["one", "two", "three"]
    url, summary, headers = target.posts[0]
    assert url == URL
    assert faults(summary, SUMMARY) == []
    assert summary["Tags"] == ["shop"]
    summaries = client.get("/api/v1/messages")["messages"]
    assert summary == summaries[2]
    assert headers == {
        "User-Agent": f"Mailpit/{VERSION}",
        "Content-Type": "application/json",
        "Mailpit-Label": "tests ?",
    }


def test_messages_within_the_interval_are_left_out(
    client: MailpitClient, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrivals = {"one": 100.0, "two": 100.5, "three": 101.0, "four": 101.9}
    monkeypatch.setattr(webhook, "_arrival", lambda row: arrivals[row.subject])
    sender = hook(client, target, choices := WebhookChoices(URL))
    for subject in arrivals:
        client.add(subject)
    sender.step(choices)
    assert target.subjects == ["one", "three"]


def test_a_message_waits_for_the_delay(client: MailpitClient, target: Target) -> None:
    sender = hook(client, target, choices := WebhookChoices(URL, interval=0, delay=60))
    client.add("one")
    client.add("gone")
    sender.step(choices)
    assert target.posts == []
    client.ask("DELETE", "/api/v1/search?query=gone")
    later = clock.now() + 61
    with clock.use(lambda: later):
        sender.step(choices)
    assert target.subjects == ["one"]


@pytest.mark.parametrize(
    ("answer", "line"),
    [(500, "answered 500"), (302, "answered 302"), (FetchFailed("ETIMEDOUT", "slow"), "slow")],
)
def test_what_the_target_does_not_take_is_not_posted_again(
    client: MailpitClient,
    target: Target,
    caplog: pytest.LogCaptureFixture,
    answer: int | FetchFailed,
    line: str,
) -> None:
    target.answer = answer
    sender = hook(client, target)
    client.add("one")
    with caplog.at_level(logging.WARNING):
        sender.step(EVERY)
    assert line in caplog.text
    client.add("two")
    sender.step(EVERY)
    assert target.subjects == ["one", "two"]


def test_a_target_that_is_too_slow_misses_messages(
    client: MailpitClient, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "MOST_WAITING", 2)
    sender = hook(client, target)
    for _ in range(3):
        client.add("missed")
    sender.step(EVERY)
    client.add("one")
    sender.step(EVERY)
    assert target.subjects == ["one"]


def test_it_begins_with_the_gateway_and_ends_with_it(
    client: MailpitClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    posted = threading.Event()

    def post(*_: object, **__: object) -> Response:
        posted.set()
        return Response(200, b"")

    service = MailpitClient(tmp_path / "b", {"MAILPIT_WEBHOOK": URL}).service
    monkeypatch.setattr(service.webhook, "_post", post)

    async def run() -> bool:
        endpoint = MailpitEndpoint(lambda: service, at_start=True)
        await endpoint.start()
        await asyncio.to_thread(MailpitClient(tmp_path / "b").add)
        was_posted = await asyncio.to_thread(posted.wait, 30)
        await endpoint.stop()
        return was_posted

    assert asyncio.run(run())


def test_the_login_of_the_url_becomes_a_header() -> None:
    login = "ann:a%40b"
    choices = WebhookChoices.read({"MAILPIT_WEBHOOK": f"https://{login}@app.test/x?y"})
    assert choices
    assert (choices.url, choices.authorization) == ("https://app.test/x?y", "Basic YW5uOmFAYg==")
    assert "YW5u" not in repr(choices)
    assert WebhookChoices.read({"MAILPIT_WEBHOOK": " "}) is None


@pytest.mark.parametrize(
    "environ",
    [
        {"MAILPIT_WEBHOOK": "app.test"},
        {"MAILPIT_WEBHOOK": "ftp://app.test"},
        {"MAILPIT_WEBHOOK": "http://[x"},
        {"MAILPIT_WEBHOOK_INTERVAL": "often"},
        {"MAILPIT_WEBHOOK_DELAY": "99999999"},
    ],
)
def test_choices_that_cannot_work_are_refused(environ: Mapping[str, str]) -> None:
    with pytest.raises(ValueError, match=min(environ)):
        WebhookChoices.read({"MAILPIT_WEBHOOK": URL, **environ})
