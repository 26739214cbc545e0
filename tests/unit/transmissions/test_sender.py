"""An account and a subaccount limit a transmission, and reading them costs few requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.store import accounts, usage
from chalicelib.compliance import service as compliance
from chalicelib.core import aws, clock, config_cache, queues
from chalicelib.core.dynamo import Table
from chalicelib.core.settings import settings
from chalicelib.generation.worker import read_chunk
from chalicelib.subaccounts import store as subaccounts
from tests.fake_cloud import aws_requests, queued_work
from tests.unit.calling import Client
from tests.unit.people import (
    limit,
    make_account,
    make_domain,
    make_key,
    make_subaccount,
    transmission,
)

PATH = "/api/v1/transmissions"


@pytest.fixture
def owner(cloud: None) -> Client:
    make_account()
    make_domain("example.test", shared_with_subaccounts=True)
    return make_key()


def options_of(client: Client, **data: Any) -> dict[str, Any]:
    """Send, and return the options in force."""
    assert client.post(PATH, transmission() | {"options": data}).status == 200
    (message,) = queued_work()
    options = read_chunk(queues.read(message)).transmission.options
    return {name: options[name] for name in sorted(options)}


def stored() -> int:
    response = aws.dynamodb().scan(TableName=Table("transmissions").name, Select="COUNT")
    return response["Count"]


@pytest.mark.cost
def test_one_recipient_costs_four_requests_when_nothing_is_cached(owner: Client) -> None:
    number = make_subaccount().id
    queues.send("small-sends", [queues.Work({})])  # finds the queue's address
    for client in (owner, owner.on_behalf_of(number), make_key(subaccount=number)):
        config_cache.clear_cache()
        with aws_requests() as requests:
            assert client.post(PATH, transmission()).status == 200
        assert [request.operation for request in requests][1:] == [
            "BatchGetItem",
            "PutItem",
            "SendMessage",
        ]
        with aws_requests() as requests:
            client.post(PATH, transmission())
        assert [request.operation for request in requests] == ["PutItem", "SendMessage"]


@pytest.mark.cost
def test_a_sender_who_comes_back_later_costs_three_requests(owner: Client) -> None:
    number = make_subaccount().id
    for client in (owner, owner.on_behalf_of(number), make_key(subaccount=number)):
        config_cache.clear_cache()
        assert client.post(PATH, transmission()).status == 200
        later = clock.now() + settings().key_cache_seconds
        with clock.use(lambda later=later: later), aws_requests() as requests:
            assert client.post(PATH, transmission()).status == 200
        operations = [request.operation for request in requests]
        assert operations == ["BatchGetItem", "PutItem", "SendMessage"]


@pytest.mark.parametrize("blocked", ["key", "account", "domain"])
def test_what_is_blocked_meanwhile_is_refused_when_a_sender_comes_back(
    owner: Client, blocked: str
) -> None:
    assert owner.post(PATH, transmission()).status == 200
    if blocked == "key":
        (item,) = Table("config").query_all(
            "#owner = :owner", {"owner": "account#1/keys"}, index="by_owner"
        )
        Table("config").delete(item["pk"], item["sk"])  # by another process, as the others
    elif blocked == "account":
        item = Table("config").get(*accounts.key_of(1)) or {}
        Table("config").put(item | {"status": "suspended"})
    else:
        item = Table("config").get("domain#example.test", "domain") or {}
        Table("config").put(item | {"status": item["status"] | {"compliance_status": "blocked"}})
    later = clock.now() + settings().key_cache_seconds
    with clock.use(lambda: later):
        status = owner.post(PATH, transmission()).status
    assert status == {"key": 401, "account": 403, "domain": 400}[blocked]


@pytest.mark.cost
def test_limits_cost_no_further_request(owner: Client) -> None:
    limit(hourly=100, daily=100, monthly=100)
    for _ in range(4):
        config_cache.clear_cache()
        with aws_requests() as requests:
            assert owner.post(PATH, transmission()).status == 200
    assert len(requests) == 4
    with aws_requests() as requests:
        assert owner.post(PATH, transmission()).status == 200
    assert len(requests) == 3


def test_a_domain_that_can_be_used_is_trusted_for_a_while(
    owner: Client,
) -> None:
    assert owner.post(PATH, transmission()).status == 200
    item = Table("config").get("domain#example.test", "domain")
    assert item is not None
    blocked = item | {"status": item["status"] | {"compliance_status": "blocked"}}
    Table("config").put(blocked)  # by another process
    assert owner.post(PATH, transmission()).status == 200
    now = clock.now() + settings().key_cache_seconds
    with clock.use(lambda: now):
        assert owner.post(PATH, transmission()).status == 400
    Table("config").put(item)
    assert owner.post(PATH, transmission()).status == 200  # a refusal is not cached


def test_this_process_notices_a_block_and_a_deletion_at_once(owner: Client) -> None:
    assert owner.post(PATH, transmission()).status == 200
    compliance.block("example.test")
    assert owner.post(PATH, transmission()).status == 400
    compliance.unblock("example.test")
    assert owner.post(PATH, transmission()).status == 200
    assert owner.delete("/api/v1/sending-domains/example.test").status == 204
    assert owner.post(PATH, transmission()).status == 400


def test_a_cached_domain_is_checked_for_each_sender(owner: Client) -> None:
    make_account(2)
    other = make_key(account=2)
    assert owner.post(PATH, transmission()).status == 200
    assert other.post(PATH, transmission()).status == 400


@pytest.mark.spec("2.7-t11")
@pytest.mark.parametrize(
    ("selection", "data", "changed"),
    [
        ({}, {}, {}),
        ({"rest_tracking_default": False}, {}, dict.fromkeys(["open", "click", "initial"], False)),
        ({"rest_tracking_default": False}, {"open_tracking": True}, {"click": False}),
        ({"click_tracking": False}, {"click_tracking": True}, {"click": False}),
        ({"initial_open_pixel_tracking": False}, {}, {"initial": False}),
        ({"initial_open_pixel_tracking": False}, {"initial_open": True}, {}),
        (
            {"smtp_tracking_default": True},
            {"open_tracking": False},
            {"open": False, "initial": False},
        ),
        ({"transactional_default": True}, {}, {"transactional": True}),
        ({"transactional_default": True}, {"transactional": False}, {}),
    ],
)
def test_an_accounts_options_are_the_defaults(
    owner: Client, selection: dict[str, bool], data: dict[str, bool], changed: dict[str, bool]
) -> None:
    owner.put("/api/v1/account", {"options": selection})
    options = options_of(owner, **data)
    expected = {"open": True, "click": True, "initial": True, "transactional": False} | changed
    assert {
        "open": options["open_tracking"],
        "click": options["click_tracking"],
        "initial": options["initial_open"],
        "transactional": options["transactional"],
    } == expected


@pytest.mark.spec("2.6-t6")
def test_a_subaccount_can_have_opens_untracked(owner: Client) -> None:
    number = make_subaccount(options={"open_tracking_disabled": True}).id
    options = options_of(owner.on_behalf_of(number), open_tracking=True, initial_open=True)
    assert (options["open_tracking"], options["initial_open"], options["click_tracking"]) == (
        False,
        False,
        True,
    )
    assert options_of(owner)["open_tracking"] is True


@pytest.mark.spec("8-t2")
@pytest.mark.spec("7-t9")
@pytest.mark.spec("7-t23")
def test_nothing_of_a_transmission_is_sent_when_a_limit_would_be_exceeded(owner: Client) -> None:
    limit(hourly=3)
    two = transmission("me@example.test", "a@inbox.test", "b@inbox.test")
    assert owner.post(PATH, two).status == 200
    assert len(queued_work()) == stored() == 1
    response = owner.post(PATH, two)
    assert response.status == 420
    assert response.body == {
        "errors": [
            {
                "message": "Exceed Sending Limit (hourly)",
                "description": "2 of 3 recipients of the hourly limit are used",
                "code": "2101",
            }
        ]
    }
    assert queued_work() == []
    assert stored() == 1
    assert usage.get(1)[0].day == 2
    assert owner.post(PATH, transmission()).status == 200


def test_only_recipients_that_are_accepted_count_and_once_each(
    owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(monthly=10**9)
    monkeypatch.setenv("CHUNK_RECIPIENTS", "2")
    settings.cache_clear()
    many = transmission("me@example.test", *(f"r{n}@inbox.test" for n in range(5)), "nonsense")
    assert owner.post(PATH, many).status == 200
    assert owner.post(PATH, transmission("me@unknown.test")).status == 400
    assert usage.get(1)[0].day == 5


def test_subaccounts_count_for_their_account(owner: Client) -> None:
    limit(daily=2)
    number = make_subaccount().id
    assert make_key(subaccount=number).post(PATH, transmission()).status == 200
    assert owner.post(PATH, transmission()).status == 200
    assert owner.on_behalf_of(number).post(PATH, transmission()).status == 420
    make_account(2)
    assert usage.get(2)[0].day == 0


@pytest.mark.spec("3-t22")
def test_an_account_that_is_not_active_sends_nothing_and_still_reads(owner: Client) -> None:
    accounts.change(1, lambda account: replace(account, status="suspended"))
    response = owner.post(PATH, transmission())
    assert (response.status, response.error["message"]) == (403, "Forbidden.")
    assert response.error["description"] == "the account is suspended and cannot send"
    assert owner.get("/api/v1/events/message").status == 200


def test_a_status_that_changed_elsewhere_takes_effect_within_the_time(owner: Client) -> None:
    number = make_subaccount().id
    client = owner.on_behalf_of(number)
    assert client.post(PATH, transmission()).status == 200
    subaccount = subaccounts.get(1, number)
    assert subaccount is not None
    Table("config").put(subaccounts._to_item(replace(subaccount, status="terminated")))
    assert client.post(PATH, transmission()).status == 200
    config_cache.clear_cache()  # as after KEY_CACHE_SECONDS
    assert client.post(PATH, transmission()).status == 403
