"""Receive webhooks, show what came, verify signatures, fail and hang."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chalicelib.webhooks import signatures
from chalicelib.webhooks.credentials import SigningSecret
from infrastructure.local.gateway import webhook_store, webhooks_endpoint
from infrastructure.local.gateway.webhook_store import WebhookStore
from infrastructure.local.gateway.webhooks_endpoint import WebhooksEndpoint
from tests.unit.infrastructure.local.gateway.local_client import LocalClient, Reply

SECRET = signatures.draw_secret()
BODY = b'[{"svc": {}}]'


class Hooks:
    """The receiver, with what it told the live stream."""

    def __init__(self, root: Path) -> None:
        self.news: list[tuple[str, Any]] = []
        self.store = WebhookStore(root / "webhooks.sqlite3")
        endpoint = WebhooksEndpoint(self.store, lambda *news: self.news.append(news))
        self.client = LocalClient(endpoint.routes())

    def post(self, name: str = "mine", body: bytes = BODY, **headers: str) -> Reply:
        pairs = [(n.replace("_", "-").encode(), v.encode()) for n, v in headers.items()]
        return self.client.ask("POST", f"/local/webhooks/{name}", body, pairs)

    def change(self, **settings: object) -> Reply:
        return self.client.ask("PUT", "/local/webhooks/mine", settings)

    def requests(self, name: str = "mine", query: str = "") -> Any:
        return self.client.ask("GET", f"/local/webhooks/{name}/requests{query}").results


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[Hooks]:
    hooks = Hooks(tmp_path)
    yield hooks
    hooks.store.close()


def test_what_comes_is_shown_with_its_headers(hooks: Hooks) -> None:
    request_id = hooks.post(x_svc_batch_id="b1").results["id"]
    assert hooks.news == [("webhook", {"receiver": "mine", "id": request_id})]
    (entry,) = hooks.requests()
    assert entry["id"] == request_id
    assert (entry["status"], entry["size"], entry["signature"]) == (200, len(BODY), "unchecked")
    request = hooks.client.ask("GET", f"/local/webhooks/mine/requests/{request_id}").results
    assert request.items() >= entry.items()
    assert request["body"] == BODY.decode()
    assert {"name": "x-svc-batch-id", "value": "b1"} in request["headers"]
    (receiver,) = hooks.client.ask("GET", "/local/webhooks").results
    assert (receiver["name"], receiver["requests"]) == ("mine", 1)


def test_signatures_are_verified_once_the_secret_is_known(hooks: Hooks) -> None:
    signed = signatures.headers([SigningSecret(SECRET)], "b1", BODY, 1_700_000_000_000)
    hooks.post(**signed)
    hooks.post(body=b"[]", **signed)
    hooks.post()
    view = hooks.change(secret=SECRET).results
    assert view["has_secret"]
    assert "secret" not in view
    assert [each["signature"] for each in hooks.requests()] == ["missing", "invalid", "valid"]
    hooks.change(secret=None)
    assert {each["signature"] for each in hooks.requests()} == {"unchecked"}


def test_a_receiver_fails_as_often_as_it_is_told(hooks: Hooks) -> None:
    hooks.change(status=503, times=2)
    assert [hooks.post().status for _ in range(4)] == [503, 503, 200, 200]
    hooks.change(status=410)
    assert [hooks.post().status for _ in range(3)] == [410] * 3
    assert [each["status"] for each in hooks.requests()] == [410] * 3 + [200, 200, 503, 503]


def test_a_receiver_hangs_without_holding_up_others(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks_endpoint, "MOST_HANGING", 1)
    hooks.change(delay=600, times=2)

    async def hang() -> None:
        first = asyncio.create_task(hooks.client.ask_async("POST", "/local/webhooks/mine", BODY))
        while not hooks.news:
            await asyncio.sleep(0.005)
        # Beyond the limit nothing hangs, and another receiver never did
        for name in ("mine", "other"):
            reply = await hooks.client.ask_async("POST", f"/local/webhooks/{name}", BODY)
            assert reply.status == 200
        assert not first.done()
        first.cancel()

    asyncio.run(hang())


def test_old_requests_make_room(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_store, "MOST_REQUESTS", 3)
    ids = [hooks.post().results["id"] for _ in range(5)]
    assert [each["id"] for each in hooks.requests()] == ids[:1:-1]
    assert len(hooks.requests(query="?limit=2")) == 2
    monkeypatch.setattr(webhook_store, "MOST_BYTES", 100)
    last_id = hooks.post("other", b"x" * 95).results["id"]
    assert hooks.requests() == []
    assert [each["id"] for each in hooks.requests("other")] == [last_id]


def test_there_is_a_limit_of_receivers(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_store, "MOST_RECEIVERS", 1)
    hooks.post("first")
    assert hooks.post("second").status == 409
    assert hooks.change(status=500).status == 409
    assert hooks.post("first").status == 200


def test_receivers_and_requests_are_deleted(hooks: Hooks) -> None:
    hooks.post()
    hooks.post()
    target = "/local/webhooks/mine"
    assert hooks.client.ask("DELETE", f"{target}/requests").results == {"deleted": 2}
    assert hooks.requests() == []
    assert hooks.client.ask("DELETE", target).results == {"deleted": 1}
    for method, path in (("DELETE", target), ("GET", target), ("GET", f"{target}/requests/1")):
        assert hooks.client.ask(method, path).status == 404


def test_settings_and_requests_outlive_a_restart(hooks: Hooks, tmp_path: Path) -> None:
    hooks.change(status=503, secret=SECRET)
    hooks.post()
    again = Hooks(tmp_path)
    assert again.client.ask("GET", "/local/webhooks/mine").results["status"] == 503
    assert len(again.requests()) == 1
    again.store.close()


@pytest.mark.parametrize(
    "settings",
    [
        {"status": 199},
        {"status": "503"},
        {"delay": 601},
        {"times": 0},
        {"secret": "whsec_x"},
        {"unknown": 1},
    ],
)
def test_malformed_settings_are_refused(hooks: Hooks, settings: dict[str, object]) -> None:
    reply = hooks.change(**settings)
    assert reply.status == 400
    assert next(iter(settings)) in reply.error


def test_a_malformed_name_is_refused(hooks: Hooks) -> None:
    assert hooks.post("a%20b").status == 400
    assert hooks.post("x" * 65).status == 400
