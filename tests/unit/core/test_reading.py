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


def names(made: list[AwsRequest]) -> list[str]:
    return [request.operation for request in made]


class TestTogether:
    @pytest.mark.cost
    def test_items_of_several_tables_come_in_one_request(self) -> None:
        with aws_requests() as made:
            config, messages = batch_get(
                [TableKeys(CONFIG, [A, B, C]), TableKeys(MESSAGES, [A, B])]
            )
        assert config == {A: item(A, n=1), B: item(B, n=2)}
        assert messages == {A: item(A, n=3)}
        assert names(made) == ["BatchGetItem"]

    def test_each_table_is_read_as_consistently_as_it_is_wanted(self) -> None:
        with aws_requests() as made:
            batch_get([TableKeys(CONFIG, [A], consistent=True), TableKeys(MESSAGES, [A])])
        asked = made[0].parameters["RequestItems"]
        assert asked[CONFIG.name]["ConsistentRead"] is True
        assert "ConsistentRead" not in asked[MESSAGES.name]

    @pytest.mark.cost
    def test_a_request_holds_a_hundred_of_them(self) -> None:
        many = [(str(number), "1") for number in range(150)]
        with aws_requests() as made:
            config, messages = batch_get([TableKeys(CONFIG, [*many, A]), TableKeys(MESSAGES, [A])])
        assert (set(config), set(messages)) == ({A}, {A})
        assert names(made) == ["BatchGetItem"] * 2

    @pytest.mark.cost
    def test_nothing_wanted_is_no_request(self) -> None:
        with aws_requests() as made:
            assert batch_get([TableKeys(CONFIG, [])]) == [{}]
            assert batch_get([]) == []
        assert made == []


class TestReads:
    @pytest.mark.cost
    def test_an_item_is_read_once_and_so_is_that_there_is_none(self) -> None:
        reads = Reads(CONFIG, consistent=True)
        with aws_requests() as made:
            assert reads([A, C]) == {A: item(A, n=1)}
            CONFIG.put(item(C))
            assert reads([C, A, A]) == {A: item(A, n=1)}
            assert reads([B, C]) == {B: item(B, n=2)}
        assert names(made) == ["BatchGetItem", "PutItem", "BatchGetItem"]

    @pytest.mark.cost
    def test_what_was_read_ahead_is_not_read_again(self) -> None:
        config, messages = Reads(CONFIG, consistent=True), Reads(MESSAGES, consistent=False)
        with aws_requests() as made:
            read_ahead({config: [A, B, A], messages: [A]})
            assert config([A, B]) == {A: item(A, n=1), B: item(B, n=2)}
            assert messages([A]) == {A: item(A, n=3)}
            read_ahead({config: [A], messages: []})
        assert names(made) == ["BatchGetItem"]

    def test_another_piece_of_work_reads_anew(self) -> None:
        Reads(CONFIG, consistent=True)([A])
        CONFIG.put(item(A, n=9))
        assert Reads(CONFIG, consistent=True)([A]) == {A: item(A, n=9)}


def test_the_config_table_is_read_as_it_is_now() -> None:
    with aws_requests() as made:
        assert read_config([A, A, C]) == {A: item(A, n=1)}
    (asked,) = made
    assert asked.parameters["RequestItems"][CONFIG.name]["ConsistentRead"] is True
