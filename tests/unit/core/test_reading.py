from __future__ import annotations

import pytest

from chalicelib.core.dynamo import Item, Key, Table, TableKeys, batch_get
from chalicelib.core.reading import Reads, read_ahead, read_config
from tests.fake_cloud import AwsRequest, aws_requests

pytestmark = pytest.mark.usefixtures("cloud")

CONFIG, MESSAGES = Table("config"), Table("messages")
A, B, C = ("a", "1"), ("b", "1"), ("c", "1")


def item(key: Key, **fields: object) -> Item:
    return {"pk": key[0], "sk": key[1], **fields}


@pytest.fixture(autouse=True)
def _items(cloud: None) -> None:
    CONFIG.put(item(A, n=1))
    CONFIG.put(item(B, n=2))
    MESSAGES.put(item(A, n=3))


def names(requests: list[AwsRequest]) -> list[str]:
    return [request.operation for request in requests]


class TestTogether:
    @pytest.mark.cost
    def test_items_of_several_tables_are_read_in_one_request(self) -> None:
        with aws_requests() as requests:
            config, messages = batch_get(
                [TableKeys(CONFIG, [A, B, C]), TableKeys(MESSAGES, [A, B])]
            )
        assert config == {A: item(A, n=1), B: item(B, n=2)}
        assert messages == {A: item(A, n=3)}
        assert names(requests) == ["BatchGetItem"]

    def test_each_table_is_read_with_its_own_consistency(self) -> None:
        with aws_requests() as requests:
            batch_get([TableKeys(CONFIG, [A], consistent=True), TableKeys(MESSAGES, [A])])
        table_requests = requests[0].parameters["RequestItems"]
        assert table_requests[CONFIG.name]["ConsistentRead"] is True
        assert "ConsistentRead" not in table_requests[MESSAGES.name]

    @pytest.mark.cost
    def test_a_request_reads_up_to_100_items(self) -> None:
        many = [(str(number), "1") for number in range(150)]
        with aws_requests() as requests:
            config, messages = batch_get([TableKeys(CONFIG, [*many, A]), TableKeys(MESSAGES, [A])])
        assert (set(config), set(messages)) == ({A}, {A})
        assert names(requests) == ["BatchGetItem"] * 2

    @pytest.mark.cost
    def test_reading_no_keys_makes_no_request(self) -> None:
        with aws_requests() as requests:
            assert batch_get([TableKeys(CONFIG, [])]) == [{}]
            assert batch_get([]) == []
        assert requests == []


class TestReads:
    @pytest.mark.cost
    def test_existing_and_missing_items_are_read_once(self) -> None:
        reads = Reads(CONFIG, consistent=True)
        with aws_requests() as requests:
            assert reads([A, C]) == {A: item(A, n=1)}
            CONFIG.put(item(C))
            assert reads([C, A, A]) == {A: item(A, n=1)}
            assert reads([B, C]) == {B: item(B, n=2)}
        assert names(requests) == ["BatchGetItem", "PutItem", "BatchGetItem"]

    @pytest.mark.cost
    def test_items_that_were_read_ahead_are_not_read_again(self) -> None:
        config, messages = Reads(CONFIG, consistent=True), Reads(MESSAGES, consistent=False)
        with aws_requests() as requests:
            read_ahead({config: [A, B, A], messages: [A]})
            assert config([A, B]) == {A: item(A, n=1), B: item(B, n=2)}
            assert messages([A]) == {A: item(A, n=3)}
            read_ahead({config: [A], messages: []})
        assert names(requests) == ["BatchGetItem"]

    def test_new_reads_start_with_nothing_cached(self) -> None:
        Reads(CONFIG, consistent=True)([A])
        CONFIG.put(item(A, n=9))
        assert Reads(CONFIG, consistent=True)([A]) == {A: item(A, n=9)}


def test_the_config_table_is_read_consistently() -> None:
    with aws_requests() as requests:
        assert read_config([A, A, C]) == {A: item(A, n=1)}
    (request,) = requests
    assert request.parameters["RequestItems"][CONFIG.name]["ConsistentRead"] is True
