from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.core import due
from chalicelib.core.dynamo import Table
from chalicelib.core.errors import ApiError
from chalicelib.fleet import store
from chalicelib.fleet.model import Fleet, IpPool, usable_pool
from chalicelib.ip_pools.changes import without_pool
from tests.fake_cloud import aws_requests
from tests.unit.fleet.examples import add, an_ip, fleet_of, make_pool, warming

pytestmark = pytest.mark.usefixtures("cloud")

FAR = 10**12


def replace_fleet(fleet: Fleet) -> Fleet:
    return store.change(fleet.account_id, lambda before: replace(fleet, revision=before.revision))


def due_keys() -> list[tuple[int, str]]:
    return [(entry.at_ms, entry.key) for entry in due.find(store.CONCERN, FAR)]


def test_a_fleet_comes_back_as_it_was_stored() -> None:
    ip = warming(1, "a", 3, customer_provided=True, source_address="10.0.0.1", advance_ms=7)
    fleet = replace_fleet(fleet_of(ip, an_ip(2, smarthost="h:25"), a="shared pool", b=""))
    assert store.get(1) == store.get_cached(1) == fleet
    assert fleet.revision == 1
    assert store.get(2) == Fleet(2)


@pytest.mark.cost
def test_reading_a_fleet_costs_one_request_and_none_while_it_is_cached() -> None:
    with aws_requests() as requests:
        assert store.get_cached(1) == store.get_cached(1) == Fleet(1)
        make_pool("Fast")
        assert [pool.id for pool in store.get_cached(1).pools] == ["fast"]
        store.get_cached(1)
    assert [each.operation for each in requests] == [
        "GetItem",
        "GetItem",
        "TransactWriteItems",
        "GetItem",
    ]


def test_a_pool_exists_in_any_case_and_for_its_account_only() -> None:
    make_pool("Fast")
    assert store.exists(1, "FAST")
    assert store.exists(1, "default")
    assert store.exists(2, "Default")
    assert not store.exists(2, "fast")
    assert not store.exists(1, "shared pool")


@pytest.mark.cost
@pytest.mark.spec("2.6-t5")
def test_the_pool_of_a_transmission_is_checked_against_the_cached_fleet() -> None:
    make_pool("Fast")
    assert usable_pool(store.get_cached(1), "", "FAST") == "fast"
    with aws_requests() as requests, pytest.raises(ApiError):
        usable_pool(store.get_cached(1), "fast", "default")
    assert requests == []


@pytest.mark.parametrize("first", [True, False])
def test_a_change_is_made_again_if_another_writer_came_first(first: bool) -> None:
    seen: list[int] = []

    def edit(fleet: Fleet) -> Fleet:
        seen.append(fleet.revision)
        if len(seen) == 1:
            make_pool("Between")
        return replace(fleet, pools=(*fleet.pools, IpPool("mine", "Mine")))

    if not first:
        make_pool("Before")
    before = store.get(1)
    after = store.change(1, edit)
    assert seen == [before.revision, before.revision + 1]
    assert [pool.id for pool in after.pools[-2:]] == ["between", "mine"]
    assert store.get(1) == after


def test_a_change_that_other_writers_always_overtake_fails_with_503() -> None:
    def edit(fleet: Fleet) -> Fleet:
        make_pool("Between")
        return replace(fleet, pools=(IpPool("mine", "Mine"),))

    with pytest.raises(ApiError) as refusal:
        store.change(1, edit)
    assert refusal.value.status == 503


@pytest.mark.cost
def test_a_change_that_changes_nothing_writes_nothing() -> None:
    with aws_requests() as requests:
        store.change(1, lambda fleet: fleet)
    assert [each.operation for each in requests] == ["GetItem"]


def test_an_ip_belongs_to_one_account_until_it_is_removed() -> None:
    add(an_ip(1), an_ip(2))
    with pytest.raises(store.IpTaken):
        store.change(2, lambda fleet: fleet.with_ip(an_ip(1)))
    assert store.get(2).ips == ()
    store.change(1, lambda fleet: replace(fleet, ips=(an_ip(2),)))
    store.change(2, lambda fleet: fleet.with_ip(an_ip(1)))
    assert [ip.external_ip for ip in store.get(2).ips] == ["192.0.2.1"]
    assert Table("config").get("sending-ip#192.0.2.1", "sending-ip") == {
        "pk": "sending-ip#192.0.2.1",
        "sk": "sending-ip",
        "account_id": 2,
    }


def test_each_warm_up_is_due_once_at_its_time() -> None:
    first, second = warming(1, advance_ms=100), warming(2, advance_ms=200)
    replace_fleet(fleet_of(first, second, an_ip(3)))
    assert due_keys() == [(100, "1/192.0.2.1"), (200, "1/192.0.2.2")]
    replace_fleet(fleet_of(replace(first, advance_ms=300), replace(second, ip_pool="a"), a=""))
    assert due_keys() == [(200, "1/192.0.2.2"), (300, "1/192.0.2.1")]
    store.change(1, lambda fleet: without_pool(fleet, "a"))
    replace_fleet(fleet_of())
    assert due_keys() == []
