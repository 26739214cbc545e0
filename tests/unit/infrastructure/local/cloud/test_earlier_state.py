"""Start the cloud on the data of 0.1.0 that was recorded for the journey."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infrastructure.local.cloud import store
from infrastructure.local.cloud.store import DamagedState
from tests.journey.earlier_data.archive import unpack
from tests.unit.infrastructure.clouds import LocalCloud
from tests.unit.infrastructure.local.cloud.test_durability import cloud_output

BUCKET = "postfinch-local"


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[LocalCloud]:
    unpack(tmp_path)
    cloud = LocalCloud(tmp_path / "cloud")
    yield cloud
    cloud.close()


def recorded(cloud: LocalCloud, service: str, attribute: str) -> dict[str, Any]:
    """Return the recorded entries of an attribute by their names."""
    state = json.loads((cloud.data / "state" / "current" / f"{service}.json").read_bytes())
    state = state.get("payload", state)
    return {key.split("\0")[-1].strip("'"): each for key, each in state[attribute]["data"].items()}


def items_of(table: Any) -> list[Any]:
    partitions = table["items"].values()
    return in_order([item for partition in partitions for item in partition.values()])


def in_order(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def stored_items(client: Any, table: str) -> list[Any]:
    pages = client.get_paginator("scan").paginate(TableName=table)
    items = [item for page in pages for item in page["Items"]]
    return in_order(json.loads(json.dumps(items, default=encoded)))


def encoded(content: bytes) -> str:
    return b64encode(content).decode()


def message_counts(client: Any, url: str) -> int:
    prefix = "ApproximateNumberOfMessages"
    names = [prefix, f"{prefix}NotVisible", f"{prefix}Delayed"]
    attributes = client.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(attributes[name]) for name in names)


def stored_messages(cloud: LocalCloud) -> list[tuple[str, str]]:
    connection = sqlite3.connect(cloud.data / store.NAME)
    try:
        return connection.execute("SELECT id, body FROM messages ORDER BY id, body").fetchall()
    finally:
        connection.close()


def files_below(directory: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(directory)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_everything_of_0_1_0_is_there_after_the_first_start(cloud: LocalCloud) -> None:
    state, objects = cloud.data / "state", cloud.data / "objects" / "000000000000"
    before = files_below(state) | files_below(objects)
    cloud.start()
    dynamodb, sqs, s3 = (cloud.client(name) for name in ("dynamodb", "sqs", "s3"))
    tables = recorded(cloud, "dynamodb", "tables")
    assert set(dynamodb.list_tables()["TableNames"]) == tables.keys()
    for name, table in tables.items():
        assert stored_items(dynamodb, name) == items_of(table), name
    assert sum(len(items_of(table)) for table in tables.values()) > 100
    queues = recorded(cloud, "sqs", "queues")
    counts = {
        queue["name"]: message_counts(sqs, sqs.get_queue_url(QueueName=queue["name"])["QueueUrl"])
        for queue in queues.values()
    }
    assert counts == {queue["name"]: len(queue["messages"]) for queue in queues.values()}
    messages = [each for queue in queues.values() for each in queue["messages"]]
    assert stored_messages(cloud) == sorted((each["id"], each["body"]) for each in messages)
    assert messages
    descriptions = list(objects.rglob("*.meta.json"))
    assert len(descriptions) == 3
    for description in descriptions:
        key = json.loads(description.read_bytes())["key"]
        content = Path(str(description).removesuffix(".meta.json")).read_bytes()
        assert s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() == content
    assert len(s3.list_objects_v2(Bucket=BUCKET)["Contents"]) == 3
    (stack,) = cloud.client("cloudformation").describe_stacks()["Stacks"]
    assert stack["StackName"] == "postfinch-local"
    after = files_below(state) | files_below(objects)
    assert after == before


def test_a_second_start_goes_on_with_the_database(cloud: LocalCloud) -> None:
    cloud.start()
    dynamodb, sqs, s3 = (cloud.client(name) for name in ("dynamodb", "sqs", "s3"))
    table, entry = next(
        each for each in recorded(cloud, "dynamodb", "tables").items() if items_of(each[1])
    )
    item, *others = items_of(entry)
    names = [each["AttributeName"] for each in entry["KeySchema"]]
    dynamodb.delete_item(TableName=table, Key={name: item[name] for name in names})
    queue = sqs.create_queue(QueueName="new")["QueueUrl"]
    sqs.send_message(QueueUrl=queue, MessageBody="body")
    (first, *_) = s3.list_objects_v2(Bucket=BUCKET)["Contents"]
    s3.delete_object(Bucket=BUCKET, Key=first["Key"])
    cloud.stop(signal.SIGKILL)
    cloud.start()
    dynamodb, sqs, s3 = (cloud.client(name) for name in ("dynamodb", "sqs", "s3"))
    assert stored_items(dynamodb, table) == others
    assert message_counts(sqs, sqs.get_queue_url(QueueName="new")["QueueUrl"]) == 1
    assert s3.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 2


def test_a_take_over_that_was_killed_begins_anew(cloud: LocalCloud) -> None:
    new = (cloud.data / store.NAME).with_suffix(".new")
    for end in ("", "-wal", "-shm"):
        Path(f"{new}{end}").write_bytes(b"a part")
    cloud.start()
    assert len(cloud.client("dynamodb").list_tables()["TableNames"]) == 7
    assert not list(cloud.data.glob("*.new*"))


def test_a_state_without_its_link_stops_the_start(cloud: LocalCloud) -> None:
    link = cloud.data / "state" / "current"
    link.unlink()
    link.symlink_to("missing")
    status, output = cloud_output(cloud.data)
    assert status == 3
    assert output.splitlines() == [str(DamagedState(link, "is missing"))]
    assert os.readlink(link) == "missing"
    assert not (cloud.data / store.NAME).exists()


def test_a_torn_file_stops_the_start_with_one_line(cloud: LocalCloud) -> None:
    path = cloud.data / "state" / "current" / "sqs.json"
    content = path.read_bytes()[:-100]
    path.write_bytes(content)
    status, output = cloud_output(cloud.data)
    assert status == 3
    (line,) = output.splitlines()
    assert line.startswith(f"{path} is damaged (")
    assert path.read_bytes() == content
    assert not (cloud.data / store.NAME).exists()
