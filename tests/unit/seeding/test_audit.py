"""The audit log has the changes of an account's seeding."""

from __future__ import annotations

import pytest

from chalicelib.seeding.store import configs
from tests.fake_cloud import aws_requests
from tests.unit.audit_lines import lines, told
from tests.unit.calling import Client
from tests.unit.moving_clock import Clock
from tests.unit.people import make_key, make_subaccount

CONFIG = "/api/v1/inline-seeds/config"
OPTIONS = "/api/v1/inline-seeds/options"
BODY = {"threshold": 1000, "duration": 20, "reset": 24, "match": ["spr*"]}


@pytest.fixture
def owner(time: Clock) -> Client:
    return make_key()


def test_a_config_is_a_line_when_it_is_stored_and_changed(owner: Client) -> None:
    assert owner.post(CONFIG, BODY).status == 200
    action, resource, name, changes = told()
    assert (action, resource, name) == ("POST", "inline-seeds", "config")
    assert changes["match"] == {"from": None, "to": ["spr*"]}
    assert owner.put(CONFIG, {"duration": 40}).status == 200
    assert told()[3] == {"duration": {"from": 20, "to": 40}}
    assert owner.put(CONFIG, {"duration": 40}).status == 200
    assert owner.put(CONFIG, {"duration": 1}).status == 422
    assert lines() == []


@pytest.mark.cost
def test_options_are_a_line_where_they_change(owner: Client) -> None:
    subaccount = make_subaccount().id
    on_behalf = owner.on_behalf_of(subaccount)
    assert on_behalf.put(OPTIONS, {"enabled": False}).status == 204  # it is off already
    assert lines() == []
    for enabled in (True, False):
        with aws_requests() as requests:
            assert on_behalf.put(OPTIONS, {"enabled": enabled}).status == 204
        assert [each.operation for each in requests][-1] == "TransactWriteItems"
        assert lines()[0]["subaccount_id"] == subaccount
        changes = {"enabled": {"from": not enabled, "to": enabled}}
        assert told() == ("PUT", "inline-seeds", "options", changes)
        assert configs.is_enabled(1, subaccount) is enabled
        assert on_behalf.put(OPTIONS, {"enabled": enabled}).status == 204
        assert lines() == []
