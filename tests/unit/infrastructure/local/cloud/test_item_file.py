from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infrastructure.local.cloud.item_file import ItemFile, ItemPartition
from infrastructure.local.cloud.table_items import Digest
from tests.unit.infrastructure.clouds import LocalCloud

ITEMS = st.dictionaries(st.text(max_size=5), st.fixed_dictionaries({"S": st.text(max_size=90)}))
KEYS = st.sampled_from(["a", "b", "ü"])


@pytest.fixture
def file(tmp_path: Path) -> ItemFile:
    return ItemFile(tmp_path)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(KEYS, st.none() | ITEMS), max_size=12))
def test_a_partition_reads_as_a_dict_after_any_changes(
    file: ItemFile, changes: list[tuple[str, Any]]
) -> None:
    partition, model = ItemPartition(file), dict[str, Any]()
    for key, item in changes:
        if item is None:
            assert partition.pop(key, None) == model.pop(key, None)
        else:
            partition[key] = model[key] = item
        assert partition.get(key) == model.get(key)
    assert partition.items() == list(model.items())
    assert partition.values() == list(model.values())
    assert copy.deepcopy(partition) == dict(partition) == model
    texts = {key: json.loads(text) for key, text, _ in partition.stored()}
    assert texts == json.loads(json.dumps(partition)) == model


def test_items_that_are_added_in_one_piece_read_like_others(file: ItemFile) -> None:
    partition = ItemPartition(file)
    texts = {f"{number}": b'{"n":{"S":"%s"}}' % (b"x" * number) for number in range(0, 200, 7)}
    for key, text in texts.items():
        partition.add(key, text, expires=int(key))
    file.flush()
    partition["other"] = {"n": {"N": "1"}}
    assert {key: text for key, text, _ in partition.stored() if key != "other"} == texts
    assert partition["7"] == {"n": {"S": "x" * 7}}
    assert partition.expired(7) == ["7"]


def test_an_item_is_a_copy_that_may_be_changed(file: ItemFile) -> None:
    partition = ItemPartition(file)
    partition["a"] = {"n": {"N": "1"}}
    partition["a"]["n"]["N"] = "2"
    assert partition["a"] == {"n": {"N": "1"}}


def test_places_of_removed_and_replaced_items_are_used_again(file: ItemFile) -> None:
    partition = ItemPartition(file)
    for number in range(100):
        partition["a"] = {"n": {"N": str(number)}}
    del partition["a"]
    other = ItemPartition(file)
    other["b"] = {"n": {"N": "1"}}
    del other
    assert file._end <= 128


def test_a_place_that_another_process_may_read_is_not_used_again(file: ItemFile) -> None:
    partition = ItemPartition(file)
    partition["a"] = {"n": {"S": "first"}}
    place = dict.__getitem__(partition, "a")
    with file.held():
        for _ in range(5):
            partition["a"] = {"n": {"S": "other"}}
        assert json.loads(file.read(place)) == {"n": {"S": "first"}}
    end = file._end
    partition["a"] = {"n": {"S": "after"}}
    assert file._end == end


def test_only_items_with_a_time_that_is_over_have_expired(file: ItemFile) -> None:
    partition = ItemPartition(file)
    partition.put("past", {}, 1_000)
    partition.put("future", {}, 3_000)
    partition.put("never", {})
    assert partition.expired(2_000) == ["past"]
    assert len(partition) == 3


def test_a_digest_equals_its_value_only() -> None:
    value = {"a": [1, {"b": "c"}]}
    assert Digest(value) == copy.deepcopy(value)
    assert Digest(value) != {"a": [1, {"b": "d"}]}


def test_a_transaction_with_the_token_of_another_is_refused(local_cloud: LocalCloud) -> None:
    client = local_cloud.client("dynamodb")
    key = {"AttributeName": "pk", "KeyType": "HASH"}
    attribute = {"AttributeName": "pk", "AttributeType": "S"}
    client.create_table(
        TableName="table",
        KeySchema=[key],
        AttributeDefinitions=[attribute],
        BillingMode="PAY_PER_REQUEST",
    )

    def write(pk: str) -> None:
        put = {"Put": {"TableName": "table", "Item": {"pk": {"S": pk}}}}
        client.transact_write_items(TransactItems=[put], ClientRequestToken="token")

    write("a")
    write("a")
    with pytest.raises(client.exceptions.IdempotentParameterMismatchException):
        write("b")
    assert client.scan(TableName="table")["Items"] == [{"pk": {"S": "a"}}]
