"""The audit log has the changes of pools and sending IPs: one line each, whatever else moves."""

from __future__ import annotations

import pytest

from chalicelib.core import audit, clock
from chalicelib.core.audit import Author
from chalicelib.core.request import Actor
from chalicelib.fleet import sending_ips, store, warmup
from chalicelib.fleet.store import IpTaken
from tests.unit.audit_lines import lines, told
from tests.unit.calling import Client
from tests.unit.fleet.examples import DAY, NOON, add, an_ip, warming
from tests.unit.people import make_account, make_key

pytestmark = pytest.mark.usefixtures("cloud")

POOLS = "/api/v1/ip-pools"
IPS = "/api/v1/sending-ips"
AUTHOR = Author(1, Actor("operator", "ops", "a command"), "add-sending-ip", "a command", "")


@pytest.fixture
def owner(cloud: None) -> Client:
    make_account()
    return make_key()


def test_a_pool_is_a_line_when_it_is_made_changed_and_deleted(owner: Client) -> None:
    assert owner.post(POOLS, {"name": "Main"}).results == {"id": "main"}
    action, resource, name, changes = told()
    assert (action, resource, name) == ("POST", "ip-pools", "main")
    assert changes["name"] == {"from": None, "to": "Main"}
    overflow = {"name": "Other", "auto_warmup_overflow_pool": "main"}
    assert owner.post(POOLS, overflow).status == 200
    told()
    assert owner.put(f"{POOLS}/MAIN", {"name": "First"}).status == 200
    assert told() == ("PUT", "ip-pools", "main", {"name": {"from": "Main", "to": "First"}})
    add(an_ip(1, pool="main"))
    assert owner.delete(f"{POOLS}/Main").status == 204
    action, resource, name, changes = told()
    assert (action, resource, name) == ("DELETE", "ip-pools", "main")
    assert changes["ips"] == {"from": ["192.0.2.1"], "to": None}


def test_what_changes_no_pool_is_no_line(owner: Client) -> None:
    owner.post(POOLS, {"name": "Main"})
    told()
    assert owner.put(f"{POOLS}/main", {"name": "Main"}).status == 200
    assert owner.put(f"{POOLS}/none", {"name": "Other"}).status == 404
    assert owner.delete(f"{POOLS}/default").status == 400
    assert lines() == []


def test_a_moved_ip_is_a_line_and_its_warm_up_is_none(owner: Client) -> None:
    owner.post(POOLS, {"name": "Main"})
    told()
    with clock.use(lambda: NOON):
        add(warming(1))
        assert owner.put(f"{IPS}/192.0.2.1", {"ip_pool": "main"}).status == 200
        assert told() == (
            "PUT",
            "sending-ips",
            "192.0.2.1",
            {"ip_pool": {"from": "default", "to": "main"}},
        )
    with clock.use(lambda: NOON + DAY):
        assert warmup.advance_due(NOON + DAY)
        assert lines() == []


def test_an_ip_that_the_operator_gives_or_takes_is_a_line() -> None:
    make_account()
    make_account(2)
    with audit.bound(AUTHOR):
        sending_ips.add(1, an_ip(1))
        action, resource, name, changes = told()
        assert (action, resource, name) == ("add-sending-ip", "sending-ips", "192.0.2.1")
        assert changes["external_ip"] == {"from": None, "to": "192.0.2.1"}
        with pytest.raises(IpTaken):
            sending_ips.add(2, an_ip(1))
        assert lines() == []
        assert sending_ips.remove(1, "192.0.2.1")
        assert told()[3]["external_ip"] == {"from": "192.0.2.1", "to": None}
        assert not sending_ips.remove(1, "192.0.2.1")
    assert lines() == []
    assert store.get(1).ips == ()
