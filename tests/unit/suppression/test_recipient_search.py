from __future__ import annotations

import pytest

from tests.unit.calling import Client
from tests.unit.people import make_account, make_key, make_subaccount

SEARCH = "/api/v1/suppression-list"
TYPES = "transactional,non_transactional,open_tracking"
ANN = "ann@example.test"


@pytest.fixture
def client(cloud: None) -> Client:
    make_account()
    client = make_key()
    bodies = [
        {"recipient": ANN, "type": "transactional", "description": "Asked for it"},
        {"recipient": ANN, "type": "non_transactional"},
        {"recipient": ANN, "type": "open_tracking"},
        {"recipient": ANN, "type": "non_transactional", "list_id": "News"},
        {"recipient": "bob@example.test", "type": "transactional"},
    ]
    for each in bodies:
        assert client.put(SEARCH, {"recipients": [each]}).status == 200
    return client


def entries_of(client: Client, query: str) -> list[tuple[str, str, str]]:
    response = client.get(f"{SEARCH}?{query}")
    assert response.status == 200, response.body
    assert response.body["total_count"] == len(response.results)
    return sorted(
        (each["recipient"], each["type"], each.get("list_id", "")) for each in response.results
    )


def test_the_entries_of_a_recipient_are_searched_as_all_others_are(client: Client) -> None:
    plain = (ANN, "non_transactional", "")
    of_list = (ANN, "non_transactional", "News")
    transactional = (ANN, "transactional", "")
    assert entries_of(client, "recipient=Ann@Example.test") == [plain, of_list, transactional]
    assert entries_of(client, f"recipient={ANN}&types=open_tracking") == [
        (ANN, "open_tracking", "")
    ]
    assert entries_of(client, f"recipient={ANN}&list_id=news") == [of_list]
    assert entries_of(client, f"recipient={ANN}&list_id=") == [plain, transactional]
    assert entries_of(client, f"recipient={ANN}&description=asked") == [transactional]
    assert entries_of(client, f"recipient={ANN}&sources=Bounce%20Rule") == []
    assert entries_of(client, f"recipient={ANN}&domain=elsewhere.test") == []
    assert entries_of(client, f"recipient={ANN}&to=2020-01-01") == []


def test_a_recipient_without_entries_is_no_error_in_a_search(client: Client) -> None:
    assert entries_of(client, "recipient=nobody@example.test") == []
    assert entries_of(client, f"recipient={'a' * 3000}@example.test") == []
    assert client.get(f"{SEARCH}/nobody@example.test").status == 404


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pages_of_a_recipient_hold_each_entry_once(client: Client, order: str) -> None:
    query = f"{SEARCH}?recipient={ANN}&types={TYPES}&sort={order}"
    everything = client.get(query).results
    link, pages = f"{query}&cursor=initial&per_page=1", []
    while link:
        body = client.get(link).body
        assert body["total_count"] == 4
        pages += body["results"]
        link = next((each["href"] for each in body["links"] if each["rel"] == "next"), "")
    assert pages == everything
    numbered = [client.get(f"{query}&per_page=3&page={page}").results for page in (1, 2)]
    assert [*numbered[0], *numbered[1]] == everything


def test_a_subaccount_finds_its_own_entries_of_a_recipient_only(client: Client) -> None:
    own = make_key(1, make_subaccount().id)
    assert entries_of(own, f"recipient={ANN}") == []
    assert own.put(f"{SEARCH}/{ANN}", {"type": "transactional"}).status == 200
    assert len(entries_of(own, f"recipient={ANN}")) == 1
    assert len(entries_of(client, f"recipient={ANN}")) == 4
    assert len(entries_of(client.on_behalf_of(0), f"recipient={ANN}")) == 3
