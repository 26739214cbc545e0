from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from ministack.services import dynamodb

from infrastructure.local import notices
from infrastructure.local.cloud import server, store
from infrastructure.local.cloud.requests import changes_state, may_declare
from infrastructure.local.cloud.store import DamagedState, Store
from infrastructure.local.notices import Notices
from tests.free_ports import free_port
from tests.unit.infrastructure.clouds import ROOT, LocalCloud, eventually
from tests.unit.infrastructure.local.cloud import test_kills as kills
from tests.unit.infrastructure.local.cloud.in_process import InProcessCloud, in_process_cloud

UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
can_limit = pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="Linux limits another process"
)


def request(action: str, method: str = "POST", path: str = "/", service: str = "") -> Any:
    headers = [(b"x-amz-target", f"Service.{action}".encode())] if action else []
    headers.append(
        (b"authorization", f"Credential=test/day/region/{service}/aws4_request".encode())
    )
    return {"type": "http", "method": method, "path": path, "headers": headers}


@pytest.mark.parametrize(
    ("action", "each", "changes", "declares"),
    [
        ("DescribeKey", request("DescribeKey"), False, True),
        ("CreateLogGroup", request("CreateLogGroup"), True, True),
        ("Encrypt", request("Encrypt"), True, False),
        ("", request("", "GET", "/bucket/key", "s3"), False, False),
        ("", request("", "PUT", "/bucket/key", "s3"), True, False),
        ("", request("", "PUT", "/bucket", "s3"), True, True),
        ("", request("", "PUT", "/bucket/", "s3"), True, True),
        ("", request("", "POST", "/2015-03-31/functions", "lambda"), True, True),
        ("", request("", "POST", "/2015-03-31/functions/f/invocations", "lambda"), True, False),
    ],
)
def test_requests_that_change_declarations_are_told_apart(
    action: str, each: Any, changes: bool, declares: bool
) -> None:
    assert changes_state(each, action) == changes
    if changes:
        assert may_declare(each, action) == declares


def limit_files(cloud: LocalCloud, limit: int) -> None:
    """Let no file of the cloud grow beyond so many bytes."""
    assert cloud.process is not None
    resource.prlimit(cloud.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


def first_refusal(call: Callable[[], Any]) -> tuple[int, str]:
    """Repeat a write until it does not fit; return how it is refused."""
    for _ in range(1_000):
        try:
            call()
        except ClientError as error:
            return status_and_code(error)
    raise AssertionError("it was never refused")


def status_and_code(error: ClientError) -> tuple[int, str]:
    response = error.response
    return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]


@can_limit
def test_a_full_disk_refuses_writes_until_there_is_room_and_loses_nothing(
    local_cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    supervisor = Notices(local_cloud.data / "notices")
    monkeypatch.setenv(notices.VARIABLE, str(local_cloud.data / "notices"))
    local_cloud.stop()
    local_cloud.start()
    kills.create_resources(local_cloud)
    dynamodb, sqs = local_cloud.client("dynamodb"), local_cloud.client("sqs")
    url = kills.url(sqs)
    numbers: list[int] = []
    bodies: list[str] = []

    def put() -> None:
        item = {"pk": {"S": "large"}, "sk": {"S": str(len(numbers))}, "text": {"S": "x" * 300_000}}
        other = item | {"pk": {"S": "other"}}
        puts = [{"Put": {"TableName": kills.TABLE, "Item": each}} for each in (item, other)]
        dynamodb.transact_write_items(TransactItems=puts)
        numbers.append(len(numbers))

    def send() -> None:
        sqs.send_message(QueueUrl=url, MessageBody=f"{len(bodies)}" + "x" * 10_000)
        bodies.append(f"{len(bodies)}" + "x" * 10_000)

    def receive() -> None:
        sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)

    def declare() -> None:
        sqs.create_queue(QueueName="another")

    send()
    limit_files(local_cloud, (local_cloud.data / f"{store.NAME}-wal").stat().st_size)
    for write in (put, send, receive, put, send, declare):
        assert first_refusal(write) == (503, "ServiceUnavailable")
        assert kills.number_at(dynamodb, "none", "none") == 0
    supervisor.show()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"the local cloud cannot write {local_cloud.data / store.NAME} (")
    assert line.endswith("): it refuses what it cannot store, until it can")
    assert local_cloud.process is not None
    resource.prlimit(local_cloud.process.pid, resource.RLIMIT_FSIZE, UNLIMITED)
    put()
    send()
    receive()
    local_cloud.stop(signal.SIGKILL)
    local_cloud.start()
    client = local_cloud.client("dynamodb")
    for pk in ("large", "other"):
        assert sort_keys(client, pk) == {str(number) for number in numbers}
    sqs = local_cloud.client("sqs")
    assert [each.rpartition("/")[2] for each in sqs.list_queues()["QueueUrls"]] == [kills.QUEUE]
    assert sorted(kills.remaining(sqs)) == sorted(bodies)


def sort_keys(client: Any, pk: str) -> set[str]:
    pages = client.get_paginator("query").paginate(
        TableName=kills.TABLE,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": pk}},
    )
    return {item["sk"]["S"] for page in pages for item in page["Items"]}


@can_limit
def test_an_object_that_cannot_be_written_is_refused(local_cloud: LocalCloud) -> None:
    kills.create_resources(local_cloud)
    client = local_cloud.client("s3")
    limit_files(local_cloud, 1 << 20)
    body = os.urandom(2 << 20)
    put = {"Bucket": kills.BUCKET, "Key": "large/object", "Body": body}
    with pytest.raises(ClientError) as error:
        client.put_object(**put)
    assert status_and_code(error.value) == (503, "ServiceUnavailable")
    assert client.list_objects_v2(Bucket=kills.BUCKET)["KeyCount"] == 0
    assert local_cloud.process is not None
    resource.prlimit(local_cloud.process.pid, resource.RLIMIT_FSIZE, UNLIMITED)
    client.put_object(**put)
    local_cloud.stop(signal.SIGKILL)
    local_cloud.start()
    response = local_cloud.client("s3").get_object(Bucket=kills.BUCKET, Key="large/object")
    assert response["Body"].read() == body


TABLE = {
    "TableName": "Table",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
}


def put_request(pk: str) -> Any:
    return {"TableName": "Table", "Item": {"pk": {"S": pk}}}


def test_with_durability_answer_no_write_is_answered_before_it_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, may_end = threading.Event(), threading.Event()
    synchronizations: list[int] = []

    def synchronize(self: Store) -> None:
        began.set()
        assert may_end.wait(30)
        synchronizations.append(self.commits)

    async def run(cloud: InProcessCloud) -> None:
        began.clear()
        may_end.clear()
        puts = [asyncio.ensure_future(cloud.ask("PutItem", put_request(str(n)))) for n in range(20)]
        await asyncio.to_thread(began.wait, 30)
        key = {"TableName": "Table", "Key": {"pk": {"S": "0"}}}
        _, answer = await cloud.ask("GetItem", key)
        assert answer["Item"] == {"pk": {"S": "0"}}, "a read waits for nobody"
        assert not any(each.done() for each in puts)
        may_end.set()
        assert await asyncio.gather(*puts) == [(200, {})] * 20

    with in_process_cloud(tmp_path / "cloud", waits=True) as cloud:
        monkeypatch.setattr(Store, "synchronize", synchronize)
        may_end.set()
        assert cloud.answer("CreateTable", TABLE)[0] == 200
        assert synchronizations, "a declaration waits as well"
        synchronizations.clear()
        cloud.loop.run_until_complete(run(cloud))
        assert len(synchronizations) <= 2
        assert synchronizations[-1] == cloud.state.store.commits


COUNTING = """
import sys
from infrastructure.local.cloud import server, store
def synchronize(self):
    with (self.path.parent / "synchronizations").open("a") as file:
        file.write("x")
store.Store.synchronize = synchronize
server.main(sys.argv[1:])
"""


@pytest.mark.parametrize("durability", ["second", "answer"])
def test_the_setting_tells_how_often_is_synchronized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: str
) -> None:
    monkeypatch.setenv("LOCAL_DURABILITY", durability)
    cloud = LocalCloud(tmp_path / "cloud")
    try:
        cloud.start(program=COUNTING)
        kills.create_resources(cloud)
        dynamodb, s3 = cloud.client("dynamodb"), cloud.client("s3")
        synchronizations = cloud.data / "synchronizations"
        eventually(synchronizations.exists)
        before = len(synchronizations.read_text())
        began = time.monotonic()
        for number in range(20):
            kills.put_item(dynamodb, "a", number)
            kills.put_object(s3, "a", number)
            kills.number_at(dynamodb, "a", "item")
        count = len(synchronizations.read_text()) - before
        seconds = time.monotonic() - began
        assert count >= 40 if durability == "answer" else count <= seconds + 2
        eventually(lambda: len(synchronizations.read_text()) > before)
    finally:
        cloud.close()


def test_with_durability_answer_a_write_is_refused_that_is_not_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Store) -> None:
        raise OSError(5, "the disk failed")

    with in_process_cloud(tmp_path / "cloud", waits=True) as cloud:
        cloud.answer("CreateTable", TABLE)
        monkeypatch.setattr(Store, "synchronize", fail)
        status, answer = cloud.answer("PutItem", put_request("a"))
        assert (status, answer["__type"]) == (503, "ServiceUnavailable")
        monkeypatch.undo()
        assert cloud.answer("PutItem", put_request("a"))[0] == 200


def test_what_an_error_of_ministack_leaves_half_done_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_process_cloud(tmp_path / "cloud") as cloud:
        cloud.answer("CreateTable", TABLE)

        async def put_and_fail(*_: Any) -> Any:
            dynamodb._put_item(put_request("half"))
            raise ZeroDivisionError

        with monkeypatch.context() as patch:
            patch.setattr(dynamodb, "handle_request", put_and_fail)
            with pytest.raises(ZeroDivisionError):
                cloud.answer_of_ministack("PutItem", put_request("whole"))
        assert cloud.answer("PutItem", put_request("next"))[0] == 200
        items = cloud.answer("Scan", {"TableName": "Table"})[1]["Items"]
        assert items == [{"pk": {"S": "next"}}]


def cloud_output(data: Path) -> tuple[int, str]:
    """Start the cloud on ``data``; return its exit status and what it wrote."""
    arguments = ("--port", str(free_port()), "--data", str(data))
    process = subprocess.run(
        [sys.executable, "-m", "infrastructure.local.cloud", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return process.returncode, process.stderr


def test_a_damaged_database_ends_the_cloud_with_one_line_and_stays(local_cloud: LocalCloud) -> None:
    kills.create_resources(local_cloud)
    local_cloud.stop(signal.SIGKILL)
    path = local_cloud.data / store.NAME
    content = bytearray(path.read_bytes())
    content[5_000:] = b"?" * len(content[5_000:])
    path.write_bytes(content)
    log = Path(f"{path}-wal")
    before = path.read_bytes(), log.read_bytes()
    status, output = cloud_output(local_cloud.data)
    assert status == 3
    (line,) = output.splitlines()
    assert line.startswith(f"{path} is damaged (")
    assert (path.read_bytes(), log.read_bytes()) == before


def test_a_log_without_its_database_ends_the_cloud_with_one_line(local_cloud: LocalCloud) -> None:
    kills.create_resources(local_cloud)
    local_cloud.stop(signal.SIGKILL)
    path = local_cloud.data / store.NAME
    path.unlink()
    status, output = cloud_output(local_cloud.data)
    assert status == 3
    finding = f"is missing, and {store.NAME}-wal is there"
    assert output.splitlines() == [str(DamagedState(path, finding))]
    assert not path.exists()


def test_a_second_cloud_on_the_same_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "LOCK_PATIENCE", 0.2)
    descriptor = server.lock_data(tmp_path)
    with pytest.raises(SystemExit) as error:
        server.lock_data(tmp_path)
    assert error.value.code == notices.REFUSED
    assert capsys.readouterr().err == f"{tmp_path} is in use by another local cloud\n"
    os.close(descriptor)
    os.close(server.lock_data(tmp_path))


def put_large(client: Any, number: int) -> None:
    item = {"pk": {"S": "large"}, "sk": {"S": str(number)}, "text": {"S": "x" * 300_000}}
    client.put_item(TableName=kills.TABLE, Item=item)


def test_the_log_of_a_cloud_in_use_stays_small(local_cloud: LocalCloud) -> None:
    kills.create_resources(local_cloud)
    client = local_cloud.client("dynamodb")
    path = local_cloud.data / store.NAME
    for number in range(400):
        put_large(client, number % 50)
    eventually(lambda: path.stat().st_size > 50 * 300_000)
    assert Path(f"{path}-wal").stat().st_size < 64 << 20
    local_cloud.stop(signal.SIGKILL)
    local_cloud.start()
    client = local_cloud.client("dynamodb")
    assert sort_keys(client, "large") == {str(number) for number in range(50)}
