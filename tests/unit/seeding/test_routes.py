"""``/inline-seeds`` and ``/seeds`` as a client sees them."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.seeding.counting import count
from chalicelib.seeding.store import addresses, configs
from tests.unit.calling import Client, Response
from tests.unit.moving_clock import Clock
from tests.unit.people import make_account, make_key, make_subaccount
from tests.unit.seeding.examples import DOMAIN, HOUR, SPRING, START, sample

CONFIG = "/api/v1/inline-seeds/config"
STATUS = "/api/v1/inline-seeds/status"
OPTIONS = "/api/v1/inline-seeds/options"
BODY = {"threshold": 1000, "duration": 20, "reset": 24, "match": ["spr*"]}
CONFIG_VIEW = BODY | {"exclude": []}


@pytest.fixture
def owner(time: Clock) -> Client:
    return make_key()


def refusal(response: Response) -> tuple[int, list[str]]:
    """Return the status and the messages, which are all that the errors hold."""
    assert all(set(error) == {"message"} for error in response.body["errors"])
    return response.status, [error["message"] for error in response.body["errors"]]


@pytest.mark.spec("4.12-t1")
def test_the_config_is_empty_by_default(owner: Client) -> None:
    assert owner.get(CONFIG).results == {}


@pytest.mark.spec("4.12-t1")
@pytest.mark.spec("4.12-t2")
@pytest.mark.spec("2.12-t1")
@pytest.mark.spec("2.12-t2")
@pytest.mark.spec("2.12-t3")
def test_a_config_is_created_and_shown(owner: Client) -> None:
    assert owner.post(CONFIG, BODY).results == CONFIG_VIEW
    assert owner.get(CONFIG).results == CONFIG_VIEW
    defaults = {"threshold": 10_000, "duration": 30, "reset": 24}
    body = {"exclude": ["a", "b-*"], "unknown": 1}
    assert owner.post(CONFIG, body).results == defaults | {"match": [], "exclude": ["a", "b-*"]}


@pytest.mark.spec("4.12-t2")
def test_rules_are_required(owner: Client) -> None:
    body = {"threshold": 1000, "duration": 20, "reset": 24}
    for call in (owner.post, owner.put):
        assert refusal(call(CONFIG, body)) == (422, ["one of match and exclude is required"])
    assert owner.get(CONFIG).results == {}


@pytest.mark.spec("4.12-t3")
def test_a_config_is_updated(owner: Client) -> None:
    owner.post(CONFIG, BODY)
    assert owner.put(CONFIG, {"threshold": 2000}).results == CONFIG_VIEW | {"threshold": 2000}
    changed = {"match": [], "exclude": ["a"]}
    assert owner.put(CONFIG, changed).results == CONFIG_VIEW | {"threshold": 2000} | changed
    assert owner.get(CONFIG).results == CONFIG_VIEW | {"threshold": 2000} | changed


@pytest.mark.spec("4.12-t3")
@pytest.mark.spec("8-t14")
def test_the_faults_of_a_config_are_reported(owner: Client) -> None:
    owner.post(CONFIG, BODY)
    six = [f"{name}-*" for name in "abcdef"]
    for call in (owner.post, owner.put):
        response = call(CONFIG, BODY | {"match": six})
        assert refusal(response) == (422, ["too many match rules: found 6, max is 5"])
        response = call(CONFIG, BODY | {"exclude": ["b"]})
        assert refusal(response) == (422, ["match and exclude are mutually exclusive"])
        response = call(CONFIG, BODY | {"threshold": 999, "duration": 721, "reset": "24"})
        assert refusal(response)[0] == 422
        assert len(response.body["errors"]) == 3
    assert owner.get(CONFIG).results == CONFIG_VIEW


def test_all_parts_of_an_account_share_one_config(owner: Client) -> None:
    subaccount = make_subaccount().id
    owner.on_behalf_of(subaccount).post(CONFIG, BODY)
    for client in (owner, owner.on_behalf_of(0), owner.on_behalf_of(subaccount)):
        assert client.get(CONFIG).results == CONFIG_VIEW
    make_account(2)
    assert make_key(2).get(CONFIG).results == {}


def test_a_subaccounts_key_has_no_grant_for_seeding(owner: Client) -> None:
    key = make_key(1, make_subaccount().id)
    for path in (CONFIG, STATUS, OPTIONS, "/api/v1/seeds"):
        assert key.get(path).status == 403


@pytest.mark.spec("4.12-t6")
@pytest.mark.spec("4.12-t7")
def test_options_are_those_of_the_primary_account_and_of_each_subaccount(owner: Client) -> None:
    one, two = make_subaccount().id, make_subaccount().id
    off = [{"enabled": False}] + [{"subaccount_id": each, "enabled": False} for each in (one, two)]
    assert owner.get(OPTIONS).results == off
    response = owner.put(OPTIONS, {"enabled": True})
    assert (response.status, response.body) == (204, None)
    assert owner.get(OPTIONS).results == [{"enabled": True}, *off[1:]]
    assert owner.on_behalf_of(two).put(OPTIONS, {"enabled": True}).status == 204
    on = {"subaccount_id": two, "enabled": True}
    assert owner.get(OPTIONS).results == [{"enabled": True}, off[1], on]
    assert owner.on_behalf_of(0).get(OPTIONS).results == {"enabled": True}
    assert owner.on_behalf_of(one).get(OPTIONS).results == {"enabled": False}
    assert owner.on_behalf_of(two).get(OPTIONS).results == {"enabled": True}
    owner.on_behalf_of(0).put(OPTIONS, {"enabled": False})
    assert owner.get(OPTIONS).results == [off[0], off[1], on]


@pytest.mark.spec("2.7-t11")
@pytest.mark.spec("4.12-t6")
def test_a_subaccount_sees_that_seeding_is_disabled_for_the_account(owner: Client) -> None:
    client = owner.on_behalf_of(make_subaccount().id)
    client.put(OPTIONS, {"enabled": True})
    owner.put("/api/v1/account", {"options": {"inline_seeds": False}})
    assert client.get(OPTIONS).results == {"enabled": True, "account_enabled": False}
    assert owner.on_behalf_of(0).get(OPTIONS).results == {"enabled": False}
    assert all("account_enabled" not in each for each in owner.get(OPTIONS).results)
    owner.put("/api/v1/account", {"options": {"inline_seeds": True}})
    assert client.get(OPTIONS).results == {"enabled": True}


@pytest.mark.parametrize("body", [{}, {"enabled": "true"}, {"enabled": None}, {"enabled": 1}, []])
def test_options_take_a_boolean(owner: Client, body: Any) -> None:
    assert owner.put(OPTIONS, body).status == 422


@pytest.mark.spec("4.12-t4")
@pytest.mark.spec("3-t19")
def test_status_shows_the_campaigns_in_scope(owner: Client, time: Clock) -> None:
    seven = make_subaccount().id
    assert owner.get(STATUS).results == []
    owner.post(CONFIG, BODY)
    for part in (0, seven):
        owner.on_behalf_of(part).put(OPTIONS, {"enabled": True})
    sample()
    count(1, 1, {SPRING: 1256, (seven, "sprint", DOMAIN): 337, (None, "autumn", DOMAIN): 5})
    primary = {
        "campaign": "spring",
        "sending_domain": DOMAIN,
        "count": 1256,
        "threshold": 1000,
        "seed_start": START,
        "duration": 20,
    }
    second = {
        "campaign": "sprint",
        "sending_domain": DOMAIN,
        "count": 337,
        "threshold": 1000,
        "seed_start": None,
        "duration": 20,
        "subaccount_id": seven,
    }
    assert owner.get(STATUS).results == [primary, second]
    assert owner.on_behalf_of(0).get(STATUS).results == [primary]
    assert owner.on_behalf_of(seven).get(STATUS).results == [second]
    make_account(2)
    assert make_key(2).get(STATUS).results == []
    time.now_ms += 24 * HOUR
    again = owner.on_behalf_of(0).get(STATUS).results
    assert again == [primary | {"count": 0, "seed_start": None}]


@pytest.mark.spec("4.12-t5")
def test_a_campaign_and_domain_select_one_status_item(owner: Client) -> None:
    seven = make_subaccount().id
    owner.post(CONFIG, BODY)
    for part in (0, seven):
        configs.set_enabled(1, part, enabled=True)
    count(1, 1, {SPRING: 12, (seven, "spring", DOMAIN): 13, (seven, "spr g/1", DOMAIN): 14})
    one = f"?id=spring&sending_domain={DOMAIN}"
    assert owner.get(STATUS + one).results["count"] == 12
    assert owner.get(f"{STATUS}?id=spring&sending_domain=Mail.EXAMPLE.test").results["count"] == 12
    assert owner.on_behalf_of(seven).get(STATUS + one).results["count"] == 13
    other = f"?id=spr%20g%2F1&sending_domain={DOMAIN}"
    item = owner.get(STATUS + other).results
    assert (item["count"], item["subaccount_id"]) == (14, seven)
    assert owner.on_behalf_of(0).get(STATUS + other).status == 404


@pytest.mark.spec("4.12-t5")
def test_an_unknown_status_item_is_not_found(owner: Client) -> None:
    response = owner.get(f"{STATUS}?id=none&sending_domain={DOMAIN}")
    assert refusal(response) == (404, [f"no messages of campaign 'none' from '{DOMAIN}' seen"])
    for name, domain in (("x" * 65, DOMAIN), ("x" * 3000, DOMAIN), ("none", "x" * 3000)):
        assert owner.get(f"{STATUS}?id={name}&sending_domain={domain}").status == 404
    for half in ("?id=none", f"?sending_domain={DOMAIN}", "?id=&sending_domain="):
        assert owner.get(STATUS + half).status == 400


def test_the_seed_addresses_are_listed(owner: Client) -> None:
    assert owner.get("/api/v1/seeds").results == addresses.of_account(1)
    addresses.put(1, ["x@seeds.test"])
    assert owner.get("/api/v1/seeds").results == ["x@seeds.test"]
