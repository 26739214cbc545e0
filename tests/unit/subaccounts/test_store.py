from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws

from chalicelib.core import clock, dynamo
from chalicelib.core.caches import clear_caches
from chalicelib.core.dynamo import Table, TransactionFailed
from chalicelib.subaccounts import store
from chalicelib.subaccounts.entries import ALL, ORDERS, List, lists_of, of_pool, position
from chalicelib.subaccounts.model import Subaccount
from tests.fake_cloud import aws_requests, create_resources
from tests.unit.people import make_subaccount

CONFIG = Table("config")


def listed(which: List = ALL, order: str = "id", *, descending: bool = False) -> list[int]:
    return [each.id for each in store.in_list(1, which, order, descending=descending)]


def change(number: int, **fields: Any) -> Subaccount:
    changed = store.change(1, number, lambda before: replace(before, **fields))
    assert changed is not None
    return changed


@pytest.mark.spec("2.6-t1")
def test_ids_are_unique_among_all_accounts(cloud: None) -> None:
    assert [make_subaccount(account).id for account in (1, 2, 1)] == [1, 2, 3]


def test_a_subaccount_comes_back_to_its_account_only(cloud: None) -> None:
    made = make_subaccount(name="Mine", ip_pool="Fast", options={"deliverability": True})
    assert store.get(1, made.id) == made
    assert store.get(2, made.id) is None
    assert store.get(1, 99) is None
    assert store.get_all(1, [made.id, made.id, 99]) == [made]
    assert store.get_all(2, [made.id]) == []


def test_the_revision_is_stored_as_the_version_and_grows_with_each_change(cloud: None) -> None:
    subaccount = make_subaccount()
    assert change(subaccount.id, name="New").revision == subaccount.revision + 1
    item = CONFIG.get(*store.key_of(subaccount.id))
    assert item is not None
    assert item["version"] == subaccount.revision + 1
    assert "revision" not in item


@pytest.mark.cost
def test_creating_and_changing_cost_one_transaction(cloud: None) -> None:
    with aws_requests() as made:
        number = make_subaccount().id
    assert [request.operation for request in made] == ["UpdateItem", "TransactWriteItems"]
    with aws_requests() as made:
        change(number, status="suspended", ip_pool="fast")
    assert [request.operation for request in made] == ["GetItem", "TransactWriteItems"]


def test_an_id_is_not_given_twice(cloud: None) -> None:
    made = make_subaccount()
    with pytest.raises(TransactionFailed):
        store.create(replace(made, name="Another"))
    assert store.count(1) == 1
    assert store.get(1, made.id) == made


def test_what_is_written_beside_a_new_subaccount_is_written_with_it_or_not_at_all(
    cloud: None,
) -> None:
    made = make_subaccount()
    beside = dynamo.put(CONFIG, {"pk": "beside", "sk": "it"})
    with pytest.raises(TransactionFailed):
        store.create(made, [beside])
    assert CONFIG.get("beside", "it") is None
    store.create(replace(made, id=store.draw_id()), [beside])
    assert CONFIG.get("beside", "it")


def test_a_change_that_comes_in_between_is_not_lost(cloud: None) -> None:
    number = make_subaccount().id
    calls = 0

    def edit(before: Subaccount) -> Subaccount:
        nonlocal calls
        calls += 1
        if calls == 1:
            change(number, name="Theirs")
        return replace(before, status="suspended")

    changed = store.change(1, number, edit)
    assert changed is not None
    assert (calls, changed.name, changed.status) == (2, "Theirs", "suspended")
    assert store.count(1, List("status", "suspended")) == 1


def test_a_subaccount_of_another_account_is_not_changed(cloud: None) -> None:
    number = make_subaccount(2).id
    assert store.change(1, number, lambda before: replace(before, name="Taken")) is None
    found = store.get(2, number)
    assert found is not None
    assert found.name == "A sender"


def test_orders_are_by_age_by_change_and_by_name_in_any_case(cloud: None) -> None:
    for moment, name in enumerate(["b", "C", "a", "A"]):
        with clock.use(lambda moment=moment: 1000.0 + moment):
            make_subaccount(name=name)
    with clock.use(lambda: 2000.0):
        change(2)
    assert listed(order="id") == listed(order="created_at") == [1, 2, 3, 4]
    assert listed(order="name") == [3, 4, 1, 2]
    assert listed(order="updated_at") == [1, 3, 4, 2]
    assert listed(order="updated_at", descending=True) == [2, 4, 3, 1]


FIELDS = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["Ann", "ann", "Bob", "b", "é"]),
        "status": st.sampled_from(["active", "suspended", "terminated"]),
        "ip_pool": st.sampled_from(["", "Fast", "fast", "slow"]),
        "options": st.sampled_from(
            [
                {},
                {"deliverability": True},
                {"deliverability": False},
                {"open_tracking_disabled": True},
            ]
        ),
    }
)


@given(st.lists(st.tuples(st.integers(0, 3), FIELDS), max_size=8))
@settings(max_examples=8)
def test_lists_and_counts_are_what_a_look_at_every_subaccount_says(
    changes: list[tuple[int, dict[str, Any]]],
) -> None:
    clear_caches()
    with mock_aws():
        create_resources()
        make_subaccount(2, status="suspended", ip_pool="fast")
        known: dict[int, Subaccount] = {}
        for choice, fields in changes:
            if choice < len(known):
                number = list(known)[choice]
                known[number] = change(number, **fields)
            else:
                made = make_subaccount(**fields)
                known[made.id] = made
        lists = [
            ALL,
            *(List("status", status) for status in ("active", "suspended", "terminated")),
            *(of_pool(pool) for pool in ("fast", "slow")),
            List("option", "deliverability"),
        ]
        for which in lists:
            holds = [each for each in known.values() if which in lists_of(each)]
            assert store.count(1, which) == len(holds)
            for order in ORDERS:
                placed = sorted(holds, key=lambda each: position(each, order))
                assert listed(which, order) == [each.id for each in placed]
