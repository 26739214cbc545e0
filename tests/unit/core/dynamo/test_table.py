from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.core.dynamo import ConditionFailed, Table
from tests.fake_cloud import aws_requests
from tests.unit.core.dynamo.values import VALUES

config = Table("config")


@pytest.mark.usefixtures("cloud")
@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), VALUES, max_size=4))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_item_is_read_back_unchanged(item: dict[str, Any]) -> None:
    full_item = item | {"pk": "a", "sk": "b"}
    config.put(full_item)
    assert config.get("a", "b") == full_item


@pytest.fixture
def item(cloud: None) -> dict[str, Any]:
    item = {"pk": "a", "sk": "b", "n": 1}
    config.put(item)
    return item


def test_get_returns_none_for_a_missing_item(cloud: None) -> None:
    assert config.get("a", "b") is None


def test_creating_an_existing_item_fails_with_that_item(item: dict[str, Any]) -> None:
    config.create({"pk": "a", "sk": "c"})
    with pytest.raises(ConditionFailed) as failure:
        config.create({"pk": "a", "sk": "b", "n": 2})
    assert failure.value.item == item
    assert config.get("a", "b") == item


def test_a_put_whose_condition_holds_replaces_the_item(item: dict[str, Any]) -> None:
    config.put(item | {"n": 2}, condition="#n = :old", values={"old": 1})
    assert config.get("a", "b") == item | {"n": 2}
    with pytest.raises(ConditionFailed):
        config.put(item | {"n": 3}, condition="#n = :old", values={"old": 1})


def test_an_update_returns_the_updated_item(item: dict[str, Any]) -> None:
    changed = config.update(
        "a",
        "b",
        "SET #n = #n + :one, #m = if_not_exists(#m, :zero) REMOVE #gone",
        values={"one": 1, "zero": 0},
    )
    assert changed == item | {"n": 2, "m": 0}


def test_attribute_names_are_found_anywhere_in_an_expression(item: dict[str, Any]) -> None:
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


def test_a_failed_condition_on_a_missing_item_carries_no_item(cloud: None) -> None:
    with pytest.raises(ConditionFailed) as failure:
        config.update("x", "y", "SET #n = :n", values={"n": 1}, condition="attribute_exists(#pk)")
    assert failure.value.item is None
    assert config.get("x", "y") is None


def test_deleting_returns_the_deleted_item(item: dict[str, Any]) -> None:
    with pytest.raises(ConditionFailed) as failure:
        config.delete("a", "b", condition="#n = :n", values={"n": 2})
    assert failure.value.item == item
    assert config.delete("a", "b") == item
    assert config.delete("a", "b") is None


def test_other_errors_of_aws_are_not_condition_failures(cloud: None) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        Table("nowhere").create({"pk": "a", "sk": "b"})


@pytest.fixture
def ten(cloud: None) -> list[dict[str, Any]]:
    items = [{"pk": "p", "sk": f"{n}", "owner": "o", "owner_key": f"{9 - n}"} for n in range(10)]
    config.write_all([*items, {"pk": "q", "sk": "0"}])
    return items


def test_a_query_returns_its_items_in_order_page_by_page(ten: list[dict[str, Any]]) -> None:
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


@pytest.mark.cost
def test_query_all_makes_one_request_per_page(ten: list[dict[str, Any]]) -> None:
    with aws_requests() as requests:
        assert list(config.query_all("#pk = :pk", {"pk": "p"}, limit=4)) == ten
    assert len(requests) == 3


@pytest.mark.cost
def test_query_all_makes_no_request_before_its_first_item_is_needed(
    ten: list[dict[str, Any]],
) -> None:
    with aws_requests() as requests:
        items = config.query_all("#pk = :pk", {"pk": "p"}, limit=4)
        assert requests == []
        next(items)
    assert len(requests) == 1
