"""``/tracking-domains``."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import defaults
from chalicelib.tracking_domains import store
from chalicelib.tracking_domains.routes import (
    create_tracking_domain,
    delete_tracking_domain,
    list_tracking_domains,
    show_tracking_domain,
    update_tracking_domain,
)
from tests.unit.sending_domains.requests import error_of, request, results
from tests.unit.tracking_domains.examples import stored

pytestmark = pytest.mark.usefixtures("cloud")


def create(body: Any, *, account: int = 1, part: int = 0) -> Any:
    return results(create_tracking_domain(request(body, account=account, part=part)))


def shown(name: str, part: int | None = None) -> Any:
    return results(show_tracking_domain(request(part=part), name))


def update(name: str, *, part: int = 0, **body: Any) -> Any:
    return results(update_tracking_domain(request(body, part=part), name))


def listed(part: int | None = None, **query: str) -> list[str]:
    found = results(list_tracking_domains(request(part=part, query=query)))
    return [each["domain"] for each in found]


def test_a_new_domain_is_unverified_and_plain() -> None:
    assert create({"domain": "Track.Example.test"}) == {"domain": "track.example.test"}
    assert shown("track.example.test") == {
        "domain": "track.example.test",
        "port": 80,
        "secure": False,
        "default": False,
        "status": {
            "verified": False,
            "cname_status": "unverified",
            "compliance_status": "valid",
        },
    }


def test_a_domain_of_a_subaccount_shows_it_and_one_with_tls_its_port() -> None:
    create({"domain": "bücher.test", "secure": True}, part=7)
    found = shown("bücher.test", 7)
    assert (found["domain"], found["port"], found["secure"], found["subaccount_id"]) == (
        "xn--bcher-kva.test",
        443,
        True,
        7,
    )


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "1400"),
        ({"domain": "nodot"}, 422, "1300"),
        ({"domain": "exa mple.test"}, 422, "1300"),
        ({"domain": ""}, 422, "1300"),
        ({"domain": 7}, 422, "1300"),
        ({"domain": "a.test", "secure": "yes"}, 422, "1300"),
        ({"domain": "co.uk"}, 400, "7000"),
    ],
)
def test_what_cannot_be_a_tracking_domain_is_refused(
    body: dict[str, Any], status: int, code: str
) -> None:
    error = error_of(lambda: create(body))
    assert (error["status"], error["code"]) == (status, code)
    if code == "7000":
        assert (error["param"], error["value"]) == ("domain", "co.uk")


def test_a_name_that_anyone_has_is_a_conflict() -> None:
    create({"domain": "a.test"})
    for account in (1, 2):
        error = error_of(lambda a=account: create({"domain": "A.test"}, account=a))
        assert (error["status"], error["code"]) == (409, "1602")
        assert error["description"] == "The tracking domain already exists"


def test_each_part_of_an_account_sees_its_own_and_filters_narrow_the_list() -> None:
    stored("a.test", default=True)
    stored("b.test")
    stored("c.test", subaccount_id=7, default=True)
    stored("d.test", subaccount_id=8)
    stored("e.test", account=2)
    assert listed() == ["a.test", "b.test", "c.test", "d.test"]
    assert listed(0) == ["a.test", "b.test"]
    assert listed(7) == ["c.test"]
    assert listed(default="true") == ["a.test", "c.test"]
    assert listed(default="false") == ["a.test", "b.test", "c.test", "d.test"]
    assert listed(subaccounts="7, 8") == ["c.test", "d.test"]
    assert listed(subaccounts="0") == ["a.test", "b.test"]
    assert listed(subaccounts="9") == []
    assert listed(7, subaccounts="8") == []


@pytest.mark.parametrize("name", ["none.test", "x" * 3000, "é" * 400, ""])
def test_what_does_not_exist_or_is_not_the_callers_is_not_found(name: str) -> None:
    stored("a.test", subaccount_id=7)
    for wanted, part in ((name, 0), ("a.test", 0), ("a.test", 8)):
        caller = request({"default": True}, part=part)
        for view in (show_tracking_domain, update_tracking_domain, delete_tracking_domain):
            error = error_of(lambda v=view, c=caller, w=wanted: v(c, w))
            assert (error["status"], error["code"]) == (404, "1600")


def test_only_a_verified_domain_can_be_changed() -> None:
    stored("new.test", cname_status="unverified")
    for body in ({"default": True}, {"secure": True}):
        error = error_of(lambda b=body: update("new.test", **b))
        assert (error["status"], error["code"]) == (422, "1300")
        assert error["description"] == "Tracking domain 'new.test' unverified."
    stored("a.test")
    assert update("a.test", secure=True, default=True) == {"domain": "a.test"}
    found = shown("a.test")
    assert (found["secure"], found["port"], found["default"]) == (True, 443, True)
    update("a.test", secure=None, default=False)
    assert (shown("a.test")["secure"], shown("a.test")["default"]) == (True, False)


def test_each_owner_has_one_default_and_a_new_one_takes_its_place() -> None:
    for name in ("a.test", "b.test"):
        stored(name)
        update(name, default=True)
    stored("c.test", subaccount_id=7)
    update("c.test", part=7, default=True)
    assert listed(default="true") == ["b.test", "c.test"]
    assert defaults.current(store.KIND, 1, None) == "b.test"
    update("a.test", default=False)
    assert defaults.current(store.KIND, 1, None) == "b.test"
    update("b.test", default=False)
    assert defaults.current(store.KIND, 1, None) is None
    assert defaults.current(store.KIND, 1, 7) == "c.test"


def test_a_deleted_domain_is_gone_and_is_no_default_any_more() -> None:
    stored("a.test", default=True)
    reply = delete_tracking_domain(request(), "a.test")
    assert (reply.status, reply.body) == (204, b"")
    assert listed() == []
    assert defaults.current(store.KIND, 1, None) is None
    assert error_of(lambda: delete_tracking_domain(request(), "a.test"))["status"] == 404
    create({"domain": "a.test"}, account=2)
