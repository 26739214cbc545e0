"""The audit log has the changes of A/B tests by requests, and not those by the service."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.ab_tests import decisions
from chalicelib.core import clock
from tests.unit.audit_lines import lines, told
from tests.unit.calling import Client
from tests.unit.moving_clock import moving_clock
from tests.unit.people import make_account, make_key, make_subaccount

pytestmark = pytest.mark.usefixtures("cloud")

PATH = "/api/v1/ab-test"


@pytest.fixture
def owner(cloud: None) -> Client:
    make_account()
    client = make_key()
    for name in ("a", "b"):
        make_template(client, name)
    return client


def make_template(client: Client, name: str) -> None:
    content = {"from": "me@example.test", "subject": "Hello", "text": "Hello"}
    body = {"id": name, "content": content, "published": True}
    assert client.post("/api/v1/templates", body).status == 200
    told()


def body(**fields: Any) -> dict[str, Any]:
    return {
        "id": "test",
        "name": "Test",
        "metric": "count_unique_clicked",
        "audience_selection": "percent",
        "test_mode": "learning",
        "total_sample_size": 100,
        "start_time": clock.iso_offset(clock.now() + 3600),
        "default_template": {"template_id": "a", "percent": 40},
        "variants": [{"template_id": "b", "percent": 60}],
    } | fields


def test_each_step_of_a_test_is_a_line(owner: Client) -> None:
    assert owner.post(f"{PATH}/draft", body()).status == 200
    action, resource, name, changes = told()
    assert (action, resource, name) == ("POST", "ab-test", "test")
    assert changes["default_template"]["to"]["template_id"] == "a"
    assert owner.put(f"{PATH}/draft/test", {"name": "Other"}).status == 200
    assert told()[3] == {"name": {"from": "Test", "to": "Other"}}
    assert owner.post(f"{PATH}/draft/test/schedule", {}).status == 200
    assert told()[3]["state"] == {"from": "draft", "to": "scheduled"}
    assert owner.put(f"{PATH}/test", {"name": "Third"}).status == 200
    assert told()[3] == {"name": {"from": "Other", "to": "Third"}}
    assert owner.post(f"{PATH}/test/cancel", {}).status == 200
    assert told()[3]["state"] == {"from": "scheduled", "to": "cancelled"}
    assert owner.post(f"{PATH}/test/cancel", {}).status == 409
    assert owner.post(PATH, body()).status == 409
    assert lines() == []
    assert owner.put(f"{PATH}/test", {"start_time": body()["start_time"]}).status == 200
    assert told()[3]["version"] == {"from": 1, "to": 2}
    assert owner.delete(f"{PATH}/test?version=1").status == 204
    assert told()[3]["version"] == {"from": 1, "to": None}
    owner.post(f"{PATH}/test/cancel", {})
    told()
    assert owner.delete(f"{PATH}/test").status == 204
    assert told()[:3] == ("DELETE", "ab-test", "test")


def test_a_change_of_a_subaccounts_test_is_a_line_of_that_subaccount(owner: Client) -> None:
    subaccount = make_subaccount().id
    client = owner.on_behalf_of(subaccount)
    for name in ("a", "b"):
        make_template(client, name)
    assert client.post(PATH, body()).status == 200
    told()
    assert client.post(f"{PATH}/test/cancel", {}).status == 200
    assert lines()[0]["subaccount_id"] == subaccount


def test_a_test_that_ends_by_itself_is_no_line(owner: Client) -> None:
    with moving_clock(clock.now()) as now:
        assert owner.post(PATH, body()).status == 200
        told()
        now.now += 60 * 86_400
        assert decisions.decide_due(clock.now_ms(), lambda events: None)
        assert owner.get(f"{PATH}/test").results["status"] == "completed"
        assert lines() == []
