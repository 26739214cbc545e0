from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from ministack.services import sqs as queues

from infrastructure.local import notices
from infrastructure.local.cloud.changes import Change
from infrastructure.local.cloud.durability import changed_documents, changes_state
from infrastructure.local.cloud.journal import ChangeJournal
from infrastructure.local.cloud.redo_log import RedoLog
from infrastructure.local.cloud.state_files import StateFiles
from infrastructure.local.notices import Notices
from tests.unit.infrastructure.clouds import LocalCloud
from tests.unit.infrastructure.local.cloud import test_kills as kills

UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def request(
    action: str, method: str = "POST", path: str = "/", service: str = "", protocol: str = "Service"
) -> Any:
    headers = [(b"x-amz-target", f"{protocol}.{action}".encode())] if action else []
    headers.append(
        (b"authorization", f"Credential=test/day/region/{service}/aws4_request".encode())
    )
    return {"type": "http", "method": method, "path": path, "headers": headers}


@pytest.mark.parametrize("action", ["GetItem", "Query", "BatchGetItem", "DescribeTable"])
def test_reads_change_nothing(action: str) -> None:
    assert not changes_state(request(action))


@pytest.mark.parametrize("action", ["PutItem", "SendMessageBatch", "ReceiveMessage"])
def test_writes_of_items_and_messages_leave_documents_as_they_are(action: str) -> None:
    assert changes_state(request(action))
    assert changed_documents(request(action)) is None


@pytest.mark.parametrize(
    ("each", "state", "documents"),
    [
        (request("CreateLogGroup"), True, ""),
        (request("CreateTable", protocol="DynamoDB_20120810"), True, "dynamodb"),
        (request("TagQueue", protocol="AmazonSQS"), True, "sqs"),
        (request("ExecuteTransaction"), True, ""),
        (request("", "GET", "/bucket/key", "s3"), False, None),
        (request("", "PUT", "/bucket/key", "s3"), True, None),
        (request("", "PUT", "/bucket", "s3"), True, ""),
        (request("", "PUT", "/bucket/", "s3"), True, ""),
        (request("", "POST", "/2015-03-31/functions", "lambda"), True, ""),
        (request("", "POST", "/2015-03-31/functions/name/invocations", "lambda"), True, None),
        ({"type": "websocket"}, False, None),
    ],
)
def test_other_requests_are_told_apart(each: Any, state: bool, documents: str | None) -> None:
    assert (changes_state(each), changed_documents(each)) == (state, documents)


def change(number: int) -> Change:
    return Change(("item", str(number)), b"{}")


def test_what_could_not_be_written_is_written_first_when_that_is_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = RedoLog.create(tmp_path / "log-1")
    journal = ChangeJournal(log, queues._queues_lock, lambda: None, lambda size: None)
    journal.note(change(1))
    monkeypatch.setattr(log, "append", _raise_full)
    with pytest.raises(OSError, match="full"):
        journal.commit()
    for _ in range(2):
        with pytest.raises(OSError, match="full"):
            journal.make_room(1)
    monkeypatch.undo()
    journal.note(lambda: change(2))
    journal.make_room(1)
    assert list(StateFiles(tmp_path).log_changes()) == [change(1), change(2)]
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        f"the local cloud cannot write {tmp_path} (the disk is full): "
        "it refuses what it cannot store, until it can"
    )


def _raise_full(content: bytes) -> None:
    raise OSError(28, "the disk is full")


def full_disk(cloud: LocalCloud) -> None:
    """Let no file of the cloud grow beyond the room that its log has."""
    assert cloud.process is not None
    size = max(path.stat().st_size for path in (cloud.data / "state").glob("log-*"))
    resource.prlimit(cloud.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def first_refusal(call: Callable[[], Any]) -> tuple[int, str]:
    """Repeat a write until it does not fit; return how it is refused."""
    for _ in range(1_000):
        try:
            call()
        except ClientError as error:
            return status_and_code(error)
    raise AssertionError("it was never refused")


def refusal(call: Callable[[], Any]) -> tuple[int, str]:
    with pytest.raises(ClientError) as error:
        call()
    return status_and_code(error.value)


def status_and_code(error: ClientError) -> tuple[int, str]:
    response = error.response
    return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="Linux limits another process")
def test_a_full_disk_refuses_writes_until_there_is_room_and_loses_nothing(
    local_cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    supervisor = Notices(local_cloud.data / "notices")
    monkeypatch.setenv(notices.VARIABLE, str(local_cloud.data / "notices"))
    local_cloud.stop()
    local_cloud.start()
    assert local_cloud.process is not None
    kills.create_resources(local_cloud)
    dynamodb, sqs = local_cloud.client("dynamodb"), local_cloud.client("sqs")
    url = kills.url(sqs)
    numbers: list[int] = []
    bodies: list[str] = []

    def put() -> None:
        item = {"pk": {"S": "large"}, "sk": {"S": str(len(numbers))}, "text": {"S": "x" * 300_000}}
        dynamodb.put_item(TableName=kills.TABLE, Item=item)
        numbers.append(len(numbers))

    def send() -> None:
        sqs.send_message(QueueUrl=url, MessageBody=f"{len(bodies)}" + "x" * 10_000)
        bodies.append(f"{len(bodies)}" + "x" * 10_000)

    def receive() -> None:
        sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)

    full_disk(local_cloud)
    for write in (put, send, receive, put, send, lambda: sqs.create_queue(QueueName="another")):
        assert first_refusal(write) == (503, "ServiceUnavailable")
        assert kills.number_at(dynamodb, "none", "none") == 0
    supervisor.show()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("(File too large): it refuses what it cannot store, until it can")
    resource.prlimit(local_cloud.process.pid, resource.RLIMIT_FSIZE, UNLIMITED)
    put()
    local_cloud.stop(signal.SIGKILL)
    local_cloud.start()
    pages = (
        local_cloud.client("dynamodb")
        .get_paginator("query")
        .paginate(
            TableName=kills.TABLE,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": "large"}},
        )
    )
    assert {int(item["sk"]["S"]) for page in pages for item in page["Items"]} == set(numbers)
    assert sorted(kills.remaining(local_cloud.client("sqs"))) == sorted(bodies)


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="Linux limits another process")
def test_an_object_that_cannot_be_written_is_refused(local_cloud: LocalCloud) -> None:
    assert local_cloud.process is not None
    kills.create_resources(local_cloud)
    client = local_cloud.client("s3")
    limit = (1 << 20, resource.RLIM_INFINITY)
    resource.prlimit(local_cloud.process.pid, resource.RLIMIT_FSIZE, limit)
    body = os.urandom(2 << 20)
    put = {"Bucket": kills.BUCKET, "Key": "large/object", "Body": body}
    assert refusal(lambda: client.put_object(**put)) == (503, "ServiceUnavailable")
    resource.prlimit(local_cloud.process.pid, resource.RLIMIT_FSIZE, UNLIMITED)
    client.put_object(**put)
    local_cloud.stop(signal.SIGKILL)
    local_cloud.start()
    response = local_cloud.client("s3").get_object(Bucket=kills.BUCKET, Key="large/object")
    assert response["Body"].read() == body
