from __future__ import annotations

from collections.abc import Callable

import pytest

from chalicelib.fleet.model import Fleet, usable_pool, usable_pool_now
from tests.unit.fleet.examples import an_ip, fleet_of
from tests.unit.refusals import refusal

FLEET = fleet_of(an_ip(1, "fast"), fast="", slow="", empty="")
UNFILLED = fleet_of(fast="", slow="")


def refused_pool(
    fleet: Fleet,
    assigned: str,
    name: str | None,
    choose: Callable[[Fleet, str, str | None], str] = usable_pool,
) -> str:
    error = refusal(choose, fleet, assigned, name)
    assert (error.status, error.errors[0]["code"]) == (422, "1300")
    return str(error.errors[0]["description"])


@pytest.mark.parametrize(
    ("assigned", "name", "pool_id"),
    [
        ("", None, "default"),
        ("", "default", "default"),
        ("", "Default", "default"),
        ("", "FAST", "fast"),
        ("Fast", None, "fast"),
        ("Fast", "fast", "fast"),
    ],
)
def test_the_pool_is_the_requested_one_or_the_subaccounts_or_the_default(
    assigned: str, name: str | None, pool_id: str
) -> None:
    assert usable_pool(FLEET, assigned, name) == pool_id


@pytest.mark.spec("2.1-t15")
@pytest.mark.parametrize("name", ["missing", "", "fast "])
def test_a_pool_that_the_account_does_not_have_is_refused(name: str) -> None:
    assert "does not exist" in refused_pool(FLEET, "", name)


def test_the_shared_pool_cannot_be_named() -> None:
    assert "reserved" in refused_pool(FLEET, "", "Shared pool")


@pytest.mark.spec("2.6-t5")
@pytest.mark.parametrize(
    ("assigned", "name"), [("", "empty"), ("Empty", "empty"), ("empty", "EMPTY"), ("Empty", None)]
)
def test_a_pool_without_an_ip_is_refused_while_others_have_one(
    assigned: str, name: str | None
) -> None:
    assert "pool 'empty' has no sending IP" in refused_pool(FLEET, assigned, name)
    assert usable_pool(fleet_of(empty=""), assigned, name) == "empty"


@pytest.mark.spec("2.6-t5")
@pytest.mark.parametrize("fleet", [FLEET, UNFILLED, fleet_of()])
@pytest.mark.parametrize("name", [None, "gone", "default", "fast"])
def test_a_subaccount_whose_pool_does_not_exist_sends_by_no_other(
    fleet: Fleet, name: str | None
) -> None:
    refused_pool(fleet, "gone", name)
    refused_pool(fleet, "gone", name, usable_pool_now)


def test_mail_of_a_pool_that_was_deleted_leaves_by_the_default_pool() -> None:
    assert usable_pool_now(FLEET, "", "gone") == "default"
    assert usable_pool_now(FLEET, "fast", "gone") == "fast"
    assert usable_pool_now(FLEET, "", None) == "default"
    assert usable_pool_now(FLEET, "", "fast") == "fast"


def test_mail_of_a_pool_that_has_lost_its_ips_or_its_subaccount_is_refused() -> None:
    assert "no sending IP" in refused_pool(FLEET, "", "empty", usable_pool_now)
    assert "no sending IP" in refused_pool(FLEET, "empty", None, usable_pool_now)
    assert "'fast' only" in refused_pool(FLEET, "fast", "slow", usable_pool_now)


def test_an_account_without_sending_ips_may_use_its_pools_all_the_same() -> None:
    assert usable_pool(UNFILLED, "", "fast") == "fast"


@pytest.mark.spec("2.6-t5")
@pytest.mark.parametrize("name", ["slow", "default"])
def test_a_subaccount_is_limited_to_its_pool(name: str) -> None:
    assert "'fast' only" in refused_pool(UNFILLED, "fast", name)
