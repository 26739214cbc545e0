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


def ids_in(which: List = ALL, order: str = "id", *, descending: bool = False) -> list[int]:
    return [each.id for each in store.in_list(1, which, order, descending=descending)]


def change(number: int, **fields: Any) -> Subaccount:
    changed = store.change(1, number, lambda before: replace(before, **fields))
    assert changed is not None
    return changed


@pytest.mark.spec("2.6-t1")
def test_ids_are_unique_among_all_accounts(cloud: None) -> None:
    assert [make_subaccount(account).id for account in (1, 2, 1)] == [1, 2, 3]


def test_only_its_own_account_reads_a_subaccount(cloud: None) -> None:
    subaccount = make_subaccount(name="Mine", ip_pool="Fast", options={"deliverability": True})
    assert store.get(1, subaccount.id) == subaccount
    assert store.get(2, subaccount.id) is None
    assert store.get(1, 99) is None
    assert store.get_all(1, [subaccount.id, subaccount.id, 99]) == [subaccount]
    assert store.get_all(2, [subaccount.id]) == []


def test_the_revision_is_stored_as_the_version_and_grows_with_each_change(cloud: None) -> None:
    subaccount = make_subaccount()
    assert change(subaccount.id, name="New").revision == subaccount.revision + 1
    item = CONFIG.get(*store.key_of(subaccount.id))
    assert item is not None
    assert item["version"] == subaccount.revision + 1
    assert "revision" not in item


@pytest.mark.cost
def test_creating_and_changing_cost_one_transaction(cloud: None) -> None:
    with aws_requests() as requests:
        number = make_subaccount().id
    assert [request.operation for request in requests] == ["UpdateItem", "TransactWriteItems"]
    with aws_requests() as requests:
        change(number, status="suspended", ip_pool="fast")
    assert [request.operation for request in requests] == ["GetItem", "TransactWriteItems"]


def test_an_id_is_not_used_twice(cloud: None) -> None:
    subaccount = make_subaccount()
    with pytest.raises(TransactionFailed):
        store.create(replace(subaccount, name="Another"))
    assert store.count(1) == 1
    assert store.get(1, subaccount.id) == subaccount


def test_further_writes_are_made_with_a_new_subaccount_or_not_at_all(
    cloud: None,
) -> None:
    subaccount = make_subaccount()
    beside = dynamo.put(CONFIG, {"pk": "beside", "sk": "it"})
    with pytest.raises(TransactionFailed):
        store.create(subaccount, [beside])
    assert CONFIG.get("beside", "it") is None
    store.create(replace(subaccount, id=store.draw_id()), [beside])
    assert CONFIG.get("beside", "it")


def test_a_concurrent_change_is_not_lost(cloud: None) -> None:
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
    subaccount = store.get(2, number)
    assert subaccount is not None
    assert subaccount.name == "A sender"


def test_lists_are_ordered_by_age_by_change_or_by_name_without_case(cloud: None) -> None:
    for moment, name in enumerate(["b", "C", "a", "A"]):
        with clock.use(lambda moment=moment: 1000.0 + moment):
            make_subaccount(name=name)
    with clock.use(lambda: 2000.0):
        change(2)
    assert ids_in(order="id") == ids_in(order="created_at") == [1, 2, 3, 4]
    assert ids_in(order="name") == [3, 4, 1, 2]
    assert ids_in(order="updated_at") == [1, 3, 4, 2]
    assert ids_in(order="updated_at", descending=True) == [2, 4, 3, 1]


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
def test_lists_and_counts_agree_with_the_subaccounts(
    changes: list[tuple[int, dict[str, Any]]],
) -> None:
    clear_caches()
    with mock_aws():
        create_resources()
        make_subaccount(2, status="suspended", ip_pool="fast")
        subaccounts: dict[int, Subaccount] = {}
        for choice, fields in changes:
            if choice < len(subaccounts):
                number = list(subaccounts)[choice]
                subaccounts[number] = change(number, **fields)
            else:
                subaccount = make_subaccount(**fields)
                subaccounts[subaccount.id] = subaccount
        lists = [
            ALL,
            *(List("status", status) for status in ("active", "suspended", "terminated")),
            *(of_pool(pool) for pool in ("fast", "slow")),
            List("option", "deliverability"),
        ]
        for which in lists:
            holds = [each for each in subaccounts.values() if which in lists_of(each)]
            assert store.count(1, which) == len(holds)
            for order in ORDERS:
                placed = sorted(holds, key=lambda each: position(each, order))
                assert ids_in(which, order) == [each.id for each in placed]


def test_a_subaccount_of_an_earlier_version_is_active_for_compliance(cloud: None) -> None:
    number = make_subaccount().id
    item = Table("config").get(*store.key_of(number))
    assert item is not None
    del item["compliance_status"]
    Table("config").put(item)
    subaccount = store.get(1, number)
    assert subaccount is not None
    assert subaccount.compliance_status == "active"
