"""``/counts``: how many resources of each kind a key may list."""

from __future__ import annotations

import pytest

from chalicelib.resource_counts import service
from tests.fake_cloud import aws_requests
from tests.unit.calling import Client
from tests.unit.isolation import SEEDS, Owner
from tests.unit.people import make_account, make_key, make_subaccount

PATH = "/api/v1/counts"


@pytest.fixture
def client(cloud: None) -> Client:
    make_account(1)
    return make_key(1)


def numbers(client: Client) -> dict[str, int]:
    results = client.get(PATH).results
    assert not any(each["more"] for each in results.values())
    return {kind: each["count"] for kind, each in results.items()}


def test_a_new_account_has_its_key_and_no_more(client: Client) -> None:
    assert numbers(client) == dict.fromkeys(service.KINDS, 0) | {"api_keys": 1}


def test_every_kind_is_counted_as_its_list_shows_it(client: Client) -> None:
    subaccount = make_subaccount(1).id
    for owner in (
        Owner(1, None, "alder", client),
        Owner(1, subaccount, "birch", client.on_behalf_of(subaccount)),
    ):
        for seed in SEEDS:
            seed(owner)
    paths = {
        "templates": "/api/v1/templates",
        "snippets": "/api/labs/snippets",
        "ab_tests": "/api/v1/ab-test",
        "recipient_lists": "/api/v1/recipient-lists",
        "sending_domains": "/api/v1/sending-domains",
        "tracking_domains": "/api/v1/tracking-domains",
        "inbound_domains": "/api/v1/inbound-domains",
        "webhooks": "/api/v1/webhooks",
        "relay_webhooks": "/api/v1/relay-webhooks",
        "suppressions": "/api/v1/suppression-list",
        "subaccounts": "/api/v1/subaccounts",
        "api_keys": "/api/v1/api-keys",
    }
    assert paths.keys() == service.KINDS.keys()
    for caller in (client, client.on_behalf_of(0), client.on_behalf_of(subaccount)):
        own = numbers(caller)
        lists = {kind: len(caller.get(paths[kind]).results) for kind in own}
        assert own == lists
        assert all(own.values())
    assert service.KINDS.keys() - own.keys() == {"recipient_lists", "subaccounts"}


def test_only_what_the_key_may_list_is_counted(client: Client) -> None:
    assert numbers(make_key(1, grants=("templates/view", "webhooks/modify"))) == {
        "templates": 0,
        "snippets": 0,
    }
    assert make_key(1, grants=()).get(PATH).results == {}


@pytest.mark.cost
def test_counting_stops_at_a_limit(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST", 2)
    for n in range(4):
        client.post("/api/labs/snippets", {"id": f"s{n}", "content": {"text": "x"}})
        assert client.get(PATH).results["snippets"] == {"count": min(n + 1, 2), "more": n > 1}
    with aws_requests() as requests:
        client.get(PATH)
    assert len(requests) <= len(service.KINDS) + 3
