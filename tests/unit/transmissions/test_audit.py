"""Which sends and cancellations have a line in the audit log, and what the lines cost."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.settings import settings
from chalicelib.transmissions import audit_lines
from tests.fake_cloud import aws_requests
from tests.unit.audit_lines import lines, only_line, told
from tests.unit.calling import Client
from tests.unit.people import (
    make_account,
    make_domain,
    make_key,
    make_user,
    sign_in,
    transmission,
)

pytestmark = pytest.mark.usefixtures("cloud")

PATH = "/api/v1/transmissions"


@pytest.fixture
def owner(cloud: None) -> Client:
    make_account()
    make_domain("example.test")
    return make_key()


def scheduled(campaign: str = "spring") -> dict[str, Any]:
    start = clock.iso_offset(clock.now() + 86_400)
    return transmission() | {"campaign_id": campaign, "options": {"start_time": start}}


def test_a_send_to_several_is_one_line(owner: Client) -> None:
    body = transmission("me@example.test", *(f"u{n}@inbox.test" for n in range(30)))
    sent_id = owner.post(PATH, body | {"campaign_id": "spring"}).results["id"]
    action, resource, name, changes = told()
    assert (action, resource, name) == ("POST", "transmissions", sent_id)
    assert changes["recipients"] == {"from": None, "to": 30}
    assert changes["campaign_id"]["to"] == "spring"
    assert changes["subject"]["to"] == "Hello"
    assert "u1@inbox.test" not in str(changes)


@pytest.mark.cost
def test_a_single_send_by_key_is_one_plain_write_without_a_line(owner: Client) -> None:
    assert owner.post(PATH, transmission()).status == 200
    with aws_requests() as requests:
        assert owner.post(PATH, transmission()).status == 200
    operations = [each.operation for each in requests]
    assert "PutItem" in operations
    assert "TransactWriteItems" not in operations
    assert lines() == []


def test_a_single_send_is_a_line_where_a_user_makes_it_or_all_are_asked_for(
    owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = make_user()
    assert sign_in(user).post(PATH, transmission()).status == 200
    assert only_line()["actor_id"] == user.id
    assert owner.post(PATH, scheduled()).status == 200
    assert only_line()["actor_type"] == "key"
    monkeypatch.setenv("AUDIT_SENDS", "all")
    settings.cache_clear()
    assert owner.post(PATH, transmission()).status == 200
    assert only_line()["changes"]["recipients"]["to"] == 1


def test_a_send_that_is_refused_or_repeated_is_no_line(owner: Client) -> None:
    body = transmission("me@example.test", "a@inbox.test", "b@inbox.test")
    assert owner.post(PATH, transmission("me@other.test", "a@x.test", "b@x.test")).status >= 400
    assert lines() == []
    once = Client(owner.key, {"Idempotency-Key": "one"})
    assert once.post(PATH, body).status == 200
    only_line()
    assert once.post(PATH, body).status == 200
    assert lines() == []


def test_a_cancelled_transmission_is_a_line(owner: Client) -> None:
    name = owner.post(PATH, scheduled()).results["id"]
    only_line()
    assert owner.delete(f"{PATH}/{name}").status == 204
    assert told() == (
        "DELETE",
        "transmissions",
        name,
        {"state": {"from": "submitted", "to": "Canceled"}},
    )
    assert owner.delete(f"{PATH}/{name}").status == 409
    assert lines() == []


def test_a_cancelled_campaign_is_a_line_for_each_or_one_for_many(
    owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_lines, "MOST_LINES", 2)
    monkeypatch.setattr("chalicelib.transmissions.scheduling.MOST_LINES", 2)
    for campaign, count in (("few", 2), ("many", 5)):
        names = [owner.post(PATH, scheduled(campaign)).results["id"] for _ in range(count)]
        before = {line["id"] for line in lines()}
        assert owner.delete(f"{PATH}?campaign_id={campaign}").status == 204
        own = [line for line in lines() if line["id"] not in before]
        if campaign == "few":
            assert {line["resource_id"] for line in own} == set(names)
        else:
            (line,) = own
            assert line["changes"]["transmissions"]["to"] == 5
            assert len(line["changes"]["first"]["to"]) == 2
