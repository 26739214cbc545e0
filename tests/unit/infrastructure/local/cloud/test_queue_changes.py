from __future__ import annotations

import json
import random
import signal
from typing import Any

import pytest

from infrastructure.local import notices
from infrastructure.local.cloud.queue_changes import _missing
from infrastructure.local.notices import Notices
from tests.unit.infrastructure.clouds import LocalCloud


def test_all_messages_that_a_shorter_list_lacks_are_noticed() -> None:
    draw = random.Random(1)
    for length in range(12):
        for _ in range(30):
            before: list[Any] = [{"id": str(number)} for number in range(length)]
            after = [message for message in before if draw.random() < 0.6]
            missing = list(_missing(before, after))
            assert missing == [message for message in before if message not in after]


def test_a_dead_letter_is_told_once_and_stays_dead_after_a_kill(
    local_cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    supervisor = Notices(local_cloud.data / "notices")
    monkeypatch.setenv(notices.VARIABLE, str(local_cloud.data / "notices"))
    local_cloud.stop()
    local_cloud.start()
    client = local_cloud.client("sqs")
    client.create_queue(QueueName="dead")
    policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead"}
    policy = json.dumps(policy | {"maxReceiveCount": 1})
    work = client.create_queue(QueueName="work", Attributes={"RedrivePolicy": policy})["QueueUrl"]
    for body in ("a", "b"):
        client.send_message(QueueUrl=work, MessageBody=body)
    for _ in range(2):
        client.receive_message(QueueUrl=work, MaxNumberOfMessages=10, VisibilityTimeout=0)
    supervisor.show()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("a message failed too often and is not handled")
    local_cloud.stop(signal.SIGKILL)
    local_cloud.start()
    client = local_cloud.client("sqs")
    bodies = [
        [
            message["Body"]
            for message in client.receive_message(
                QueueUrl=f"{local_cloud.url}/000000000000/{queue}", MaxNumberOfMessages=10
            ).get("Messages", [])
        ]
        for queue in ("work", "dead")
    ]
    assert bodies == [[], ["a", "b"]]
