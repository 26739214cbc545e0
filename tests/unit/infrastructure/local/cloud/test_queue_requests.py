"""Compare the requests that are answered from the store with MiniStack's own handlers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.infrastructure.local.cloud.in_process import InProcessCloud, in_process_cloud

SQS = "AmazonSQS"
# Ids and receipts are different each time
_RANDOM = re.compile(r"([0-9a-f]+/)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessCloud]:
    with in_process_cloud(tmp_path_factory.mktemp("queues") / "cloud") as cloud:
        yield cloud


class Client:
    """Asks one of the handlers, for a queue with three messages of which one was received."""

    def __init__(self, cloud: InProcessCloud, *, of_ministack: bool) -> None:
        self._ask = cloud.answer_of_ministack if of_ministack else cloud.answer
        self.receipt = ""
        self.url = self.ask("CreateQueue", {"QueueName": "queue"})[1]["QueueUrl"]
        for number in range(3):
            self.ask("SendMessage", {"QueueUrl": self.url, "MessageBody": f"body {number}"})
        (message,) = self.ask("ReceiveMessage", {"QueueUrl": self.url})[1]["Messages"]
        self.receipt = message["ReceiptHandle"]

    def ask(self, action: str, request: Any) -> Any:
        return self._ask(action, request, SQS)

    def outcomes(self, action: str, request: Any) -> Any:
        """Return the answer to a request, and what is in the queue afterwards, in any order."""
        answer = self.ask(action, self._filled(request))
        counts = self.ask("GetQueueAttributes", {"QueueUrl": self.url, "AttributeNames": COUNTS})
        rest = self.ask("ReceiveMessage", {"QueueUrl": self.url, "MaxNumberOfMessages": 10})
        self.ask("DeleteQueue", {"QueueUrl": self.url})
        bodies = sorted(each["Body"] for each in rest[1].get("Messages", []))
        return comparable([answer, counts, bodies])

    def _filled(self, request: Any) -> Any:
        values = {"QueueUrl": self.url, "ReceiptHandle": self.receipt}
        entries = [
            {name: values[name] if each is True else each for name, each in entry.items()}
            for entry in request.get("Entries", [])
        ]
        request = {"QueueUrl": self.url} | request | ({"Entries": entries} if entries else {})
        return {name: values[name] if each is True else each for name, each in request.items()}


def comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: comparable(each) for name, each in value.items() if "Timestamp" not in name}
    if isinstance(value, list | tuple):
        return [comparable(each) for each in value]
    return _RANDOM.sub("random", value) if isinstance(value, str) else value


COUNTS = [
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
]


def entry(number: int, **members: Any) -> Any:
    return {"Id": str(number)} | members


def entries(*each: Any) -> Any:
    return {"Entries": list(each)}


ATTRIBUTES = {"MessageAttributes": {"a": {"DataType": "String", "StringValue": "v"}}}
A, B = entry(1, MessageBody="a"), entry(2, MessageBody="b")
# For a value that is ``True`` stands that of the queue or of the message that was received
REQUESTS: list[tuple[str, Any]] = [
    ("SendMessage", {"MessageBody": "body"}),
    ("SendMessage", {"MessageBody": "zwei\nZeilen \U0001f600"}),
    ("SendMessage", {"MessageBody": ""}),
    ("SendMessage", {"MessageBody": "\x00"}),
    ("SendMessage", {}),
    ("SendMessage", {"MessageBody": "x" * (1 << 20)}),
    ("SendMessage", {"MessageBody": "x" * ((1 << 20) + 1)}),
    ("SendMessage", {"MessageBody": "late", "DelaySeconds": 900}),
    ("SendMessage", {"MessageBody": "late", "DelaySeconds": 901}),
    ("SendMessage", {"MessageBody": "group", "MessageGroupId": "g"}),
    ("SendMessage", {"MessageBody": "group", "MessageGroupId": "g" * 200}),
    ("SendMessage", {"MessageBody": "b", "MessageDeduplicationId": "d"}),
    ("SendMessage", {"MessageBody": "b"} | ATTRIBUTES),
    ("SendMessage", {"QueueUrl": "http://localhost:4566/000000000000/none", "MessageBody": "b"}),
    ("SendMessageBatch", entries(A, B)),
    ("SendMessageBatch", entries(A, A)),
    ("SendMessageBatch", entries(A, entry(2))),
    ("SendMessageBatch", entries(A | {"Id": "a b"})),
    ("SendMessageBatch", entries(*(entry(number, MessageBody="a") for number in range(11)))),
    ("SendMessageBatch", entries(*(each | {"MessageBody": "x" * 600_000} for each in (A, B)))),
    ("SendMessageBatch", {"Entries": []}),
    ("ReceiveMessage", {}),
    ("ReceiveMessage", {"MaxNumberOfMessages": 2, "VisibilityTimeout": 0}),
    ("ReceiveMessage", {"MaxNumberOfMessages": 0}),
    ("ReceiveMessage", {"MaxNumberOfMessages": 11}),
    ("ReceiveMessage", {"VisibilityTimeout": 43_201}),
    ("ReceiveMessage", {"WaitTimeSeconds": 21}),
    ("ReceiveMessage", {"AttributeNames": ["All"], "MessageAttributeNames": ["All"]}),
    ("ReceiveMessage", {"MessageSystemAttributeNames": ["ApproximateReceiveCount", "SenderId"]}),
    ("ReceiveMessage", {"AttributeNames": ["Unknown"]}),
    ("ReceiveMessage", {"ReceiveRequestAttemptId": "a"}),
    ("DeleteMessage", {"ReceiptHandle": True}),
    ("DeleteMessage", {"ReceiptHandle": "other"}),
    ("DeleteMessage", {}),
    ("DeleteMessageBatch", entries(entry(1, ReceiptHandle=True))),
    ("DeleteMessageBatch", entries(entry(1, ReceiptHandle="1-b"), entry(2, ReceiptHandle=True))),
    ("DeleteMessageBatch", entries(entry(1))),
    ("ChangeMessageVisibility", {"ReceiptHandle": True, "VisibilityTimeout": 0}),
    ("ChangeMessageVisibility", {"ReceiptHandle": True, "VisibilityTimeout": 60}),
    ("ChangeMessageVisibility", {"ReceiptHandle": True, "VisibilityTimeout": 43_201}),
    ("ChangeMessageVisibility", {"ReceiptHandle": True}),
    ("ChangeMessageVisibility", {"ReceiptHandle": "other", "VisibilityTimeout": 0}),
    ("ChangeMessageVisibilityBatch", entries(entry(1, ReceiptHandle=True, VisibilityTimeout=0))),
    ("ChangeMessageVisibilityBatch", entries(entry(1, ReceiptHandle=True, VisibilityTimeout=-1))),
    ("GetQueueAttributes", {}),
    ("GetQueueAttributes", {"AttributeNames": ["All"]}),
    ("GetQueueAttributes", {"AttributeNames": ["VisibilityTimeout", "QueueArn"]}),
    ("GetQueueAttributes", {"AttributeNames": ["Unknown"]}),
    ("GetQueueAttributes", {"AttributeNames": ["RedrivePolicy"]}),
    ("PurgeQueue", {}),
]


@pytest.mark.parametrize("number", range(len(REQUESTS)))
def test_requests_are_answered_as_by_ministack(cloud: InProcessCloud, number: int) -> None:
    expected = Client(cloud, of_ministack=True).outcomes(*REQUESTS[number])
    assert Client(cloud, of_ministack=False).outcomes(*REQUESTS[number]) == expected


def test_a_message_that_failed_too_often_is_moved_as_by_ministack(cloud: InProcessCloud) -> None:
    results = []
    for ask in (cloud.answer_of_ministack, cloud.answer):
        dead = ask("CreateQueue", {"QueueName": "dead"}, SQS)[1]["QueueUrl"]
        account = dead.split("/")[-2]
        policy = {"deadLetterTargetArn": f"arn:aws:sqs:us-east-1:{account}:dead"}
        redrive = json.dumps(policy | {"maxReceiveCount": "2"})
        request = {"QueueName": "queue", "Attributes": {"RedrivePolicy": redrive}}
        queue = ask("CreateQueue", request, SQS)[1]["QueueUrl"]
        ask("SendMessage", {"QueueUrl": queue, "MessageBody": "body"}, SQS)
        receive = {"QueueUrl": queue, "VisibilityTimeout": 0}
        answers = [ask("ReceiveMessage", receive, SQS) for _ in range(3)]
        receive = {"QueueUrl": dead, "AttributeNames": ["All"]}
        results.append(comparable([*answers, ask("ReceiveMessage", receive, SQS)]))
        for url in (queue, dead):
            ask("DeleteQueue", {"QueueUrl": url}, SQS)
    assert results[0] == results[1]
    assert [len(answer.get("Messages", [])) for _, answer in results[1]] == [1, 1, 0, 1]


@pytest.mark.parametrize(
    "members",
    [
        {"MessageBody": 5},
        {"MessageBody": ["x"]},
        {"MessageBody": "body", "DelaySeconds": "soon"},
        {"MessageBody": "body", "MessageAttributes": 5},
        {"MessageBody": "\ud800"},
    ],
)
def test_members_of_a_wrong_type_are_refused(cloud: InProcessCloud, members: Any) -> None:
    queue = cloud.answer("CreateQueue", {"QueueName": "queue"}, SQS)[1]["QueueUrl"]
    assert cloud.answer("SendMessage", {"QueueUrl": queue, **members}, SQS)[0] == 400
    assert cloud.answer("ReceiveMessage", {"QueueUrl": queue}, SQS) == (200, {})


@pytest.mark.parametrize("request_", [5, [], {"TransactItems": 5}, {"TransactItems": [5]}])
def test_a_transaction_that_is_none_is_refused(cloud: InProcessCloud, request_: Any) -> None:
    status, answer = cloud.answer("TransactWriteItems", request_)
    assert status == 400
    assert "__type" in answer
