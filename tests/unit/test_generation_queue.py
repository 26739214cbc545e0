"""The generation queue: each message reaches the handler of its kind, old messages too."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib import generation_queue
from chalicelib.core import queues
from chalicelib.core.queues import Received, Work
from chalicelib.generation_queue import generate_batch, kind_of
from tests.fake_cloud import queued, sqs_event

HEADS: list[tuple[str, dict[str, Any]]] = [
    ("chunk", {"transmission": "1919", "chunk": 0, "first_index": 0, "created_ms": 1}),
    ("start", {"transmission": "1919", "start": True}),
    ("seed", {"seed": {"account_id": 1, "run": "1919", "number": 0}, "not_before": 1.0}),
]


@pytest.fixture
def handled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Replace the handlers by ones that note the kind and the head of what they get."""
    handled: list[tuple[str, dict[str, Any]]] = []

    def handler(kind: str) -> Any:
        def note(message: Received) -> None:
            handled.append((kind, message.head))

        return note

    kinds = list(generation_queue._HANDLERS)
    monkeypatch.setattr(generation_queue, "_HANDLERS", {kind: handler(kind) for kind in kinds})
    return handled


@pytest.mark.parametrize(("kind", "head"), HEADS)
def test_the_head_names_the_kind(kind: str, head: dict[str, Any]) -> None:
    assert kind_of({"kind": kind} | head) == kind
    assert kind_of({"kind": kind}) == kind


@pytest.mark.parametrize(("kind", "head"), HEADS)
def test_the_kind_of_a_message_of_the_first_version_follows_from_its_other_keys(
    kind: str, head: dict[str, Any]
) -> None:
    assert kind_of(head) == kind


def test_each_message_reaches_the_handler_of_its_kind(
    cloud: None, handled: list[tuple[str, dict[str, Any]]]
) -> None:
    heads = [{"kind": kind} | head for kind, head in HEADS]
    queues.send("generation", [Work(head) for head in heads])
    assert generate_batch(sqs_event(queued("generation"))) == {"batchItemFailures": []}
    assert handled == [(head["kind"], head) for head in heads]


def test_a_message_of_an_unknown_kind_fails_alone(
    cloud: None, handled: list[tuple[str, dict[str, Any]]]
) -> None:
    queues.send("generation", [Work({"kind": "none"}), Work({"kind": "chunk"})])
    response = generate_batch(sqs_event(queued("generation")))
    assert response == {"batchItemFailures": [{"itemIdentifier": "m-0"}]}
    assert handled == [("chunk", {"kind": "chunk"})]
