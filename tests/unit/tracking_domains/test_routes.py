"""Call the endpoints of ``/tracking-domains``."""

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
from tests.unit.tracking_domains.examples import store_tracking_domain

pytestmark = pytest.mark.usefixtures("cloud")


def create(body: Any, *, account: int = 1, part: int = 0) -> Any:
    return results(create_tracking_domain(request(body, account=account, part=part)))


def show(name: str, part: int | None = None) -> Any:
    return results(show_tracking_domain(request(part=part), name))


def update(name: str, *, part: int = 0, **body: Any) -> Any:
    return results(update_tracking_domain(request(body, part=part), name))


def list_names(part: int | None = None, **query: str) -> list[str]:
    domains = results(list_tracking_domains(request(part=part, query=query)))
    return [domain["domain"] for domain in domains]


def test_a_new_domain_is_unverified_and_plain() -> None:
    assert create({"domain": "Track.Example.test"}) == {"domain": "track.example.test"}
    assert show("track.example.test") == {
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


def test_a_secure_domain_of_a_subaccount_shows_its_port_and_its_subaccount() -> None:
    create({"domain": "bücher.test", "secure": True}, part=7)
    domain = show("bücher.test", 7)
    assert (domain["domain"], domain["port"], domain["secure"], domain["subaccount_id"]) == (
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
def test_a_body_that_describes_no_tracking_domain_is_refused(
    body: dict[str, Any], status: int, code: str
) -> None:
    error = error_of(lambda: create(body))
    assert (error["status"], error["code"]) == (status, code)
    if code == "7000":
        assert (error["param"], error["value"]) == ("domain", "co.uk")


def test_a_name_that_any_account_has_registered_is_a_conflict() -> None:
    create({"domain": "a.test"})
    for account in (1, 2):
        error = error_of(lambda a=account: create({"domain": "A.test"}, account=a))
        assert (error["status"], error["code"]) == (409, "1602")
        assert error["description"] == "The tracking domain already exists"


def test_the_list_shows_the_domains_in_scope_that_pass_the_filters() -> None:
    store_tracking_domain("a.test", default=True)
    store_tracking_domain("b.test")
    store_tracking_domain("c.test", subaccount_id=7, default=True)
    store_tracking_domain("d.test", subaccount_id=8)
    store_tracking_domain("e.test", account=2)
    assert list_names() == ["a.test", "b.test", "c.test", "d.test"]
    assert list_names(0) == ["a.test", "b.test"]
    assert list_names(7) == ["c.test"]
    assert list_names(default="true") == ["a.test", "c.test"]
    assert list_names(default="false") == ["a.test", "b.test", "c.test", "d.test"]
    assert list_names(subaccounts="7, 8") == ["c.test", "d.test"]
    assert list_names(subaccounts="0") == ["a.test", "b.test"]
    assert list_names(subaccounts="9") == []
    assert list_names(7, subaccounts="8") == []
    assert list_names(subaccounts="007") == ["c.test"]


@pytest.mark.parametrize("text", ["abc", "7,x", "-1", "7.0", "٧", "1" * 5000])
def test_a_filter_by_what_is_no_subaccount_is_refused(text: str) -> None:
    query = {"subaccounts": text}
    error = error_of(lambda: list_tracking_domains(request(part=None, query=query)))
    assert (error["status"], error["code"]) == (400, "1200")


@pytest.mark.parametrize("name", ["none.test", "x" * 3000, "é" * 400, ""])
def test_a_domain_that_does_not_exist_or_belongs_to_another_owner_is_not_found(name: str) -> None:
    store_tracking_domain("a.test", subaccount_id=7)
    for path_name, part in ((name, 0), ("a.test", 0), ("a.test", 8)):
        caller = request({"default": True}, part=part)
        for route in (show_tracking_domain, update_tracking_domain, delete_tracking_domain):
            error = error_of(lambda r=route, c=caller, n=path_name: r(c, n))
            assert (error["status"], error["code"]) == (404, "1600")


def test_only_a_verified_domain_can_be_changed() -> None:
    store_tracking_domain("new.test", cname_status="unverified")
    for body in ({"default": True}, {"secure": True}):
        error = error_of(lambda b=body: update("new.test", **b))
        assert (error["status"], error["code"]) == (422, "1300")
        assert error["description"] == "Tracking domain 'new.test' unverified."
    store_tracking_domain("a.test")
    assert update("a.test", secure=True, default=True) == {"domain": "a.test"}
    domain = show("a.test")
    assert (domain["secure"], domain["port"], domain["default"]) == (True, 443, True)
    update("a.test", secure=None, default=False)
    assert (show("a.test")["secure"], show("a.test")["default"]) == (True, False)


def test_each_owner_has_one_default_and_a_new_default_replaces_it() -> None:
    for name in ("a.test", "b.test"):
        store_tracking_domain(name)
        update(name, default=True)
    store_tracking_domain("c.test", subaccount_id=7)
    update("c.test", part=7, default=True)
    assert list_names(default="true") == ["b.test", "c.test"]
    assert defaults.of_owner(store.KIND, 1, None) == "b.test"
    update("a.test", default=False)
    assert defaults.of_owner(store.KIND, 1, None) == "b.test"
    update("b.test", default=False)
    assert defaults.of_owner(store.KIND, 1, None) is None
    assert defaults.of_owner(store.KIND, 1, 7) == "c.test"


def test_a_deleted_domain_is_not_listed_and_is_no_default() -> None:
    store_tracking_domain("a.test", default=True)
    reply = delete_tracking_domain(request(), "a.test")
    assert (reply.status, reply.body) == (204, b"")
    assert list_names() == []
    assert defaults.of_owner(store.KIND, 1, None) is None
    assert error_of(lambda: delete_tracking_domain(request(), "a.test"))["status"] == 404
    create({"domain": "a.test"}, account=2)
