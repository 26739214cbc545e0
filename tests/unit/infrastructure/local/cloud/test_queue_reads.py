"""The fields of a message are completed once, and then left alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from ministack.services import sqs

from infrastructure.local.cloud import queue_reads

URL = "http://localhost:4566/000000000000/queue-reads"


class Message(dict[str, Any]):
    """A message that counts how often a field is completed."""

    completions = 0

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return a field, with this value if it has none."""
        self.completions += 1
        return super().setdefault(key, default)


@pytest.fixture(autouse=True)
def repair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqs, "_ensure_msg_fields", sqs._ensure_msg_fields)
    queue_reads.install()


def receive_from(messages: list[Message]) -> list[str]:
    """Put messages in an empty queue and receive them; return their bodies."""
    sqs._HANDLERS["CreateQueue"]({"QueueName": "queue-reads"}, "")
    sqs._get_q(URL)["messages"] = list(messages)
    answer = asyncio.run(sqs._HANDLERS["ReceiveMessage"]({"MaxNumberOfMessages": 10}, URL))
    return [each["Body"] for each in answer["Messages"]]


def test_a_message_without_some_fields_is_completed() -> None:
    message = Message(id="m", body="of another service", visible_at=0.0)
    assert receive_from([message]) == ["of another service"]
    assert message.completions


def test_a_complete_message_is_left_alone() -> None:
    message = Message(id="m", body="text", visible_at=0.0)
    receive_from([message])
    message.completions = 0
    message["visible_at"] = 0.0
    assert receive_from([message]) == ["text"]
    assert not message.completions
