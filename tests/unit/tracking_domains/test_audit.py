"""The audit log has the changes of tracking domains."""

from __future__ import annotations

import pytest

from chalicelib.core.settings import settings
from chalicelib.tracking_domains import store
from tests.fake_cloud import aws_requests
from tests.unit.audit_lines import lines, told
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key, make_subaccount
from tests.unit.tracking_domains.examples import store_tracking_domain
from tests.unit.zones import Zone

DOMAINS = "/api/v1/tracking-domains"
PATH = f"{DOMAINS}/t.test"


@pytest.fixture
def owner(zone: Zone) -> Client:
    make_account()
    return make_key()


def test_a_new_domain_is_a_line(owner: Client) -> None:
    subaccount = make_subaccount().id
    body = {"domain": "T.test", "secure": True}
    assert owner.on_behalf_of(subaccount).post(DOMAINS, body).status == 200
    assert lines()[0]["subaccount_id"] == subaccount
    action, resource, name, changes = told()
    assert (action, resource, name) == ("POST", "tracking-domains", "t.test")
    assert changes["secure"] == {"from": None, "to": True}
    assert owner.post(DOMAINS, body).status == 409
    assert lines() == []


def test_a_change_tells_what_changed_and_a_new_default_is_one_line(owner: Client) -> None:
    store_tracking_domain("main.test", default=True)
    store_tracking_domain()
    assert owner.put(PATH, {"default": True, "secure": True}).status == 200
    changes = {"default": {"from": False, "to": True}, "secure": {"from": False, "to": True}}
    assert told() == ("PUT", "tracking-domains", "t.test", changes)
    assert owner.put(PATH, {"default": True}).status == 200
    store_tracking_domain("new.test", cname_status="unverified")
    assert owner.put(f"{DOMAINS}/new.test", {"default": True}).status == 422
    assert lines() == []


def test_a_check_is_a_line_where_it_changes_the_status(
    owner: Client, zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKING_FETCH", "none")
    settings.cache_clear()
    store_tracking_domain(cname_status="unverified")
    zone.set("t.test", ("CNAME", "elsewhere.test"))
    for count in (1, 0):
        assert owner.post(f"{PATH}/verify", None).status == 200
        assert len(lines()) == count
        if count:
            changes = {"cname_status": {"from": "unverified", "to": "invalid"}}
            assert told() == ("POST", "tracking-domains", "t.test", changes)


def test_a_deleted_domain_is_a_line(owner: Client) -> None:
    store_tracking_domain(default=True)
    assert owner.delete(PATH).status == 204
    action, _, name, changes = told()
    assert (action, name) == ("DELETE", "t.test")
    assert changes["cname_status"] == {"from": "valid", "to": None}
    assert owner.delete(PATH).status == 404
    assert lines() == []
    assert store.get("t.test") is None


@pytest.mark.cost
def test_the_line_of_a_new_domain_costs_no_request(owner: Client) -> None:
    with aws_requests() as requests:
        assert owner.post(DOMAINS, {"domain": "t.test"}).status == 200
    operations = [each.operation for each in requests]
    assert operations.count("TransactWriteItems") == 1
    assert "PutItem" not in operations
