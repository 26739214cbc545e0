from __future__ import annotations

import pytest

from chalicelib.fleet.model import Fleet, usable_pool
from tests.unit.fleet.examples import an_ip, fleet_of
from tests.unit.refusals import refusal

FLEET = fleet_of(an_ip(1, "fast"), fast="", slow="", empty="")
UNFILLED = fleet_of(fast="", slow="")


def refused_pool(fleet: Fleet, assigned: str, name: str) -> str:
    error = refusal(usable_pool, fleet, assigned, name)
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
        ("gone", None, "default"),
        ("gone", "default", "default"),
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


def test_a_pool_without_an_ip_is_refused_while_others_have_one() -> None:
    assert "no sending IP" in refused_pool(FLEET, "", "empty")


def test_an_account_without_sending_ips_may_use_its_pools_all_the_same() -> None:
    assert usable_pool(UNFILLED, "", "fast") == "fast"


@pytest.mark.spec("2.6-t5")
@pytest.mark.parametrize("name", ["slow", "default"])
def test_a_subaccount_is_limited_to_its_pool(name: str) -> None:
    assert "'fast' only" in refused_pool(UNFILLED, "fast", name)
