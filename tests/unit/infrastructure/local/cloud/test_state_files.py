from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from infrastructure.local.cloud.changes import Change, encode
from infrastructure.local.cloud.redo_log import EARLIER_BASE_KIND, DamagedState, RedoLog
from infrastructure.local.cloud.state_files import StateFiles
from tests.free_ports import free_port
from tests.unit.infrastructure.clouds import ROOT, LocalCloud, eventually

NOW = 2_000.0


def change(number: int) -> Change:
    return Change(("item", "account", "region", "table", "pk", str(number)), b"{}")


def read(root: Path) -> list[Change]:
    """Return all changes, with the items that stay in a base where they were in its file."""
    files = StateFiles(root)
    others = list(files.base_changes(NOW))
    tables = files.base.tables if files.base else {}
    items = [
        Change(("item", *name, item.pk, item.sk), item.text, item.expires)
        for name, table in tables.items()
        for item in table.items()
    ]
    return [*others, *items, *files.log_changes()]


def opened(root: Path) -> tuple[StateFiles, RedoLog]:
    files = StateFiles(root)
    list(files.base_changes(NOW))
    list(files.log_changes())
    return files, files.open_log()


def write_earlier_base(path: Path, changes: list[Change]) -> None:
    content = b"".join(encode(each) for each in changes)
    record = struct.pack("<II", len(content), zlib.crc32(content)) + content
    header = struct.pack("<8sQ", EARLIER_BASE_KIND, 16 + len(record))
    path.write_bytes(header + record)


def names(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """The state 1, 2 in a base, 3 in its log, and 4 in the log of a base that was not written."""
    files, log = opened(tmp_path)
    log.append(encode(change(1)))
    log.seal()
    log = files.start_next_log()
    files.write_base([change(1), change(2)])
    files.remove_superseded()
    log.append(encode(change(3)))
    log.seal()
    files.start_next_log().append(encode(change(4)))
    (tmp_path / "base-3.new").write_bytes(b"a part")
    return tmp_path


def test_the_state_is_the_newest_base_with_all_later_logs(filled: Path) -> None:
    assert read(filled) == [change(1), change(2), change(3), change(4)]


def test_changes_go_on_in_the_newest_log(filled: Path) -> None:
    _, log = opened(filled)
    log.append(encode(change(5)))
    assert read(filled)[3:] == [change(4), change(5)]
    assert names(filled) == ["base-2", "log-2", "log-3"]


def test_files_before_the_newest_base_are_removed_and_not_read(filled: Path) -> None:
    files, log = opened(filled)
    log.seal()
    files.start_next_log()
    files.write_base([change(9)])
    assert read(filled) == [change(9)]
    assert names(filled) == ["base-4", "log-4"]


def test_a_base_of_an_earlier_version_is_read_but_for_items_that_have_expired(
    tmp_path: Path,
) -> None:
    files, _ = opened(tmp_path)
    values = [change(1)._replace(expires=expires) for expires in (0, 1_999, 2_000, 2_001)]
    files.write_base([])
    assert not files.has_earlier_base()
    write_earlier_base(tmp_path / "base-1", values)
    assert files.has_earlier_base()
    assert [each.expires for each in read(tmp_path)] == [0, 2_001]


@pytest.mark.parametrize("name", ["base-2", "log-2", "log-3"])
@pytest.mark.parametrize("damage", ["truncated", "missing", "changed"])
def test_a_damaged_or_missing_file_stops_the_start_and_all_files_stay(
    filled: Path, name: str, damage: str
) -> None:
    path = filled / name
    if name == "log-3":
        RedoLog.reopen(path, opened(filled)[1].end).synchronize()
    if damage == "missing":
        path.unlink()
    else:
        content = path.read_bytes()
        changed = content[:40] + bytes([content[40] ^ 1]) + content[41:]
        path.write_bytes(content[:50] if damage == "truncated" else changed)
    if (name, damage) == ("log-3", "missing"):
        # It cannot be told from a log that had not begun
        return
    before = names(filled)
    with pytest.raises(DamagedState) as error:
        read(filled)
    text = str(error.value)
    assert "\n" not in text
    assert "Restore the file from a copy, or move" in text
    assert str(path) in text
    assert names(filled) == before


def cloud_output(data: Path) -> tuple[int, str]:
    """Start the cloud on ``data``; return its exit status and what it wrote."""
    arguments = ("--port", str(free_port()), "--data", str(data))
    process = subprocess.run(
        [sys.executable, "-m", "infrastructure.local.cloud", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return process.returncode, process.stderr


def test_the_cloud_ends_with_one_line_for_a_damaged_state(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    path = tmp_path / "state" / "log-1"
    path.write_bytes(b"damaged")
    status, output = cloud_output(tmp_path)
    assert status == 3
    assert output.splitlines() == [str(DamagedState(path, "is not a state file of this version"))]
    assert path.read_bytes() == b"damaged"


def test_the_cloud_ends_with_one_line_for_records_that_do_not_fit_together(tmp_path: Path) -> None:
    _, log = opened(tmp_path / "state")
    log.append(encode(change(1)))
    status, output = cloud_output(tmp_path)
    assert status == 3
    assert "has records that do not fit together" in output
    assert len(output.splitlines()) == 1


@pytest.mark.parametrize("damage", ["torn", "link"])
def test_a_damaged_state_of_an_earlier_version_is_left_as_it_is(
    tmp_path: Path, damage: str
) -> None:
    snapshot = tmp_path / "0001"
    snapshot.mkdir()
    (snapshot / "sqs.json").write_text('{"payload": ' if damage == "torn" else "{}")
    if damage == "torn":
        (tmp_path / "current").symlink_to("0001")
    for _ in range(2):
        with pytest.raises(DamagedState, match=r"sqs\.json" if damage == "torn" else "current"):
            read(tmp_path)
    assert (snapshot / "sqs.json").exists()


def test_an_earlier_version_s_state_is_read_also_when_its_first_start_was_killed(
    tmp_path: Path,
) -> None:
    snapshot = tmp_path / "0001"
    snapshot.mkdir()
    scoped = {"account\0region\0'name'": {"TableName": "name", "items": {"p": {"s": {}}}}}
    tables = {"__account_region_scoped__": True, "data": scoped}
    state = {"__ministack_format__": 2, "payload": {"tables": tables, "tags": {}}}
    (snapshot / "dynamodb.json").write_text(json.dumps(state))
    (tmp_path / "current").symlink_to("0001")
    RedoLog.create(tmp_path / "log-1")
    changes = {each.path: each.value for each in read(tmp_path)}
    assert changes["item", "account", "region", "name", "p", "s"] == b"{}"
    table: tuple[str, ...] = ("document", "dynamodb", "tables", "account\0region\0'name'")
    assert changes[table] == b'{"TableName":"name"}'
    assert changes["document", "dynamodb", "tags"] == b"{}"
    assert names(tmp_path) == ["archives", "base-1", "log-1"]
    assert {each.path: each.value for each in read(tmp_path)} == changes


def make_table(client: Any) -> None:
    client.create_table(
        TableName="large",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )


def keys(client: Any) -> set[str]:
    pages = client.get_paginator("scan").paginate(TableName="large", ProjectionExpression="pk")
    return {item["pk"]["S"] for page in pages for item in page["Items"]}


def put(client: Any, number: int) -> None:
    item = {"pk": {"S": str(number)}, "text": {"S": "x" * 300_000}}
    client.put_item(TableName="large", Item=item)


def test_a_large_log_is_replaced_by_a_base_while_the_cloud_serves(local_cloud: LocalCloud) -> None:
    client = local_cloud.client("dynamodb")
    make_table(client)
    state = local_cloud.data / "state"
    number = 0
    while not (state / "base-2").exists():
        put(client, number % 50)
        number += 1
        assert number < 2_000
    put(client, 1_000)
    eventually(lambda: not (state / "log-1").exists())
    local_cloud.stop(signal.SIGKILL)
    assert sum(path.stat().st_size for path in state.glob("*-*")) < 64 << 20
    local_cloud.start()
    expected = {str(each) for each in (*range(min(number, 50)), 1_000)}
    assert keys(local_cloud.client("dynamodb")) == expected
    assert os.listdir(state / "archives") == []


def test_a_base_of_an_earlier_version_is_rewritten_while_the_cloud_serves(
    local_cloud: LocalCloud,
) -> None:
    client = local_cloud.client("dynamodb")
    make_table(client)
    for number in range(4):
        client.put_item(TableName="large", Item={"pk": {"S": str(number)}})
    local_cloud.stop()
    state = local_cloud.data / "state"
    write_earlier_base(state / "base-2", list(StateFiles(state).log_changes()))
    (state / "log-1").unlink()
    RedoLog.create(state / "log-2")
    local_cloud.start()
    client = local_cloud.client("dynamodb")
    client.delete_item(TableName="large", Key={"pk": {"S": "0"}})
    eventually(lambda: names(state) == ["archives", "base-3", "log-3"])
    assert not StateFiles(state).has_earlier_base()
    client.put_item(TableName="large", Item={"pk": {"S": "4"}})
    local_cloud.stop(signal.SIGKILL)
    local_cloud.start()
    client = local_cloud.client("dynamodb")
    assert client.describe_table(TableName="large")["Table"]["ItemCount"] == 4
    client.delete_item(TableName="large", Key={"pk": {"S": "1"}})
    client.update_item(
        TableName="large",
        Key={"pk": {"S": "2"}},
        UpdateExpression="SET n = :n",
        ExpressionAttributeValues={":n": {"N": "1"}},
    )
    local_cloud.stop(signal.SIGKILL)
    local_cloud.start()
    client = local_cloud.client("dynamodb")
    assert keys(client) == {"2", "3", "4"}
    item = client.get_item(TableName="large", Key={"pk": {"S": "2"}})["Item"]
    assert item == {"pk": {"S": "2"}, "n": {"N": "1"}}
