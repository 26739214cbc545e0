"""The messages of a work unit leave by the IPs of their pool."""

from __future__ import annotations

from collections import Counter

import pytest

from chalicelib.fleet import routing, sending_ips, store
from chalicelib.fleet.routing import Route
from chalicelib.ip_pools.changes import with_changed_ip, without_pool
from chalicelib.ip_pools.request import IpChange
from tests.fake_cloud import aws_requests
from tests.unit.fleet.examples import DAY, NOON, add, an_ip, make_pool, warming

pytestmark = pytest.mark.usefixtures("cloud")


def ways(pool: str = "default", count: int = 100, now: float = NOON) -> dict[tuple[str, str], int]:
    """Return how many of ``count`` messages leave by which pool and IP (its last number)."""
    routes = routing.choose(1, pool, now, count)
    assert len(routes) == count
    return dict(Counter((route.pool_id, route.sending_ip.rpartition(".")[2]) for route in routes))


def test_mail_of_an_account_without_ips_leaves_by_the_services_own_route() -> None:
    make_pool("Fast")
    assert routing.choose(1, "default", NOON, 2) == [Route("default")] * 2
    assert routing.choose(1, "FAST", NOON, 1) == [Route("fast")]
    assert routing.choose(1, "gone", NOON, 1) == [Route("default")]
    assert routing.choose(1, "default", NOON, 0) == []


def test_a_route_holds_how_its_ip_is_reached() -> None:
    make_pool("Fast")
    add(an_ip(1, source_address="10.0.0.1"), an_ip(2, "fast", smarthost="relay.test:587"))
    assert routing.choose(1, "default", NOON, 1) == [
        Route("default", "192.0.2.1", "10.0.0.1", "mta1.example.test")
    ]
    assert routing.choose(1, "fast", NOON, 1) == [
        Route("fast", "192.0.2.2", None, "mta2.example.test", "relay.test:587")
    ]


def test_a_configuration_set_of_ses_is_part_of_the_route() -> None:
    add(an_ip(1, ses_pool="dedicated"))
    assert routing.choose(1, "default", NOON, 1)[0].ses_pool == "dedicated"


def test_events_name_the_pool_in_force_and_the_ip() -> None:
    assert Route("fast").event_fields() == {"ip_pool": "fast"}
    fields = {"ip_pool": "fast", "sending_ip": "192.0.2.1"}
    assert Route("fast", "192.0.2.1").event_fields() == fields


def test_units_spread_over_the_ips_of_their_pool_and_each_keeps_its_own() -> None:
    make_pool("Other")
    add(*(an_ip(last) for last in range(1, 5)), an_ip(9, "other"))
    routes_by_key = {
        key: routing.choose(1, "default", NOON, 3, key=key) for key in map(str, range(400))
    }
    assert all(len(set(routes)) == 1 for routes in routes_by_key.values())
    shares = Counter(routes[0].sending_ip for routes in routes_by_key.values())
    assert set(shares) == {f"192.0.2.{last}" for last in range(1, 5)}
    assert min(shares.values()) > 60
    for key, routes in routes_by_key.items():
        assert routing.choose(1, "default", NOON + DAY, 3, key=key) == routes
    add(an_ip(5))
    moved = [
        key
        for key in routes_by_key
        if routing.choose(1, "default", NOON, 3, key=key) != routes_by_key[key]
    ]
    assert 40 < len(moved) < 130
    assert {routing.choose(1, "default", NOON, 1, key=key)[0].sending_ip for key in moved} == {
        "192.0.2.5"
    }


def test_mail_of_a_deleted_pool_leaves_by_the_ips_of_the_default_pool() -> None:
    make_pool("Fast")
    add(an_ip(1))
    store.change(1, lambda fleet: without_pool(fleet, "fast"))
    assert ways("fast") == {("default", "1"): 100}


@pytest.mark.spec("2.6-t5")
def test_mail_of_a_pool_that_has_lost_its_ips_leaves_by_no_other() -> None:
    make_pool("Spare")
    make_pool("Fast", auto_warmup_overflow_pool="spare")
    add(an_ip(1), an_ip(2, "spare"))
    assert routing.choose(1, "fast", NOON, 2) == [Route("fast", closed=True)] * 2
    assert routing.first_container(1, "fast", key="") == ""
    add(an_ip(3, "fast"))
    assert ways("fast") == {("fast", "3"): 100}


def move(last: int, pool: str) -> None:
    change = IpChange(ip_pool=pool)
    store.change(1, lambda fleet: with_changed_ip(fleet, f"192.0.2.{last}", change, 0))


def test_an_ip_is_used_again_while_its_pool_takes_the_mail() -> None:
    make_pool("Spare")
    make_pool("New", auto_warmup_overflow_pool="spare")
    add(warming(1, "new"), an_ip(2, "spare"), an_ip(3))

    def used_again(pool: str, last: int) -> bool:
        route = routing.by_ip(1, pool, f"192.0.2.{last}")
        assert route is None or route.sending_ip == f"192.0.2.{last}"
        return route is not None

    assert [used_again("new", last) for last in (1, 2, 3, 4)] == [True, True, False, False]
    assert used_again("gone", 3)
    move(1, "default")
    assert not used_again("new", 1)
    assert used_again("default", 1)
    move(2, "default")
    assert used_again("new", 3), "the default pool takes the place of the empty overflow pool"


def test_mail_of_an_empty_default_pool_leaves_by_the_services_own_route() -> None:
    make_pool("Fast")
    add(an_ip(1, "fast"))
    assert ways("default") == {("default", ""): 100}


def test_a_warming_ip_takes_its_volume_and_the_overflow_pool_the_rest() -> None:
    make_pool("Spare")
    make_pool("New", auto_warmup_overflow_pool="spare")
    add(warming(1, "new"), an_ip(2, "spare"))
    assert [ways("new", 80) for _ in range(4)] == [
        {("new", "1"): 80},
        {("new", "1"): 80},
        {("new", "1"): 40, ("spare", "2"): 40},
        {("spare", "2"): 80},
    ]
    assert ways("new", 80, NOON + DAY) == {("new", "1"): 80}


def test_the_first_messages_of_a_unit_warm_the_ip() -> None:
    add(warming(1))
    ways(count=150)
    routes = routing.choose(1, "default", NOON, 100)
    assert [route.sending_ip != "" for route in routes] == [True] * 50 + [False] * 50


@pytest.mark.parametrize("overflow", ["", "shared pool"])
def test_without_an_overflow_pool_the_rest_leaves_by_the_services_own_route(overflow: str) -> None:
    make_pool("New", auto_warmup_overflow_pool=overflow)
    add(warming(1, "new"), an_ip(2))
    assert ways("new", 250) == {("new", "1"): 200, ("shared pool", ""): 50}


def test_the_rest_stays_in_a_pool_that_has_another_ip() -> None:
    make_pool("Spare")
    make_pool("Mixed", auto_warmup_overflow_pool="spare")
    add(warming(1, "mixed"), an_ip(2, "mixed"), an_ip(3, "spare"))
    assert ways("mixed", 250) == {("mixed", "1"): 200, ("mixed", "2"): 50}


def test_several_warming_ips_are_filled_one_after_the_other() -> None:
    add(warming(1), warming(2, stage=2), warming(3))
    counts = ways(count=700)
    assert counts[("default", "2")] == 280
    assert counts == {
        ("default", "1"): 200,
        ("default", "2"): 280,
        ("default", "3"): 200,
        ("shared pool", ""): 20,
    }


def test_a_warming_ip_of_the_overflow_pool_takes_only_its_volume_too() -> None:
    make_pool("Spare")
    make_pool("New", auto_warmup_overflow_pool="spare")
    add(warming(1, "new"), warming(2, "spare"))
    assert ways("new", 500) == {("new", "1"): 200, ("spare", "2"): 200, ("shared pool", ""): 100}


def test_the_default_pool_takes_the_place_of_an_empty_overflow_pool() -> None:
    make_pool("Spare")
    make_pool("New", auto_warmup_overflow_pool="spare")
    add(warming(1, "new"), an_ip(2))
    assert ways("new", 201) == {("new", "1"): 200, ("default", "2"): 1}


@pytest.mark.cost
def test_choosing_routes_costs_one_request_if_an_ip_is_warming_and_none_otherwise() -> None:
    make_pool("New")
    add(an_ip(1), warming(2, "new"))
    ways()
    with aws_requests() as requests:
        ways("default")
        ways("new", 50)
        ways("new", 50)
    assert [each.operation for each in requests] == ["UpdateItem", "UpdateItem"]
    sending_ips.remove(1, "192.0.2.2")
    ways("new")
    with aws_requests() as requests:
        ways("new")
    assert requests == []
