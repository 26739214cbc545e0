from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.core import aws, dynamo
from chalicelib.core.dynamo import (
    ConditionFailed,
    Table,
    TransactionFailed,
    Write,
    change,
    decode,
    decode_item,
    encode,
    encode_item,
    put,
    remove,
    transact,
)
from tests.fake_cloud import aws_requests

NUMBERS = st.integers(-(10**37), 10**37) | st.floats(
    min_value=-1e100, max_value=1e100, allow_nan=False, allow_subnormal=False
).filter(lambda number: number == 0 or abs(number) > 1e-100)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | NUMBERS
    | st.text(max_size=10)
    | st.binary(max_size=10)
    | st.sets(st.text(min_size=1, max_size=5), min_size=1, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)

config = Table("config")
messages = Table("messages")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let no test wait; return the pauses that would have been made."""
    made: list[float] = []
    monkeypatch.setattr(dynamo.time, "sleep", made.append)
    return made


def are_about(pauses: list[float], expected: list[float]) -> bool:
    """Tell whether each pause is that expected, give or take a half."""
    return len(pauses) == len(expected) and all(
        0.5 * wanted <= pause <= 1.5 * wanted
        for pause, wanted in zip(pauses, expected, strict=True)
    )


@given(VALUES)
def test_a_value_comes_back_as_it_went(value: Any) -> None:
    assert decode(encode(value)) == value


@given(st.booleans() | st.integers(-5, 5) | st.just(1.0) | st.text(max_size=2))
def test_a_value_comes_back_with_its_type(value: Any) -> None:
    assert type(decode(encode(value))) is type(value)


def test_a_tuple_comes_back_as_a_list_and_a_frozen_set_as_a_set() -> None:
    assert decode(encode((1, (2,)))) == [1, [2]]
    assert decode(encode(frozenset({"b", "a"}))) == {"a", "b"}
    assert encode({"b", "a"}) == {"SS": ["a", "b"]}


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("-12", -12), ("1.50", 1.5), ("1E+2", 100.0), ("-0.1", -0.1)]
)
def test_numbers_are_read_in_the_forms_that_the_table_gives(text: str, value: float) -> None:
    assert decode({"N": text}) == value


@pytest.mark.usefixtures("cloud")
@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), VALUES, max_size=4))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_item_comes_back_from_the_table(item: dict[str, Any]) -> None:
    whole = item | {"pk": "a", "sk": "b"}
    config.put(whole)
    assert config.get("a", "b") == whole


@pytest.fixture
def item(cloud: None) -> dict[str, Any]:
    found = {"pk": "a", "sk": "b", "n": 1}
    config.put(found)
    return found


def test_an_item_that_is_not_there_is_none(cloud: None) -> None:
    assert config.get("a", "b") is None


def test_creating_what_exists_fails_with_what_stands_there(item: dict[str, Any]) -> None:
    config.create({"pk": "a", "sk": "c"})
    with pytest.raises(ConditionFailed) as failure:
        config.create({"pk": "a", "sk": "b", "n": 2})
    assert failure.value.item == item
    assert config.get("a", "b") == item


def test_a_put_whose_condition_holds_replaces(item: dict[str, Any]) -> None:
    config.put(item | {"n": 2}, condition="#n = :old", values={"old": 1})
    assert config.get("a", "b") == item | {"n": 2}
    with pytest.raises(ConditionFailed):
        config.put(item | {"n": 3}, condition="#n = :old", values={"old": 1})


def test_an_update_returns_the_item_as_it_then_is(item: dict[str, Any]) -> None:
    changed = config.update(
        "a",
        "b",
        "SET #n = #n + :one, #m = if_not_exists(#m, :zero) REMOVE #gone",
        values={"one": 1, "zero": 0},
    )
    assert changed == item | {"n": 2, "m": 0}


def test_names_are_found_wherever_they_stand_in_an_expression(item: dict[str, Any]) -> None:
    config.update("a", "b", "SET #o=:o,#n=#n+:one", values={"o": {"p": [1]}, "one": 1})
    changed = config.update(
        "a",
        "b",
        "SET #o.#p[0]=:two",
        values={"two": 2},
        condition="#n=:two AND(attribute_exists(#o.#p)OR #x<>:two)",
    )
    assert changed["o"] == {"p": [2]}


def test_an_update_whose_condition_fails_changes_nothing(item: dict[str, Any]) -> None:
    with pytest.raises(ConditionFailed) as failure:
        config.update("a", "b", "SET #n = :n", values={"n": 9, "old": 7}, condition="#n = :old")
    assert failure.value.item == item
    assert config.get("a", "b") == item


def test_a_condition_on_an_item_that_is_not_there_fails_with_none(cloud: None) -> None:
    with pytest.raises(ConditionFailed) as failure:
        config.update("x", "y", "SET #n = :n", values={"n": 1}, condition="attribute_exists(#pk)")
    assert failure.value.item is None
    assert config.get("x", "y") is None


def test_deleting_returns_what_was_there(item: dict[str, Any]) -> None:
    with pytest.raises(ConditionFailed) as failure:
        config.delete("a", "b", condition="#n = :n", values={"n": 2})
    assert failure.value.item == item
    assert config.delete("a", "b") == item
    assert config.delete("a", "b") is None


def test_a_failure_that_is_no_condition_is_left_as_it_is(cloud: None) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        Table("nowhere").create({"pk": "a", "sk": "b"})


@pytest.fixture
def ten(cloud: None) -> list[dict[str, Any]]:
    items = [{"pk": "p", "sk": f"{n}", "owner": "o", "owner_key": f"{9 - n}"} for n in range(10)]
    config.write_all([*items, {"pk": "q", "sk": "0"}])
    return items


def test_a_query_gives_its_items_in_order_page_by_page(ten: list[dict[str, Any]]) -> None:
    first = config.query("#pk = :pk", {"pk": "p"}, limit=6)
    assert (first.items, first.count) == (ten[:6], 6)
    second = config.query("#pk = :pk", {"pk": "p"}, limit=6, start=first.next_key)
    assert (second.items, second.next_key) == (ten[6:], None)


def test_a_query_may_go_backwards_over_a_range_or_an_index(ten: list[dict[str, Any]]) -> None:
    page = config.query(
        "#pk = :pk AND #sk BETWEEN :low AND :high",
        {"pk": "p", "low": "3", "high": "5"},
        newest_first=True,
        consistent=True,
    )
    assert page.items == [ten[5], ten[4], ten[3]]
    page = config.query("#owner = :o", {"o": "o"}, index="by_owner", limit=2)
    assert page.items == [ten[9], ten[8]]


def test_a_count_carries_no_items(ten: list[dict[str, Any]]) -> None:
    page = config.query("#pk = :pk", {"pk": "p"}, only_count=True)
    assert (page.items, page.count) == ([], 10)


def test_everything_is_queried_with_no_more_requests_than_pages(ten: list[dict[str, Any]]) -> None:
    with aws_requests() as made:
        assert list(config.query_all("#pk = :pk", {"pk": "p"}, limit=4)) == ten
    assert len(made) == 3


def test_nothing_is_queried_before_it_is_asked_for(ten: list[dict[str, Any]]) -> None:
    with aws_requests() as made:
        found = config.query_all("#pk = :pk", {"pk": "p"}, limit=4)
        assert made == []
        next(found)
    assert len(made) == 1


def test_writes_fill_batches_of_25(cloud: None) -> None:
    items = [{"pk": "p", "sk": f"{n:02}"} for n in range(51)]
    with aws_requests() as made:
        config.write_all(items)
    assert [len(each.parameters["RequestItems"][config.name]) for each in made] == [25, 25, 1]
    with aws_requests() as made:
        config.write_all([{"pk": "p", "sk": "new"}], delete=[("p", f"{n:02}") for n in range(51)])
    assert len(made) == 3
    assert list(config.query_all("#pk = :pk", {"pk": "p"})) == [{"pk": "p", "sk": "new"}]


def test_nothing_to_write_or_get_costs_no_request(cloud: None) -> None:
    with aws_requests() as made:
        config.write_all([])
        assert config.get_all([]) == []
    assert made == []


def test_reads_fill_batches_of_100_and_skip_what_is_not_there(cloud: None) -> None:
    config.write_all([{"pk": "p", "sk": "1"}, {"pk": "p", "sk": "150"}])
    with aws_requests() as made:
        found = config.get_all(("p", str(n)) for n in range(151))
    assert sorted(item["sk"] for item in found) == ["1", "150"]
    assert [len(each.parameters["RequestItems"][config.name]["Keys"]) for each in made] == [100, 51]


@pytest.mark.parametrize("consistent", [True, False])
def test_reads_in_batches_are_consistent_when_asked_to_be(cloud: None, consistent: bool) -> None:
    with aws_requests() as made:
        config.get_all([("p", "1")], consistent=consistent)
    (request,) = made
    asked = request.parameters["RequestItems"][config.name]
    assert asked.get("ConsistentRead", False) is consistent


class Busy:
    """A client that leaves over the second half of what it is given, ``times`` times."""

    def __init__(self, real: Any, times: int) -> None:
        self._real, self.times = real, times

    def batch_write_item(self, RequestItems: dict[str, Any]) -> Any:
        ((name, requests),) = RequestItems.items()
        done, left = self._split(requests)
        if done:
            self._real.batch_write_item(RequestItems={name: done})
        return {"UnprocessedItems": {name: left} if left else {}}

    def batch_get_item(self, RequestItems: dict[str, Any]) -> Any:
        ((name, request),) = RequestItems.items()
        done, left = self._split(request["Keys"])
        answer = self._real.batch_get_item(RequestItems={name: {"Keys": done}}) if done else {}
        return {
            "Responses": answer.get("Responses", {}),
            "UnprocessedKeys": {name: {"Keys": left}} if left else {},
        }

    def _split(self, given: list[Any]) -> tuple[list[Any], list[Any]]:
        middle = len(given) // 2 if self.times else len(given)
        self.times -= 1
        return given[:middle], given[middle:]


def _serve(monkeypatch: pytest.MonkeyPatch, client: Any) -> None:
    monkeypatch.setattr(aws, "dynamodb", lambda: client)


def test_what_is_left_over_is_sent_again_after_growing_pauses(
    cloud: None, monkeypatch: pytest.MonkeyPatch, no_pauses: list[float]
) -> None:
    items = [{"pk": "p", "sk": f"{n}"} for n in range(10)]
    real = aws.dynamodb()
    _serve(monkeypatch, Busy(real, times=3))
    config.write_all(items)
    _serve(monkeypatch, Busy(real, times=3))
    found = config.get_all(("p", f"{n}") for n in range(10))
    assert sorted(found, key=lambda item: item["sk"]) == items
    assert are_about(no_pauses, [0.025, 0.05, 0.1] * 2)


def test_a_table_that_never_has_time_is_given_up(
    cloud: None, monkeypatch: pytest.MonkeyPatch, no_pauses: list[float]
) -> None:
    _serve(monkeypatch, Busy(aws.dynamodb(), times=1000))
    with pytest.raises(RuntimeError, match="writes were refused"):
        config.write_all([{"pk": "p", "sk": "1"}])
    assert 3 < sum(no_pauses) < 15
    with pytest.raises(RuntimeError, match="reads were refused"):
        config.get_all([("p", "1")])


def test_a_transaction_applies_all_its_actions(item: dict[str, Any]) -> None:
    config.put({"pk": "a", "sk": "old"})
    transact(
        [
            put(messages, {"pk": "m", "sk": "1"}, condition="attribute_not_exists(#pk)"),
            change(config, "a", "b", "SET #n = :n", values={"n": 2, "o": 1}, condition="#n = :o"),
            remove(config, "a", "old", condition="attribute_exists(#pk)"),
        ]
    )
    assert messages.get("m", "1") == {"pk": "m", "sk": "1"}
    assert config.get("a", "b") == item | {"n": 2}
    assert config.get("a", "old") is None


def test_a_transaction_with_a_failed_condition_applies_nothing(item: dict[str, Any]) -> None:
    with pytest.raises(TransactionFailed) as failure:
        transact(
            [
                put(messages, {"pk": "m", "sk": "1"}),
                change(config, "a", "b", "SET #n = :n", values={"n": 2}, condition="#n = :n"),
            ]
        )
    assert failure.value.failed == [1]
    assert messages.get("m", "1") is None
    assert config.get("a", "b") == item


class Cancelling:
    """A client whose transactions are cancelled for ``reasons``, one after the other."""

    def __init__(self, *reasons: str) -> None:
        self._reasons = list(reasons)
        self.tokens: list[str | None] = []

    def transact_write_items(self, **arguments: Any) -> None:
        self.tokens.append(arguments.get("ClientRequestToken"))
        if not self._reasons:
            return
        reason = self._reasons.pop(0)
        raise ClientError(
            {
                "Error": {"Code": "TransactionCanceledException", "Message": reason},
                "CancellationReasons": [{"Code": "None"}, {"Code": reason}],
            },
            "TransactWriteItems",
        )


WRITES = [Write("Put", {}), Write("Put", {})]


@pytest.mark.parametrize(
    "reason", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"]
)
def test_a_transaction_that_met_another_or_too_many_is_made_again(
    reason: str, monkeypatch: pytest.MonkeyPatch, no_pauses: list[float]
) -> None:
    client = Cancelling(reason, reason)
    _serve(monkeypatch, client)
    transact(WRITES, token="t")
    assert client.tokens == ["t", "t", "t"]
    assert are_about(no_pauses, [0.025, 0.05])


def test_a_transaction_that_is_always_met_by_another_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _serve(monkeypatch, Cancelling(*["TransactionConflict"] * 100))
    with pytest.raises(RuntimeError, match="too long"):
        transact(WRITES)


def test_a_transaction_that_can_never_be_made_is_no_failed_condition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _serve(monkeypatch, Cancelling("ValidationError"))
    with pytest.raises(ClientError, match="ValidationError"):
        transact(WRITES)


def test_items_are_encoded_attribute_by_attribute() -> None:
    assert encode_item({"pk": "a", "n": 1}) == {"pk": {"S": "a"}, "n": {"N": "1"}}
    assert decode_item({"pk": {"S": "a"}, "n": {"N": "1"}}) == {"pk": "a", "n": 1}
