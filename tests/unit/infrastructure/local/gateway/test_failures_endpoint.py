"""List, add, change and delete failure rules over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infrastructure.local.gateway import failures_endpoint
from infrastructure.local.gateway.failures_endpoint import FailuresEndpoint
from infrastructure.local.sink.failure_rules import FailureRules
from tests.unit.infrastructure.local.gateway.local_client import LocalClient

FULL = {"pattern": "*@full.test", "step": "dot", "code": 452, "text": "4.2.2 Full", "times": 2}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[LocalClient]:
    rules = FailureRules(tmp_path / "rules.sqlite3")
    yield LocalClient(FailuresEndpoint(rules).routes())
    rules.close()


def add(client: LocalClient, body: Any) -> Any:
    reply = client.ask("POST", "/local/failures", body)
    assert reply.status == 201, reply.body
    return reply.json["results"]


def test_a_rule_is_added_shown_changed_and_deleted(client: LocalClient) -> None:
    added = add(client, FULL)
    expected = {**FULL, "id": added["id"], "delay": 0.0, "percent": 100}
    assert added == expected | {"enabled": True, "applied": 0}
    path = f"/local/failures/{added['id']}"
    assert client.ask("GET", path).results == added
    changed = client.ask("PUT", path, {"enabled": False, "times": None}).results
    assert changed == added | {"enabled": False, "times": None}
    assert client.ask("GET", "/local/failures").results == [changed]
    assert client.ask("DELETE", path).results == {"deleted": 1}
    assert client.ask("DELETE", path).status == 404


def test_a_rule_has_a_usual_text_for_its_code(client: LocalClient) -> None:
    texts = [add(client, {"pattern": "*", "code": code})["text"] for code in (421, 451, 550, None)]
    assert [text[:2] for text in texts] == ["4.", "4.", "5.", "5."]


def test_all_rules_are_deleted_at_once(client: LocalClient) -> None:
    add(client, FULL)
    add(client, FULL)
    assert client.ask("DELETE", "/local/failures").results == {"deleted": 2}


@pytest.mark.parametrize(
    "body",
    [
        {"step": "quit"},
        {"code": 200},
        {"code": 600},
        {"code": "451"},
        {"text": "two\r\nlines"},
        {"text": "é"},
        {"delay": -1},
        {"delay": 601},
        {"times": 0},
        {"percent": 0},
        {"percent": 101},
        {"pattern": ""},
        {"pattern": "a b"},
        {"enabled": 1},
        {"step": "connect", "pattern": "*@a.test"},
        {"unknown": 1},
        {"id": 7},
    ],
)
def test_a_malformed_rule_is_refused(client: LocalClient, body: Any) -> None:
    reply = client.ask("POST", "/local/failures", {"pattern": "*"} | body)
    assert reply.status == 400
    assert next(iter(body)) in reply.error or "pattern" in reply.error


def test_a_rule_for_every_address_must_say_so(client: LocalClient) -> None:
    reply = client.ask("POST", "/local/failures", {"step": "rcpt", "code": 452})
    assert (reply.status, reply.error) == (400, "pattern is required; * stands for every address")
    assert client.ask("GET", "/local/failures").results == []
    assert add(client, {"step": "connect"})["pattern"] == "*"


def test_there_is_a_limit_of_rules(client: LocalClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures_endpoint, "MOST_RULES", 1)
    add(client, FULL)
    assert client.ask("POST", "/local/failures", FULL).status == 409


@pytest.mark.parametrize("rule_id", ["7", "x", "9" * 30])
def test_a_rule_that_is_not_there_gives_404(client: LocalClient, rule_id: str) -> None:
    assert client.ask("GET", f"/local/failures/{rule_id}").status == 404
